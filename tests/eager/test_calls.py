"""Kernels of operations that run when they are called: made once, for what they depend on."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import stillflow as tf


def test_one_call_serves_all_shapes_and_values(eager):
    for size in range(2, 5):
        assert tf.reshape(tf.ones([size, 2]), [2, size]).shape == (2, size)
    assert sum(key[0].name == "Reshape" for key in eager._calls) == 1


def test_values_that_a_kernel_depends_on_are_not_mixed_up(eager):
    x = tf.constant(np.arange(6).reshape(2, 3))
    assert [tf.reduce_sum(x, axis=axis).numpy().tolist() for axis in (0, 1, 0)] == [
        [3, 5, 7], [3, 12], [3, 5, 7],
    ]  # fmt: skip
    assert [int(x[i, 1]) for i in (0, 1, 0)] == [1, 4, 1]


def test_signs_of_zero_are_kept(eager):
    assert np.signbit(tf.constant(-0.0).numpy())
    assert not np.signbit(tf.constant(0.0).numpy())


def test_streams_go_on_from_call_to_call_until_a_seed_is_set(eager):
    tf.set_random_seed(1)
    first, second = (tf.random_uniform([2], seed=1).numpy() for _ in range(2))
    tf.set_random_seed(1)
    assert (first != second).all()
    assert (tf.random_uniform([2], seed=1).numpy() == first).all()


def test_errors_name_the_op_and_say_what_is_wrong(eager):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Matrix size.*\[Op:MatMul\] name: m"):
        tf.matmul([[1.0, 2.0]], [[1.0, 2.0]], name="m")
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"expected to be a float tensor"):
        tf.add(tf.constant(1.0), tf.constant(1))


def test_small_kernels_that_would_share_work_keep_to_one_thread(eager, monkeypatch):
    asked = []
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    x = tf.ones([10, 13])
    assert (x * x).shape == (10, 13)
    assert not asked
    np.testing.assert_allclose(tf.nn.softmax(x), np.full([10, 13], 1 / 13), rtol=1e-6)
    assert asked == [1, 2]


def test_many_shapes_do_not_fill_memory(eager):
    for size in range(600):
        tf.zeros([size]) + 1.0
    call = next(call for key, call in eager._calls.items() if key[0].name == "AddV2")
    assert len(call.kernels) <= 256
