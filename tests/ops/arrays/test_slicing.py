"""`tensor[...]`: as numpy slices, for any facts known when the graph is built."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.running import run

import stillflow as tf

X = np.arange(3 * 4 * 5, dtype=np.float32).reshape(3, 4, 5)


def parts(size: int) -> st.SearchStrategy[Any]:
    """One axis' part of a slice: an index, or bounds with a step that may go backwards."""
    bound = st.none() | st.integers(-size - 2, size + 2)
    step = st.none() | st.integers(1, 3) | st.integers(-3, -1)
    return st.integers(-size, size - 1) | st.builds(slice, bound, bound, step)


@st.composite
def indices(draw: Any) -> tuple[Any, ...]:
    """Return an index for `X`: some axes, perhaps an ellipsis, and new axes in between."""
    used = draw(st.integers(0, 3))
    chosen = [draw(parts(size)) for size in X.shape[:used]]
    if draw(st.booleans()):
        place = draw(st.integers(0, used))
        chosen = (
            [draw(parts(size)) for size in X.shape[:place]]
            + [Ellipsis]
            + [draw(parts(size)) for size in X.shape[3 - used + place :]]
        )
    for _ in range(draw(st.integers(0, 2))):
        chosen.insert(draw(st.integers(0, len(chosen))), None)
    return tuple(chosen)


def with_tensors(index: tuple[Any, ...], feeds: dict[Any, int]) -> tuple[Any, ...]:
    """Return the index with every number in a placeholder."""

    def tensor(number: int | None) -> Any:
        if number is None:
            return None
        placeholder = tf.placeholder(tf.int32, [])
        feeds[placeholder] = number
        return placeholder

    return tuple(
        slice(tensor(part.start), tensor(part.stop), tensor(part.step))
        if isinstance(part, slice)
        else tensor(part)
        if isinstance(part, int)
        else part
        for part in index
    )


@settings(max_examples=150)
@given(indices())
def test_slices_are_those_of_numpy(index: tuple[Any, ...]) -> None:
    expected = X[index]
    with tf.Graph().as_default():
        known, unknown = tf.constant(X)[index], tf.placeholder(tf.float32)
        assert known.shape.as_list() == list(expected.shape)
        feeds = {unknown: X}
        for sliced in (known, unknown[index], unknown[with_tensors(index, feeds)]):
            np.testing.assert_array_equal(run(sliced, feeds), expected)


@settings(max_examples=60)
@given(indices())
def test_gradients_put_the_slice_back(index: tuple[Any, ...]) -> None:
    weights = np.arange(X[index].size, dtype=np.float32).reshape(X[index].shape) + 1
    expected = np.zeros_like(X)
    expected[index] = weights
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, X.shape)
        (grad,) = tf.gradients(x[index], x, weights)
        np.testing.assert_array_equal(run(grad, {x: X}), expected)


@pytest.mark.parametrize("use_resource", [False, True])
@settings(max_examples=40)
@given(indices())
def test_assigning_to_a_slice_changes_the_variable(
    use_resource: bool, index: tuple[Any, ...]
) -> None:
    value = -np.arange(X[index].size, dtype=np.float32).reshape(X[index].shape)
    expected = X.copy()
    expected[index] = value
    with tf.Graph().as_default():
        variable = tf.Variable(X, use_resource=use_resource)
        np.testing.assert_array_equal(run(variable, first=variable[index].assign(value)), expected)


def test_what_cannot_be_an_index_is_refused() -> None:
    x = tf.constant(X)
    with pytest.raises(TypeError, match="Only integers, slices"):
        x[1.5]
    with pytest.raises(ValueError, match="Multiple ellipses in slice spec not allowed"):
        x[..., 0, ...]
    with pytest.raises(ValueError, match="Index out of range using input dim 3"):
        x[0, 0, 0, 0]
    with pytest.raises(ValueError, match="slice index 3 of dimension 0 out of bounds"):
        x[3]
    place = tf.placeholder(tf.int32, [])
    with pytest.raises(tf.errors.InvalidArgumentError, match="slice index -1 of dimension 0"):
        run(x[place], {place: -4})


def test_a_slice_that_ends_before_it_begins_is_empty() -> None:
    assert run(tf.constant(X)[2:1]).shape == (0, 4, 5)
    assert run(tf.constant(X)[0:2:-1]).shape == (0, 4, 5)


def test_strings_are_sliced() -> None:
    words = np.array([[b"a", b"b"], [b"c", b"d"]], object)
    assert run(tf.constant(words)[::-1, 0]).tolist() == [b"c", b"a"]
