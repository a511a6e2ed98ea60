"""What the programs that save and restore have in common: many large variables and their saver."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np

VARIABLES = 64
SHAPE = [1024, 1024]


@dataclass
class Saved:
    """An open session with its variables' saver, and a folder that lasts as long as this does."""

    session: Any
    saver: Any
    folder: tempfile.TemporaryDirectory

    @property
    def prefix(self) -> str:
        """Where checkpoints go."""
        return os.path.join(self.folder.name, "model")


def variables(tf: Any) -> Saved:
    """64 initialised variables of 4 MB each."""
    tf.logging.set_verbosity(tf.logging.ERROR)
    start = tf.constant(np.random.RandomState(0).rand(*SHAPE).astype(np.float32))
    made = [tf.Variable(start + i, name=f"v{i}") for i in range(VARIABLES)]
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return Saved(session, tf.train.Saver(made, max_to_keep=2), tempfile.TemporaryDirectory())


def size(path: str) -> float:
    """Bytes of a checkpoint's data."""
    return float(os.path.getsize(path + ".data-00000-of-00001"))
