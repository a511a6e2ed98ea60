"""Eigen: the whole of it where it is installed, and views without it."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

from .building import compiled, library, need_compiler


def has_eigen() -> bool:
    from stillflow.platform.sysconfig import eigen_folder

    return eigen_folder() is not None


@pytest.mark.skipif("not has_eigen()", reason="the package cmeel-eigen is not installed")
def test_expressions_run_on_eigens_devices() -> None:
    ops = library(tf, "expressions")
    x = np.arange(1, 9, dtype=np.float32)
    with tf.Session() as session:
        y, total = session.run(ops.scaled(x, 3.0))
    expected = 3 * x + x * x
    assert total == expected.sum()
    assert np.array_equal(y[1:], expected[1:]) and y[0] == x[0::2] @ x[1::2]


def test_views_need_no_eigen() -> None:
    need_compiler()
    path = compiled(tf, "views", "-DSTILLFLOW_MINI_EIGEN")
    loaded = tf.load_op_library(path)
    with tf.Session() as session:
        for name in ("float16", "bfloat16", "float32", "int8", "complex64"):
            x = tf.cast([1.5, -3.25, 30.0, 1e-6], name)
            twice = session.run(tf.cast(loaded.twice(x), tf.complex64))
            assert np.array_equal(twice, 2 * session.run(tf.cast(x, tf.complex64)))
