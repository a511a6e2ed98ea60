"""Shape arithmetic: agreement with numpy where all is known, caution where it is not."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stillflow.graph import dims

sizes = st.integers(0, 3)
known = st.lists(sizes, max_size=4).map(tuple)
partial = st.none() | st.lists(st.none() | sizes, max_size=4).map(tuple)


@given(known, known)
def test_broadcasting_known_shapes_agrees_with_numpy(a, b):
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(ValueError, match="Dimensions must be equal, but are"):
            dims.broadcast(a, b)
    else:
        assert dims.broadcast(a, b) == expected


def fill(shape, value):
    return tuple(value if size is None else size for size in shape)


@given(partial, partial, sizes)
def test_broadcasting_partial_shapes_promises_nothing_false(a, b, value):
    try:
        result = dims.broadcast(a, b)
    except ValueError:
        return
    if a is None or b is None:
        assert result is None
        return
    try:
        actual = np.broadcast_shapes(fill(a, value), fill(b, value))
    except ValueError:
        return
    assert dims.is_compatible(result, actual)


@given(partial, partial)
def test_merging_is_symmetric_and_keeps_what_is_known(a, b):
    if not dims.is_compatible(a, b):
        with pytest.raises(ValueError, match="must be equal"):
            dims.merge(a, b)
        return
    merged = dims.merge(a, b)
    assert merged == dims.merge(b, a)
    assert dims.merge(merged, a) == merged
    assert dims.is_compatible(dims.relax(a, b), a)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: dims.broadcast((2, 3), (2,)), "Dimensions must be equal, but are 3 and 2"),
        (lambda: dims.merge((2,), (2, 3)), "Shapes must be equal rank, but are 1 and 2"),
        (
            lambda: dims.merge((1, None, 2), (1, 5, 3)),
            "Dimension 2 in both shapes must be equal, but are 2 and 3. Shapes are [1,?,2] and [",
        ),
        (lambda: dims.merge_dim(2, 3), "Dimensions must be equal, but are 2 and 3"),
        (lambda: dims.with_value(2, 3), "Dimension must be 3 but is 2"),
        (lambda: dims.with_rank((1, 2, 3), 2), "Shape must be rank 2 but is rank 3"),
        (lambda: dims.with_rank_at_least((1,), 2), "Shape must be at least rank 2 but is rank 1"),
        (lambda: dims.with_rank_at_most((1,), 0), "Shape must be at most rank 0 but is rank 1"),
        (lambda: dims.with_rank(None, 2**31), "Rank cannot exceed kint32max"),
        (
            lambda: dims.replace_dim((1, 2), 2, 3),
            "Out of range dim_index 2 for shape with 2 dimensions",
        ),
        (
            lambda: dims.subshape((1, 2), -3),
            "Subshape start out of bounds: -3, for shape with rank 2",
        ),
        (lambda: dims.subshape((1, 2), 0, -3), "Subshape end out of bounds: -3, for shape with"),
        (lambda: dims.subshape((1, 2, 3), 2, 1), "Subshape must have computed start <= end, but"),
        (
            lambda: dims.make_dim(-1, 2),
            "Dimension size, given by scalar input 2, must be non-negative but is -1",
        ),
        (lambda: dims.from_values([3, -2]), "Invalid value in tensor used for shape: -2"),
        (lambda: dims.divide(3, 0), "Divisor must be positive but is 0"),
        (lambda: dims.divide(3, 2), "Dimension size must be evenly divisible by 2 but is 3"),
        (lambda: dims.subtract(1, 2), "Negative dimension size caused by subtracting 2 from 1"),
        (lambda: dims.add(2**63 - 1, 1), "Dimension size overflow from adding"),
        (
            lambda: dims.multiply(2**32, 2**32),
            "Negative dimension size caused by overflow when multiplying",
        ),
    ],
)
def test_contradictions_are_refused(call, message):
    with pytest.raises(ValueError) as error:
        call()
    assert str(error.value).startswith(message)


def test_unknown_sizes():
    assert dims.num_elements((2, None)) is None
    assert dims.num_elements((0, None)) == 0
    assert dims.num_elements(()) == 1
    assert dims.num_elements(None) is None
    assert dims.multiply(None, 0) == 0
    assert dims.minimum(None, 0) == 0
    assert dims.maximum(None, 3) is None
    assert dims.broadcast((None,), (1,)) == (None,)
    assert dims.broadcast((None,), (5,)) == (5,)
    assert dims.broadcast((None,), (0,)) == (None,)
    assert dims.with_rank(None, 2) == (None, None)
    assert dims.from_values([2, -1]) == (2, None)
    assert dims.same((1, 2), (1, 2))
    assert not dims.same((None,), (None,))


def test_parts_of_shapes():
    assert dims.subshape((1, 2, 3), 0, -1) == (1, 2)
    assert dims.subshape((1, 2, 3), 1) == (2, 3)
    assert dims.subshape((1, 2, 3), 0, 9) == (1, 2, 3)
    assert dims.replace_dim((1, 2, 3), -1, None) == (1, 2, None)
    assert dims.concat((1,), (None,)) == (1, None)
    assert dims.concat((1,), None) is None
    assert dims.merge_prefix((None, 3), (2,)) == ((2, 3), (2,))
    assert dims.merge_prefix(None, (2,)) == (None, (2,))


def test_how_shapes_are_shown():
    assert dims.to_string((2, None)) == "[2,?]"
    assert dims.to_string(()) == "[]"
    assert dims.to_string(None) == "?"
