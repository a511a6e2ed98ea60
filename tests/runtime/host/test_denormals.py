"""Denormal numbers become zero while operations run, and stay what they are elsewhere."""

from __future__ import annotations

import platform
import subprocess
import sys

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="processors differ in this"
)


# In a process of its own: torch's worker threads keep the mode in which they are started.
FLUSHED = """
import numpy as np
import stillflow as tf
for kind in (np.float32, np.float64):
    for shape in ((), (1 << 16,)):
        tiny = np.finfo(kind).tiny
        with tf.Graph().as_default(), tf.Session() as session:
            fed = tf.placeholder(kind, shape)
            folded = 0.1 * tf.constant(tiny, shape=shape)
            run = session.run([0.1 * fed, folded], {fed: np.full(shape, tiny)})
        assert not np.any(run[0]) and not np.any(run[1])
        assert tiny / 16 * 16 == tiny
"""


def test_denormals_are_flushed_only_while_a_graph_runs() -> None:
    subprocess.run([sys.executable, "-c", FLUSHED], check=True)


def test_they_are_kept_after_an_error() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(tf.reshape(tf.placeholder_with_default([1.0, 2.0], None), [3]))
    tiny = np.finfo(np.float32).tiny
    assert tiny / 16 * 16 == tiny


def test_numpy_knows_its_types_before_denormals_become_zero() -> None:
    program = """
import warnings
import numpy as np
import stillflow as tf
asked = tf.py_func(lambda: np.finfo(np.float64).eps, [], tf.float64)
session = tf.Session()
warnings.simplefilter("error")
assert session.run(asked) == 2.0**-52
"""
    subprocess.run([sys.executable, "-c", program], check=True)
