"""Kernels of operations that run when they are called: made once, for what they depend on."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow.eager import calls
from stillflow.runtime.plan.shape_policy import Recent


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


def test_many_shapes_do_not_fill_memory(eager, monkeypatch, cpu):
    monkeypatch.setattr(eager, "_kernels", calls.Kernels(64))
    monkeypatch.setattr(eager, "_arguments", Recent(64))
    for size in range(200):
        assert tf.add(tf.zeros([size]), 1.0).shape == [size]
    assert 0 < eager._kernels.kept() <= 64
    assert 0 < eager._arguments.kept() <= 64


def test_a_kernel_that_is_used_all_the_time_is_made_once(eager, monkeypatch, cpu):
    monkeypatch.setattr(eager, "_kernels", calls.Kernels(64))
    made, kernel = [], calls.Call.kernel

    def noting(call, graph, state, tensors):
        made.append((call.card.name, [t.shape.as_list() for t in tensors]))
        return kernel(call, graph, state, tensors)

    monkeypatch.setattr(calls.Call, "kernel", noting)
    x = tf.constant([1.0, 2.0])
    for size in range(200):
        tf.exp(x)
        tf.sqrt(tf.zeros([size]))
    assert made.count(("Exp", [[2]])) == 1
    assert len(made) > 200


def test_arguments_of_the_same_kinds_keep_their_own_values(eager):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    for number in (2.0, 3.0, -0.0):
        np.testing.assert_array_equal(tf.multiply(x, number), x.numpy() * number)
    for axis in (0, 1, -1):
        np.testing.assert_array_equal(tf.reduce_sum(x, axis), x.numpy().sum(axis))
    for width in (1, 2, 4):  # a list that holds a tensor is another one every time
        assert tf.reshape(x, [tf.constant(width), -1]).shape == [width, 4 // width]
    for index in (0, 1):
        np.testing.assert_array_equal(tf.gather(x, tf.constant(index)), x.numpy()[index])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.add(tf.constant(1), tf.constant(1.0))


def test_lists_of_tensors_and_variables_are_arguments(eager):
    v = tf.Variable([1.0, 2.0])
    for _ in range(2):
        np.testing.assert_array_equal(tf.concat([v, [3.0]], 0), [1.0, 2.0, 3.0])
        np.testing.assert_array_equal(tf.stack([v, tf.constant([0.0, 5.0])]), [v.numpy(), [0, 5]])
        v.assign_add([0.0, 0.0])
    v.assign([7.0, 8.0])
    np.testing.assert_array_equal(tf.concat([v, v], 0), [7.0, 8.0, 7.0, 8.0])


def test_a_handle_takes_values_of_any_shape_but_of_one_type(eager):
    ops = tf.raw_ops
    handle = ops.VarHandleOp(dtype=tf.int32, shape=[1], shared_name="any_shape")
    ops.AssignVariableOp(resource=handle, value=1)
    assert int(ops.ReadVariableOp(resource=handle, dtype=tf.int32)) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="Expected float got int32"):
        ops.ReadVariableOp(resource=handle, dtype=tf.float32)
    with pytest.raises(ValueError, match="are incompatible"):
        tf.Variable([1.0, 2.0]).assign([1.0])


def test_there_is_no_session_to_keep_tensors_in(eager):
    with pytest.raises(tf.errors.FailedPreconditionError, match="null session state"):
        tf.raw_ops.GetSessionHandle(value=[1])


def test_elements_of_a_variable_of_lists_are_replaced(eager):
    ops = tf.raw_ops
    scalar = tf.zeros([0], tf.int32)
    empty = ops.EmptyTensorList(element_shape=scalar, max_num_elements=-1, element_dtype=tf.float32)
    full = ops.TensorListFromTensor(tensor=[1.0, 2.0], element_shape=scalar)
    lists = tf.Variable([empty], use_resource=True)
    lists.scatter_update(tf.IndexedSlices(full, 0))
    found = ops.TensorListGetItem(
        input_handle=lists[0], index=1, element_shape=scalar, element_dtype=tf.float32
    )
    assert float(found) == 2.0
