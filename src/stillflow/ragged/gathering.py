"""Rows and elements of ragged tensors by number."""

from __future__ import annotations

from functools import reduce
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import dimension_value
from stillflow.ops.arrays import gather as dense
from stillflow.ops.arrays import gather_nd as dense_nd
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones
from stillflow.ops.arrays.masks import repeat
from stillflow.ops.arrays.shape import expand_dims as expand_dense_dims
from stillflow.ops.arrays.shape import rank, reshape, shape
from stillflow.ops.debugging.comparisons import assert_equal
from stillflow.ops.math.cast import cast
from stillflow.ops.ragged.gather import ragged_gather_op
from stillflow.ragged.conversion import (
    common_splits_dtype,
    convert_to_tensor_or_ragged_tensor,
    is_ragged,
)
from stillflow.ragged.ranks import expand_dims
from stillflow.ragged.tensor import RaggedTensor
from stillflow.ragged.tiling import tile


def _converted(params: Any, indices: Any) -> tuple[Any, Any]:
    params = convert_to_tensor_or_ragged_tensor(params, name="params")
    indices = convert_to_tensor_or_ragged_tensor(indices, name="indices")
    common_splits_dtype(params, indices)
    return params, indices


def _only_zero(**given: Any) -> None:
    for name, value in given.items():
        if not isinstance(value, int) or value != 0:
            raise ValueError(f"{name} != 0 is not supported for ragged gather yet.")


def gather(
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: int = 0,
    batch_dims: int = 0,
    name: str | None = None,
) -> Any:
    """Return rows by number, of ragged tensors or indices; axes are 0. See `tf.gather`."""
    _only_zero(axis=axis)
    _only_zero(batch_dims=batch_dims)
    with name_scope(name, "RaggedGather", [params, indices]):
        params, indices = _converted(params, indices)
        if is_ragged(indices):
            return indices.with_values(gather(params, indices.values))
        if not is_ragged(params):
            return dense.gather(params, indices)
        indices = convert_to_tensor(indices)
        if indices.shape.ndims is None:
            raise ValueError("indices.shape.ndims must be known statically")
        splits, values = ragged_gather_op(
            params.nested_row_splits,
            params.flat_values,
            indices,
            OUTPUT_RAGGED_RANK=indices.shape.ndims + params.ragged_rank - 1,
        )
        return RaggedTensor.from_nested_row_splits(values, splits, validate=False)


# ---- Elements by tuples of numbers


def gather_nd(
    params: Any, indices: Any, batch_dims: int = 0, name: str | None = None
) -> Tensor | RaggedTensor:
    """Return elements or slices by tuples of numbers; see `tf.gather_nd`.

    The innermost dimension of `indices` is not ragged, and of known length.
    """
    _only_zero(batch_dims=batch_dims)
    if not (is_ragged(params) or is_ragged(indices)):
        return dense_nd.gather_nd(params, indices, name)
    with name_scope(name, "RaggedGatherNd", [params, indices]):
        params, indices = _converted(params, indices)
        depth = indices.shape.ndims
        if depth is None:
            raise ValueError("indices.rank be statically known.")
        if depth == 0:
            raise ValueError("indices.rank must be at least 1.")
        if is_ragged(indices) and depth == indices.ragged_rank + 1:
            raise ValueError("The innermost dimension of indices may not be ragged")
        length = dimension_value(indices.shape[-1])
        if length is None:
            raise ValueError("indices.shape[-1] must be statically known.")
        if depth > 2:
            return _gather_nd_deep(params, indices, depth)
        if length == 0:
            return _whole_for_each(params, indices, depth)
        if length == 1:
            return gather(params, reshape(indices, [-1]))
        return _gather_tuples(params, cast(indices, params.row_splits.dtype), length)


def _gather_nd_deep(params: Any, indices: Any, depth: int) -> RaggedTensor:
    """Tuples in more than one dimension: one after the other, then put in their places."""
    added = None if is_ragged(indices) else depth - 2
    if added is not None:
        kind = params.row_splits.dtype
        indices = RaggedTensor.from_tensor(indices, ragged_rank=added, row_splits_dtype=kind)
    found = indices.with_flat_values(gather_nd(params, indices.flat_values))
    is_uniform = is_ragged(found) and found.ragged_rank == added
    return found.to_tensor() if is_uniform else found


def _whole_for_each(params: Any, indices: Any, depth: int) -> Any:
    """Empty tuples: the whole of `params` for each of them."""
    count = params.ragged_rank + rank(params.flat_values)
    return tile(
        reduce(lambda whole, _: expand_dims(whole, axis=0), range(depth - 1), params),
        concat([shape(indices)[:-1], ones([count], dtypes.int32)], axis=0),
    )


def _gather_tuples(params: Any, indices: Any, length: int) -> Tensor | RaggedTensor:
    """Convert places in one level to places in the next, through the ragged dimensions."""

    def inside(starts: Any, rows: Any, place: int) -> Tensor:
        """Return the places in the values of the level whose rows start there."""
        return dense.gather(starts, rows) + indices[..., place]

    places = inside(params.row_splits, indices[..., 0], 1)
    level = params.values
    for place in range(2, length):
        if not is_ragged(level):
            rest = concat([expand_dense_dims(places, axis=1), indices[..., place:]], axis=1)
            return dense_nd.gather_nd(level, rest)
        places = inside(level.row_starts(), places, place)
        level = level.values
    return gather(level, places)


# ---- In batches


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Tensor | RaggedTensor:
    """Return elements of each row by number; see `tf.batch_gather`.

    One argument is ragged, or both; all dimensions of `indices` but the last are also the first of
    `params`.
    """
    if not (is_ragged(params) or is_ragged(indices)):
        return dense.batch_gather(params, indices, name)
    with name_scope(name, "RaggedBatchGather", [params, indices]):
        params, indices = _converted(params, indices)
        depth = indices.shape.ndims
        if depth is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        if depth == 0:
            raise ValueError("indices.rank must be at least 1.")
        if is_ragged(indices):
            return _batch_gather_ragged(params, indices, depth)
        if depth == 1:
            return gather(params, indices)
        if depth == 2:
            starts = expand_dense_dims(params.row_starts(), 1)
            return gather(params.values, cast(indices, starts.dtype) + starts)
        raise ValueError(_MISFIT)


_MISFIT = "batch shape from indices does not match params shape"


def _batch_gather_ragged(params: Any, indices: Any, depth: int) -> RaggedTensor:
    if depth > 2:
        if not is_ragged(params):
            raise ValueError(_MISFIT)
        with control_dependencies([assert_equal(params.row_splits, indices.row_splits)]):
            inner = batch_gather(params.values, indices.values)
            return RaggedTensor.from_row_splits(inner, indices.row_splits, validate=False)
    if not is_ragged(params):
        if params.shape.ndims is not None and params.shape.ndims < 2:
            raise ValueError(_MISFIT)
        params = RaggedTensor.from_tensor(
            params, ragged_rank=1, row_splits_dtype=indices.row_splits.dtype
        )
    counts, starts = indices.row_lengths(), params.row_starts()
    shift = repeat(starts, counts, axis=0)
    places = cast(indices.values, shift.dtype) + shift
    found = gather(params.values, places)
    return RaggedTensor.from_row_splits(found, indices.row_splits, validate=False)
