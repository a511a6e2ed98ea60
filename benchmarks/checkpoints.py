"""Shared parts of programs that save and restore: many variables and their saver."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass
class Saved:
    """An open session with its variables' saver, and a folder that lasts as long as this does."""

    session: Any
    saver: Any
    folder: tempfile.TemporaryDirectory

    @property
    def prefix(self) -> str:
        """The prefix of checkpoints."""
        return os.path.join(self.folder.name, "model")


def variables(tf: Any, count: int = 64, side: int = 1024) -> Saved:
    """Make initialized square variables: 64 of 4 MB each."""
    tf.logging.set_verbosity(tf.logging.ERROR)
    start = tf.constant(np.random.RandomState(0).rand(side, side).astype(np.float32))
    made = [tf.Variable(start + i, name=f"v{i}") for i in range(count)]
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return Saved(session, tf.train.Saver(made, max_to_keep=2), tempfile.TemporaryDirectory())


def size(path: str) -> float:
    """Bytes of a checkpoint's data."""
    return float(os.path.getsize(path + ".data-00000-of-00001"))
