"""Element-wise functions where they differ from what numpy or torch would do by themselves."""

from __future__ import annotations

import numpy as np
import pytest
from tests.running import run

import stillflow as tf
from stillflow.graph.sparse_tensor import SparseTensor

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


def test_the_first_operand_wins_over_nan_however_the_shapes_are_known():
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    nan = float("nan")
    larger, smaller = run([tf.maximum(x, y), tf.minimum(x, y)], {x: [nan, 1.0], y: [1.0, nan]})
    np.testing.assert_equal(larger, np.float32([nan, 1.0]))
    np.testing.assert_equal(smaller, np.float32([nan, 1.0]))
    np.testing.assert_equal(run(tf.maximum(0.0, x), {x: [nan, -1.0]}), np.float32([0.0, 0.0]))
    np.testing.assert_equal(run(tf.maximum(x, 0.0), {x: [nan, -1.0]}), np.float32([nan, 0.0]))


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_the_smallest_integer_divided_by_minus_one_wraps_around(dtype):
    x, y = tf.placeholder(dtype, [1]), tf.placeholder(dtype, [1])
    smallest = np.array([np.iinfo(dtype).min], dtype)
    feeds = {x: smallest, y: np.array([-1], dtype)}
    assert run(tf.floor_div(x, y), feeds) == smallest
    assert run(tf.truncatediv(x, y), feeds) == smallest
    if dtype in (np.int32, np.int64):
        assert run(tf.floormod(x, y), feeds) == 0
        assert run(tf.truncatemod(x, y), feeds) == 0


@pytest.mark.parametrize("function", [tf.floor_div, tf.floormod, tf.truncatediv, tf.truncatemod])
def test_integers_are_not_divided_by_zero(function):
    y = tf.placeholder(tf.int32)
    result = function(7, y)
    assert run(result, {y: 2}) in (1, 3)
    # The words of those that truncate are those of an operation that TensorFlow did not foresee.
    truncates = function in (tf.truncatediv, tf.truncatemod)
    kind = tf.errors.InternalError if truncates else tf.errors.InvalidArgumentError
    with pytest.raises(kind, match="integer div and mod" if truncates else "division by zero"):
        run(result, {y: 0})


def test_a_constant_zero_divisor_is_refused_when_run_not_while_building():
    result = tf.constant([1, 2]) // 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="Integer division by zero"):
        run(result)


def test_shapes_that_turn_out_not_to_fit_are_refused_in_the_same_words():
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    x.set_shape([None])
    kept = tf.boolean_mask(x, x > 0)  # of a length that only running the graph tells
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Incompatible shapes: \[2\] vs"):
        run(kept * y, {x: [1.0, -1.0, 2.0], y: [1.0, 2.0, 3.0]})
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Incompatible shapes: \[3\] vs"):
        run(x + y, {x: [1.0, -1.0, 2.0], y: [1.0, 2.0]})


def test_gradients_stay_zero_where_the_slope_is_infinite():
    x = tf.placeholder(tf.float32, [2])
    weight = tf.constant([0.0, 1.0])
    (grad,) = tf.gradients(tf.sqrt(x) * weight, x)
    np.testing.assert_equal(run(grad, {x: [0.0, 4.0]}), np.float32([0.0, 0.25]))


def test_functions_of_one_tensor_map_the_elements_of_a_sparse_one():
    sparse = SparseTensor([[0, 1], [1, 0]], [-4.0, 9.0], [2, 2])
    for function, values in (
        (tf.abs, [4.0, 9.0]),
        (tf.square, [16.0, 81.0]),
        (tf.sign, [-1.0, 1.0]),
        (tf.negative, [4.0, -9.0]),
    ):
        result = function(sparse)
        assert isinstance(result, SparseTensor)
        np.testing.assert_allclose(run(result.values), values)


def test_functions_without_a_sparse_form_refuse_sparse_tensors():
    sparse = SparseTensor([[0]], [1.0], [2])
    with pytest.raises(TypeError):
        tf.exp(sparse)


def test_names_follow_functions_and_operators():
    x = tf.placeholder(tf.float32, [2], name="x")
    assert (x + 1.0).op.name == "add"
    assert (x + 1.0).op.inputs[1].op.name == "add_1/y"
    assert (2.0 * x).op.inputs[0].op.name == "mul/x"
    assert tf.add(x, x).op.type == "Add" and (x + x).op.type == "AddV2"
    assert tf.truediv(x, 2.0, name="half").op.name == "half"
    assert tf.divide(x, 2.0, name="again").op.name == "again"
    assert (x // 2.0).op.type == "FloorDiv"


def test_divide_of_plain_numbers_is_a_plain_number():
    assert tf.divide(7, 2) == 3.5


def test_operands_that_know_better_are_asked():
    class Other:
        def __radd__(self, other):
            return "added"

        __array_ufunc__ = None

    assert tf.constant(1.0) + Other() == "added"


def test_mixed_types_are_refused_by_name():
    with pytest.raises(TypeError, match="x and y must have the same dtype"):
        tf.truediv(tf.constant(1), tf.constant(1.0))
    with pytest.raises(TypeError, match="has type float32 that does not match type int32"):
        tf.add(tf.constant(1), tf.constant(1.0))


def test_casts_saturate_only_when_asked_to():
    x = tf.constant([300.7, -1.5, float("nan")])
    np.testing.assert_array_equal(run(tf.cast(x, tf.uint8))[:2], [44, 255])
    np.testing.assert_array_equal(run(tf.saturate_cast(x, tf.uint8))[:2], [255, 0])
    assert tf.cast(x, tf.float32) is x


def test_bitcast_changes_the_last_dimension():
    x = tf.placeholder(tf.int32, [None, 2])
    assert tf.bitcast(x, tf.uint8).shape.as_list() == [None, 2, 4]
    assert tf.bitcast(x, tf.int64).shape.as_list() == [None]
    np.testing.assert_array_equal(run(tf.bitcast(x, tf.int64), {x: [[1, 1]]}), [2**32 + 1])
    with pytest.raises(ValueError, match="does not match"):
        tf.bitcast(tf.zeros([3], tf.int32), tf.int64)


def test_strings_are_joined_by_add():
    result = run(tf.add(["a", "b"], "c"))
    assert result.tolist() == [b"ac", b"bc"]
    assert run(tf.add("a", "b")) == b"ab"
    assert run(tf.constant("x") + "y") == b"xy"


def test_real_numbers_are_their_own_real_part_and_conjugate():
    x = tf.constant([1.0, -2.0])
    assert tf.real(x) is x and tf.conj(x) is x
    np.testing.assert_array_equal(run(tf.imag(x)), [0.0, 0.0])
    with pytest.raises(TypeError, match="incorrect types"):
        tf.complex(tf.constant(1), tf.constant(2))
