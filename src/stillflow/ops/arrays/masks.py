"""Masks: `tf.boolean_mask`, `tf.sequence_mask`, and `tf.repeat`, which is made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.graph.tensor_shape import as_shape
from stillflow.ops import forward_declarations
from stillflow.ops.arrays.broadcast import broadcast_to
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.indexing import slice_helper
from stillflow.ops.arrays.select import where
from stillflow.ops.arrays.sequences import range_op
from stillflow.ops.arrays.shape import expand_dims, rank, reshape, shape, squeeze
from stillflow.ops.arrays.stack import stack
from stillflow.ops.arrays.tile import tile
from stillflow.ops.constants import constant
from stillflow.ops.dispatch import dispatchable


@export("boolean_mask")
@dispatchable
def boolean_mask(
    tensor: Any, mask: Any, name: str = "boolean_mask", axis: int | None = None
) -> Tensor:
    """Return the slices of a tensor for which a mask holds.

    Args:
      tensor: a tensor.
      mask: bool, of known rank, at least 1; matches dimensions of `tensor` from `axis` on.
      name: of the scope.
      axis: the first dimension masked, 0 by default.

    Returns:
      A tensor with the masked dimensions joined to one.

    Raises:
      ValueError: if the mask is a scalar, of unknown rank, or does not fit.

    Example:
      >>> print(tf.Session().run(tf.boolean_mask([[1, 2], [3, 4], [5, 6]], [True, False, True])))
      [[1 2]
       [5 6]]
    """
    from stillflow.ops.math.reductions import prod_op

    with name_scope(name, values=[tensor, mask]):
        tensor = convert_to_tensor(tensor, name="tensor")
        mask = convert_to_tensor(mask, name="mask")
        mask_shape, tensor_shape = mask.get_shape(), tensor.get_shape()
        count = mask_shape.ndims
        if count == 0:
            raise ValueError("mask cannot be scalar.")
        if count is None:
            raise ValueError(
                "Number of mask dimensions must be specified, even if some dimensions are None.  "
                "E.g. shape=[None] is ok, but shape=None is not."
            )
        start = 0 if axis is None else axis
        stop = start + count
        tensor_shape[start:stop].assert_is_compatible_with(mask_shape)
        joined = prod_op(slice_helper(shape(tensor), slice(start, stop)), [0])
        tensor = reshape(tensor, concat([
            slice_helper(shape(tensor), slice(None, start)), [joined],
            slice_helper(shape(tensor), slice(stop, None)),
        ], 0))  # fmt: skip
        first = tensor_shape[start:stop].num_elements()
        before = as_shape(tensor_shape[:start]).concatenate([first])
        tensor.set_shape(before.concatenate(tensor_shape[stop:]))
        mask = reshape(mask, [-1])
        return gather(tensor, squeeze(where(mask), axis=[1]), axis=start)


forward_declarations.boolean_mask.provide(boolean_mask)


def all_dimensions(x: Any) -> Tensor:
    """All axes of a tensor, a constant where the rank is known."""
    if isinstance(x, Tensor) and x._dims is not None:
        return constant(np.arange(len(x._dims)), dtype=dtypes.int32)
    if isinstance(x, SparseTensor) and x.dense_shape.get_shape().is_fully_defined():
        return constant(np.arange((x.dense_shape._dims or (0,))[0]), dtype=dtypes.int32)
    return range_op(0, rank(x), 1)


@export("sequence_mask")
def sequence_mask(
    lengths: Any, maxlen: Any = None, dtype: Any = dtypes.bool, name: str | None = None
) -> Tensor:
    """Return for each length a row that is True up to it.

    Args:
      lengths: integers of any shape.
      maxlen: the length of the rows, a scalar; by default the largest length.
      dtype: of the result.
      name: of the scope.

    Returns:
      Shape `lengths.shape + [maxlen]`.

    Raises:
      ValueError: if `maxlen` is known not to be a scalar.

    Example:
      >>> print(tf.Session().run(tf.sequence_mask([1, 3], maxlen=4, dtype=tf.int32)))
      [[1 0 0 0]
       [1 1 1 0]]
    """
    from stillflow.ops.math.binary import maximum_op
    from stillflow.ops.math.cast import cast_op
    from stillflow.ops.math.reductions import max_op

    with name_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = convert_to_tensor(lengths)
        if maxlen is None:
            maxlen = max_op(lengths, all_dimensions(lengths))
            maxlen = maximum_op(constant(0, maxlen.dtype), maxlen)
        else:
            maxlen = convert_to_tensor(maxlen)
        if maxlen.get_shape().ndims not in (None, 0):
            raise ValueError("maxlen must be scalar for sequence_mask")
        row = range_op(constant(0, maxlen.dtype), maxlen, constant(1, maxlen.dtype))
        column = cast_op(expand_dims(lengths, -1), DstT=maxlen.dtype)
        result: Tensor = row < column
        if dtype is None or result.dtype.base_dtype == dtypes.as_dtype(dtype).base_dtype:
            return result
        return cast_op(result, DstT=dtypes.as_dtype(dtype))


# ---- repeat


def to_integers(value: Any, name: str, dtype: Any = dtypes.int32) -> Tensor:
    """Convert whole numbers to a tensor of the given type, by a Cast in any case."""
    from stillflow.ops.math.cast import cast_op

    tensor = convert_to_tensor(value, name=name, preferred_dtype=dtype)
    if not tensor.dtype.is_integer:
        raise TypeError(f"{name} must be an integer tensor; dtype={tensor.dtype}")
    return cast_op(tensor, DstT=dtype)


def positive_axis(axis: Any, count: int | None) -> int:
    """Return an axis counted from the front; `count` is the number of axes, None if unknown."""
    if not isinstance(axis, int):
        raise TypeError(f"axis must be an int; got {type(axis).__name__}")
    if count is None:
        if axis < 0:
            raise ValueError("axis may only be negative if ndims is statically known.")
        return axis
    if not -count <= axis < count:
        raise ValueError(f"axis={axis} out of bounds: expected {-count}<=axis<{count}")
    return axis % count


def _tile_axis(data: Tensor, axis: int, multiple: Any) -> Tensor:
    multiples: Any
    if data._dims is not None:
        multiples = [1] * len(data._dims)
        multiples[axis] = multiple
    else:
        ones_value = ones(rank(data), dtypes.int32)
        before = slice_helper(ones_value, slice(None, axis))
        after = slice_helper(ones_value, slice(axis + 1, None))
        multiples = concat([before, [multiple], after], axis=0)
    return tile(data, multiples)


def _at_least_vector(data: Tensor) -> Tensor:
    if data._dims is None:
        data_shape, data_rank = shape(data), rank(data)
        longer = concat([[1], data_shape], axis=0)
        return reshape(data, slice_helper(longer, slice(-data_rank, None)))
    return data if data._dims else stack([data])


@export("repeat")
def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Tensor:
    """Repeats each element along an axis.

    Args:
      input: a tensor.
      repeats: how often, a scalar or one number for each element along the axis.
      axis: which one; by default the flattened tensor is repeated.
      name: of the scope.

    Raises:
      TypeError: if `axis` or `repeats` is not of an integer type.
      ValueError: if `axis` is out of range.
    """
    if axis is None:
        input, axis = reshape(input, [-1]), 0
    with name_scope(name, "Repeat", [input, repeats]):
        data = convert_to_tensor(input, name="data")
        counts = to_integers(repeats, "repeats")
        counts.shape.with_rank_at_most(1)
        data = _at_least_vector(data)
        data_shape = shape(data)
        axis = positive_axis(axis, data.shape.ndims)
        if counts.shape.ndims == 1:
            data.shape[axis].assert_is_compatible_with(counts.shape[0])
        if counts.shape.ndims == 0:
            tiled = _tile_axis(expand_dims(data, axis + 1), axis + 1, counts)
            return reshape(tiled, _with_any_size(data_shape, axis))
        return _repeat_each(data, data_shape, counts, axis)


def _with_any_size(data_shape: Tensor, axis: int) -> Tensor:
    before = slice_helper(data_shape, slice(None, axis))
    return concat([before, [-1], slice_helper(data_shape, slice(axis + 1, None))], axis=0)


def _repeat_each(data: Tensor, data_shape: Tensor, counts: Tensor, axis: int) -> Tensor:
    """Repeats everything as often as the most repeated element, and masks the rest out."""
    from stillflow.ops.math.binary import maximum_op
    from stillflow.ops.math.reductions import max_op

    if counts.shape.ndims != axis + 1:
        counts_shape, counts_rank = shape(counts), rank(counts)
        outer = slice_helper(data_shape, slice(None, axis + 1 - counts_rank))
        counts = broadcast_to(counts, concat([outer, counts_shape], axis=0))
        counts.set_shape([None] * (axis + 1))
    most = maximum_op(0, max_op(counts, all_dimensions(counts)))
    mask = sequence_mask(counts, most)
    tiled = _tile_axis(expand_dims(data, axis + 1), axis + 1, most)
    result = boolean_mask(tiled, mask)
    if axis:
        result = reshape(result, _with_any_size(data_shape, axis))
    if data.shape.ndims is not None:
        known = 0 if counts._dims and counts._dims[0] == 0 else None
        before = data.shape[:axis].concatenate([known])
        result.set_shape(before.concatenate(data.shape[axis + 1 :]))
    return result
