"""Dimensions of ragged tensors counted, added and taken away; their elements counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays import one_hot as dense_one_hot
from stillflow.ops.arrays import shape as dense
from stillflow.ops.arrays.masks import positive_axis
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.stack import stack
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.ops.debugging.asserts import Assert
from stillflow.ops.math.comparison import equal
from stillflow.ops.math.reductions import reduce_all
from stillflow.ragged.conversion import convert_to_tensor_or_ragged_tensor, is_ragged
from stillflow.ragged.tensor import RaggedTensor


def expand_dims(input: Any, axis: Any, name: str | None = None) -> Tensor | RaggedTensor:
    """Return a dimension of size 1 more; see `tf.expand_dims`."""
    with name_scope(name, "RaggedExpandDims", [input]):
        input = convert_to_tensor_or_ragged_tensor(input, name="input")
        if not is_ragged(input):
            return dense.expand_dims(input, axis)
        count = None if input.shape.ndims is None else input.shape.ndims + 1
        axis = positive_axis(axis, count)
        values: Tensor | RaggedTensor = input
        if axis == 0:
            splits = stack([0, input.nrows()])
        elif axis == 1:
            splits = range_(input.nrows() + 1)
        else:
            values, splits = expand_dims(input.values, axis - 1), input.row_splits
        return RaggedTensor.from_row_splits(values, splits, validate=False)


def size(input: Any, out_type: Any = dtypes.int32, name: str | None = None) -> Tensor:
    """Return the number of elements; see `tf.size`."""
    values = input.flat_values if is_ragged(input) else input
    return dense.size(values, out_type=out_type, name=name)


def rank(input: Any, name: str | None = None) -> Tensor:
    """Return the number of dimensions; see `tf.rank`."""
    with name_scope(name, "RaggedRank", [input]) as scope:
        if not is_ragged(input):
            return dense.rank(input, scope)
        return input.ragged_rank + dense.rank(input.flat_values)


def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> RaggedTensor:
    """Return one-hot vectors in a dimension after the ragged ones; see `tf.one_hot`."""
    with name_scope(name, "RaggedOneHot", [indices]):
        places = convert_to_tensor_or_ragged_tensor(indices, name="indices")
        assert isinstance(places, RaggedTensor)
        inner = None if axis is None else positive_axis(axis, places.shape.ndims)
        if inner is not None and inner < places.ragged_rank:
            raise ValueError("axis may not be less than indices.ragged_rank.")
        like = depth, on_value, off_value, inner, dtype, name
        return places.with_flat_values(dense_one_hot.one_hot(places.flat_values, *like))


def squeeze(input: Any, axis: Any = None, name: str | None = None) -> Any:
    """Return a ragged tensor without dimensions of size 1; see `tf.squeeze`.

    They are a Python int or several; ragged ones if all their rows have one value.
    """
    with name_scope(name, "RaggedSqueeze", [input]):
        input = convert_to_tensor_or_ragged_tensor(input)
        if isinstance(input, Tensor):
            return dense.squeeze(input, axis, name)
        if axis is None:
            raise ValueError("Ragged.squeeze must have an axis argument.")
        axes = [axis] if isinstance(axis, int) else axis
        is_list = isinstance(axes, (list, tuple))
        if not is_list or not all(isinstance(item, int) for item in axes):
            raise TypeError("Axis must be a list or tuple of integers.")
        axes = [positive_axis(item, input.shape.ndims) for item in axes]
        return _without(input, axes, name)


def _without(input: Any, axes: Sequence[int], name: str | None) -> Any:
    inner = [axis - input.ragged_rank for axis in axes if axis > input.ragged_rank]
    outer = [axis for axis in axes if axis <= input.ragged_rank]
    values = with_dependencies(_squeezable(input, outer), input.flat_values)
    if inner:
        values = dense.squeeze(values, inner)
    splits = [s for axis, s in enumerate(input.nested_row_splits, 1) if axis not in outer]
    if splits and 0 in outer:
        del splits[0]
    result = RaggedTensor.from_nested_row_splits(values, splits)
    if set(range(input.ragged_rank + 1)) <= set(outer):
        return dense.squeeze(result, [0], name)
    return result


def _squeezable(input: Any, axes: Sequence[int]) -> list[Any]:
    """Check that the outermost or ragged dimensions have size 1."""
    one = constant(1, dtype=input.row_splits.dtype)
    checks = [
        Assert(
            reduce_all(equal(lengths, one)),
            [f"the given axis (axis = {axis}) is not squeezable!"],
        )
        for axis, lengths in enumerate(input.nested_row_lengths(), 1)
        if axis in axes
    ]
    if 0 in axes:
        two = constant(2, dtype=dtypes.int32)
        has_one_row = equal(dense.size(input.row_splits), two)
        checks.append(Assert(has_one_row, ["the given axis (axis = 0) is not squeezable!"]))
    return checks
