"""Reductions: axes known late, older argument names, means of integers."""

from __future__ import annotations

import numpy as np
import pytest
from tests.running import run

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own

CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("axes", [[0], [2, 0], [-1], [0, 1, 2], [], [1, 1]])
@pytest.mark.parametrize("keepdims", [False, True])
def test_axes_may_be_fed(axes, keepdims):
    x, axis = tf.placeholder(tf.float32), tf.placeholder(tf.int32, [None])
    functions = {
        tf.reduce_sum: np.sum, tf.reduce_max: np.max, tf.reduce_mean: np.mean,
        tf.reduce_prod: np.prod,
    }  # fmt: skip
    numpy_axes = tuple({a % 3 for a in axes})
    for function, numpy_function in functions.items():
        result = run(function(x, axis, keepdims), {x: CUBE, axis: axes})
        expected = numpy_function(CUBE, axis=numpy_axes, keepdims=keepdims) if axes else CUBE
        np.testing.assert_allclose(result, expected, rtol=1e-6)


def test_static_shapes_follow_from_what_is_known():
    x = tf.placeholder(tf.float32, [None, 3, 4])
    assert tf.reduce_sum(x, [0]).shape.as_list() == [3, 4]
    assert tf.reduce_sum(x, -1, keepdims=True).shape.as_list() == [None, 3, 1]
    assert tf.reduce_sum(x).shape.as_list() == []
    axis = tf.placeholder(tf.int32, [1])
    assert tf.reduce_sum(x, axis, keepdims=True).shape.as_list() == [None, None, None]
    assert tf.reduce_sum(x, axis).shape.ndims is None
    assert tf.reduce_sum(tf.placeholder(tf.float32)).shape.as_list() == []


def test_axes_that_do_not_exist_are_refused_early_and_late():
    with pytest.raises(ValueError, match="Invalid reduction dimension 2 for input with 2 dim"):
        tf.reduce_sum(tf.zeros([2, 2]), 2)
    axis = tf.placeholder(tf.int32)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Invalid reduction dimension \(2"):
        run(tf.reduce_sum(tf.zeros([2, 2]), axis), {axis: 2})


def test_older_argument_names():
    x = tf.constant(CUBE)
    np.testing.assert_array_equal(
        run(tf.reduce_sum(x, reduction_indices=[1], keep_dims=True)), CUBE.sum(1, keepdims=True)
    )
    np.testing.assert_array_equal(run(tf.argmax(x, dimension=1)), CUBE.argmax(1))
    with pytest.raises(ValueError, match="Cannot specify both"):
        tf.reduce_sum(x, axis=0, reduction_indices=0)
    with pytest.raises(ValueError, match="Cannot specify both"):
        tf.reduce_sum(x, keepdims=True, keep_dims=True)


def test_means_of_integers_are_cut_off():
    assert run(tf.reduce_mean(tf.constant([1, 2, 4]))) == 2
    assert run(tf.reduce_mean(tf.constant([-1, -2, -4]))) == -2


def test_reductions_of_nothing():
    nothing = tf.placeholder(tf.float32, [0, 2])
    feeds = {nothing: np.zeros([0, 2])}
    np.testing.assert_array_equal(run(tf.reduce_sum(nothing, 0), feeds), [0, 0])
    np.testing.assert_array_equal(run(tf.reduce_max(nothing, 0), feeds), [-np.inf, -np.inf])
    assert np.isnan(run(tf.reduce_mean(nothing), feeds))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"axis 0 is empty in shape \[0,2\]"):
        run(tf.argmax(nothing, 0), feeds)


def test_the_first_of_equal_elements_is_found():
    x = tf.constant([[1.0, 3.0, 3.0], [2.0, 2.0, 0.0]])
    np.testing.assert_array_equal(run(tf.argmax(x, 1)), [1, 0])
    assert tf.argmax(x, 1, output_type=tf.int32).dtype == tf.int32


def test_strings_that_are_not_empty_are_counted():
    assert run(tf.count_nonzero(tf.constant(["", "a", " "]))) == 2
    assert run(tf.count_nonzero([[0.0, 2.0], [1.0, 0.0]], axis=0)).tolist() == [1, 1]


def test_log_sum_exp_of_extremes():
    x = tf.constant([[1000.0, 1000.0], [-np.inf, -np.inf]])
    expected = [1000.0 + np.log(2.0), -np.inf]
    np.testing.assert_allclose(run(tf.reduce_logsumexp(x, 1)), np.float32(expected))


def test_sums_of_several_tensors():
    x, y = tf.constant([1.0, 2.0]), tf.placeholder(tf.float32)
    assert tf.add_n([x]) is x
    assert tf.add_n([x], name="same").op.type == "Identity"
    assert run(tf.add_n([x, x, y]), {y: [1.0, 1.0]}).tolist() == [3.0, 5.0]
    assert tf.accumulate_n([x, y]).shape.as_list() == [2]
    with pytest.raises(ValueError, match="at least one Tensor"):
        tf.add_n([])
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have the same size and shape"):
        run(tf.add_n([x, y]), {y: [1.0]})


def test_gradients_of_sums_need_no_shape_nodes_where_shapes_are_static():
    x = tf.placeholder(tf.float32, [2, 3])
    tf.gradients(tf.reduce_sum(x, [1]), x)
    kinds = [op.type for op in tf.get_default_graph().get_operations()]
    assert "Shape" not in kinds
    before = len(kinds)
    y = tf.placeholder(tf.float32, [2, 3])
    tf.gradients(tf.reduce_sum(y, [1]), y)
    added = [op.type for op in tf.get_default_graph().get_operations()][before:]
    assert "DynamicStitch" not in added  # computed once per graph


@pytest.mark.parametrize("axis", [0, 1, 2, -2])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_of_extremes_along_every_axis(either_way, name, kind, axis):
    values = np.random.RandomState(0).randint(0, 4, (5, 6, 7)).astype(kind)
    x = tf.placeholder(kind, values.shape)
    found = run(getattr(tf, name)(x, axis), {x: values})
    np.testing.assert_array_equal(found, getattr(np, name)(values, axis))


@pytest.mark.parametrize(("name", "places"), [("argmax", [2, 0, 0, 0]), ("argmin", [1, 2, 0, 0])])
def test_places_of_extremes_pass_over_nans_on_gpus_too(cuda, name, places):
    values = [[np.nan, 1, 2], [1, 1, 0], [np.nan] * 3, [np.inf, np.nan, np.inf]]
    x = tf.placeholder(tf.float32, [None, 3])
    assert run(getattr(tf, name)(x, 1), {x: values}).tolist() == places
