"""Scattering into variables: the changed rows, their order, and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.running import run

import stillflow as tf

START = np.float32([[1, 2], [3, 4], [5, 6]])
ROWS = [2, 0, 2]
UPDATES = np.float32([[10, 20], [30, 40], [2, 50]])

in_order: dict[str, Callable[[Any, Any], Any]] = {
    "scatter_update": lambda old, new: new,
    "scatter_add": np.add,
    "scatter_sub": np.subtract,
    "scatter_mul": np.multiply,
    "scatter_div": np.divide,
    "scatter_min": np.minimum,
    "scatter_max": np.maximum,
}


def expected(name: str) -> np.ndarray:
    """Return the updates taken one after the other."""
    value = START.copy()
    for row, update in zip(ROWS, UPDATES, strict=True):
        value[row] = in_order[name](value[row], update)
    return value


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("name", in_order)
def test_rows_that_occur_twice_are_updated_twice(name: str, use_resource: bool) -> None:
    variable = tf.Variable(START, use_resource=use_resource)
    change = getattr(tf, name)(variable, ROWS, UPDATES)
    np.testing.assert_allclose(run(variable, first=change), expected(name), rtol=1e-6)
    np.testing.assert_allclose(run(change), expected(name), rtol=1e-6)


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("name", in_order)
def test_a_scalar_update_is_for_all_rows(name: str, use_resource: bool) -> None:
    variable = tf.Variable(START, use_resource=use_resource)
    change = getattr(tf, name)(variable, [1, 2], np.float32(2))
    value = START.copy()
    value[1:] = in_order[name](value[1:], np.float32(2))
    np.testing.assert_allclose(run(variable, first=change), value)


@pytest.mark.parametrize("use_resource", [False, True])
@pytest.mark.parametrize("name", in_order)
def test_rows_outside_are_refused_after_those_before(name: str, use_resource: bool) -> None:
    variable = tf.Variable(START, use_resource=use_resource)
    value = START.copy()
    rows = tf.placeholder(tf.int32)
    change = getattr(tf, name)(variable, rows, UPDATES)
    with tf.Session() as session:
        session.run(variable.initializer)
        for given, place in (([0, 1, 3], 3), ([0, -1, 1], -1)):
            with pytest.raises(
                tf.errors.InvalidArgumentError,
                match=rf"indices\[\d\] = {place} is not in \[0, 3\)",
            ):
                session.run(change, {rows: given})
            for row, update in zip(given[: given.index(place)], UPDATES, strict=False):
                value[row] = in_order[name](value[row], update)
            np.testing.assert_allclose(session.run(variable), value)


@pytest.mark.parametrize("use_resource", [False, True])
def test_single_elements_are_updated(use_resource: bool) -> None:
    places, updates = [[0, 1], [2, 0], [0, 1]], np.float32([1, 2, 3])
    for name, result in (
        ("scatter_nd_update", [[1, 3], [3, 4], [2, 6]]),
        ("scatter_nd_add", [[1, 6], [3, 4], [7, 6]]),
        ("scatter_nd_sub", [[1, -2], [3, 4], [3, 6]]),
    ):
        variable = tf.Variable(START, use_resource=use_resource)
        change = getattr(tf, name)(variable, places, updates)
        np.testing.assert_array_equal(run(variable, first=change), result)


@pytest.mark.parametrize("use_resource", [False, True])
def test_strings_and_bools_are_updated(use_resource: bool) -> None:
    for start, update, result in (
        ([b"a", b"b"], b"c", [b"a", b"c"]),
        ([True, True], False, [True, False]),
    ):
        variable = tf.Variable(start, use_resource=use_resource)
        assert run(variable, first=tf.scatter_update(variable, [1], [update])).tolist() == result


def test_shapes_that_do_not_fit_are_refused() -> None:
    variable = tf.Variable(START)
    with pytest.raises(ValueError, match="Dimension 0 in both shapes must be equal"):
        tf.scatter_update(variable, [0, 1], UPDATES)
    updates = tf.placeholder(tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Must have updates"):
        run(tf.scatter_update(variable, [0, 1], updates), {updates: UPDATES})
