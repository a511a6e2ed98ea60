"""Restoring 64 variables of 4 MB each by `tf.train.Saver`, again and again."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

STEPS = 8
VARIABLES = 64
SHAPE = [1024, 1024]


def build(tf: Any) -> Callable[[], float]:
    """A function that restores and returns how much there is."""
    tf.logging.set_verbosity(tf.logging.ERROR)
    value = np.random.RandomState(0).rand(*SHAPE).astype(np.float32)
    start = tf.constant(value)
    variables = [tf.Variable(start + i, name="v%d" % i) for i in range(VARIABLES)]
    saver = tf.train.Saver(variables, max_to_keep=2)
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    folder = tempfile.TemporaryDirectory()
    prefix = os.path.join(folder.name, "model")
    path = saver.save(session, prefix, write_meta_graph=False)

    def step() -> float:
        folder.name  # noqa: B018  (keeps the files)
        saver.restore(session, path)
        return float(os.path.getsize(path + ".data-00000-of-00001"))

    return step
