"""`TFE_Py_FastPathExecute`, as the wrappers of operations call it."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.facade.eager_context import context
from stillflow.facade.eager_only import FallbackException, NotOkStatusException
from stillflow.facade.fast_path import fast_path_execute
from stillflow.graph.eager_mode import eager_mode


@pytest.fixture(autouse=True)
def _eager():
    with eager_mode():
        yield


def execute(op_name, *args):
    now = context()
    return fast_path_execute(now._handle, now.device_name, op_name, None, None, *args)


def test_runs_operations_with_attributes_lists_and_no_result():
    a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    product = execute("MatMul", a, a, "transpose_a", False, "transpose_b", True)
    np.testing.assert_array_equal(product, a.numpy() @ a.numpy().T)
    np.testing.assert_array_equal(execute("AddN", [a, a]), 2 * a.numpy())
    first, second = execute("IdentityN", [a, a])
    np.testing.assert_array_equal(first, second)
    assert execute(b"NoOp") is None


def test_reads_variables_and_is_recorded_by_tapes():
    v = tf.Variable([[2.0]], use_resource=True)
    with tf.GradientTape() as tape:
        y = execute("MatMul", v, v, "transpose_a", False, "transpose_b", False)
    np.testing.assert_array_equal(tape.gradient(y, v), [[4.0]])


def test_says_what_is_wrong_with_the_call():
    with pytest.raises(ValueError, match="at least 5 items in the input tuple"):
        fast_path_execute(context()._handle, "", "Identity")
    with pytest.raises(ValueError, match="Expected to be at least 6, was 5"):
        execute("Identity")
    with pytest.raises(TypeError, match="expected a string for op_name"):
        execute(context()._handle, 1.0)


def test_leaves_wrong_attributes_and_tensors_of_graphs_to_the_slower_way():
    with pytest.raises(FallbackException):
        execute("Split", tf.constant(0), tf.ones([4]), "num_split", -1)
    with pytest.raises(FallbackException):
        execute("MatMul", tf.ones([1, 1]), tf.ones([1, 1]), "transpose_a", "yes")
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32)
    with pytest.raises(FallbackException):
        execute("Square", x)


def test_an_operation_that_fails_gives_the_number_of_the_error():
    with pytest.raises(NotOkStatusException) as raised:
        execute("MatMul", tf.ones([1, 2]), tf.ones([1, 2]))
    assert raised.value.code == tf.errors.INVALID_ARGUMENT
