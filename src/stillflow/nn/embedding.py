"""Rows of tables by number: embedding lookups, in parts and for sparse ids."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import colocate_with, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dims import is_known
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import convert_n_to_tensor_or_indexed_slices
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.dynamic_stitch import dynamic_partition, parallel_dynamic_stitch
from stillflow.ops.arrays.fill import fill
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.select import where
from stillflow.ops.arrays.sequences import range as range_of
from stillflow.ops.arrays.shape import expand_dims, rank, reshape, shape, size
from stillflow.ops.arrays.stack import stack
from stillflow.ops.arrays.unique import unique
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.math.binary import maximum
from stillflow.ops.math.binary import pow as pow_
from stillflow.ops.math.cast import cast
from stillflow.ops.math.clip import clip_by_norm
from stillflow.ops.math.division import div
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ops.math.segment import segment_sum
from stillflow.ops.math.unary import sqrt
from stillflow.ops.sparse.segment import (
    sparse_segment_mean,
    sparse_segment_sqrt_n,
    sparse_segment_sum,
)
from stillflow.platform import tf_logging
from stillflow.variables.partitioned import PartitionedVariable
from stillflow.variables.resource_variable import BaseResourceVariable


def _clip(params: Any, ids: Any, max_norm: Any) -> Any:
    """Scales down embeddings that are longer than `max_norm`."""
    if max_norm is None:
        return params
    (ids_rank, ids_static), (params_rank, params_static) = _rank(ids), _rank(params)
    if ids_static and params_static:
        axes: Any = list(range(ids_rank, params_rank))
    else:
        axes = range_of(ids_rank, params_rank)
    return clip_by_norm(params, max_norm, axes=axes)


def _rank(x: Any) -> tuple[Any, bool]:
    known = convert_to_tensor(x).shape.ndims
    return (known, True) if known else (rank(x), False)


def as_list(params: Any) -> list[Any]:
    """Return a table, its parts or a partitioned variable as a list of parts."""
    if isinstance(params, PartitionedVariable):
        params = list(params)
    return params if isinstance(params, list) else [params]


def _rows(params: Any) -> int | None:
    return params.shape.dims[0].value if params.shape.ndims else None


def assign_ids(
    flat_ids: Any, params: list[Any], strategy: str, by_products: bool = False
) -> tuple[Tensor, Tensor]:
    """Return the part of each id, and its number there.

    `by_products` chooses between numbers by multiplying them with 0 and 1, as some lookups do.
    """
    count = len(params)
    if strategy == "mod":
        return flat_ids % count, flat_ids // count
    if strategy != "div":
        raise ValueError("Unrecognized partition strategy: " + strategy)
    total = _total_rows(flat_ids, params)
    per_part = total // count
    extras = total % count
    part = maximum(flat_ids // (per_part + 1), (flat_ids - extras) // per_part)
    if by_products:
        is_long = cast(part < extras, flat_ids.dtype)
        own = is_long * (flat_ids % (per_part + 1))
        return part, own + (1 - is_long) * ((flat_ids - extras) % per_part)
    own = where(part < extras, flat_ids % (per_part + 1), (flat_ids - extras) % per_part)
    return part, own


def ids_by_part(
    ids: Tensor, params: list[Any], strategy: str, by_products: bool = False
) -> tuple[list[Tensor], list[Tensor]]:
    """Return for each part its ids, as numbers there, and their original positions.

    `by_products`: see `assign_ids`.
    """
    flat_ids = reshape(ids, [-1])
    original = range_of(size(flat_ids))
    part, own = assign_ids(flat_ids, params, strategy, by_products)
    part = cast(part, dtypes.int32)
    numbers = dynamic_partition(own, part, len(params))
    return numbers, dynamic_partition(original, part, len(params))


def _total_rows(flat_ids: Tensor, params: list[Any]) -> Tensor:
    """Return the number of rows of all parts, of the ids' type."""
    rows = tuple(_rows(each) for each in params)
    known = sum(rows) if is_known(rows) else None
    if known:
        return constant(known, flat_ids.dtype)
    sizes: list[Any] = []
    for each, count in zip(params, rows):
        if count is not None:
            sizes.append(count)
        else:
            with colocate_with(each):
                sizes.append(shape(each)[0])
    return reduce_sum(cast(stack(sizes), flat_ids.dtype))


def _lookup_parts(
    params: list[Any], ids: Tensor, strategy: str, name: str, max_norm: Any, transform: Any
) -> Tensor:
    """Gather the rows of every part, and restore their order."""
    gather_ids, places = ids_by_part(ids, params, strategy)
    results = []
    for each, part_ids in zip(params, gather_ids):
        with colocate_with(each):
            result = gather(each, part_ids)
            if transform:
                result = transform(_clip(result, part_ids, max_norm))
        results.append(result)
    found = parallel_dynamic_stitch(places, results, name=name)
    static, dynamic = _element_shape(params, found, transform)
    found = reshape(found, concat([shape(ids), dynamic], 0))
    found.set_shape(ids.shape.concatenate(static))
    return found if transform else _clip(found, ids, max_norm)


def _element_shape(params: list[Any], found: Tensor, transform: Any) -> tuple[TensorShape, Any]:
    """Return the shape of one embedding, as far as it is known and for use in the graph."""
    if transform is None:
        static = params[0].shape[1:]
        for each in params[1:]:
            static = static.merge_with(each.shape[1:])
    else:
        static = found.shape[1:]
    if static.is_fully_defined():
        return static, static
    if transform is None:
        with colocate_with(params[0]):
            full = shape(params[0])
        return static, full[1:]
    return static, shape(found)[1:]


def embedding_lookup_and_transform(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    max_norm: Any = None,
    transform_fn: Any = None,
) -> Tensor:
    """Look up embeddings like `embedding_lookup`, with a function applied to each part's rows."""
    if params is None:
        raise ValueError("params must be specified")
    if isinstance(params, (list, tuple)) and not params:
        raise ValueError("Need at least one param")
    params = as_list(params)
    with name_scope(name, "embedding_lookup", [*params, ids]) as scope:
        if not any(isinstance(each, BaseResourceVariable) for each in params):
            params = convert_n_to_tensor_or_indexed_slices(params, name="params")
        ids = convert_to_tensor(ids, name="ids")
        if len(params) > 1 or (transform_fn and ids.shape.ndims != 1):
            return _lookup_parts(params, ids, partition_strategy, scope, max_norm, transform_fn)
        with colocate_with(params[0]):
            result = _clip(gather(params[0], ids, name=scope), ids, max_norm)
            if transform_fn:
                result = transform_fn(result)
        # An identity, so that the result does not stand where the table does.
        return identity(result)


@export("nn.embedding_lookup")
def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: Any = None,
) -> Tensor:
    """Rows of a table by number.

    Args:
      params: the table, or a list of its parts.
      ids: int32 or int64, of any shape.
      partition_strategy: "mod" deals the rows out to the parts in turn, "div" in blocks.
      validate_indices: ignored; ids are always checked.
      max_norm: if given, longer rows are scaled down to this length.

    Returns:
      A tensor of shape `shape(ids) + shape(params)[1:]`.

    Example:
      >>> table = tf.constant([[0, 0], [1, 10], [2, 20]])
      >>> print(tf.Session().run(tf.nn.embedding_lookup(table, [[2, 1]])).tolist())
      [[[2, 20], [1, 10]]]
    """
    return embedding_lookup_and_transform(
        params, ids, partition_strategy=partition_strategy, name=name, max_norm=max_norm
    )


# ---- sparse ids


def check_sparse(sp_ids: Any, sp_weights: Any) -> None:
    if not isinstance(sp_ids, SparseTensor):
        raise TypeError("sp_ids must be SparseTensor")
    if sp_weights is None:
        return
    if not isinstance(sp_weights, SparseTensor):
        raise TypeError("sp_weights must be either None or SparseTensor")
    for part in ("values", "indices", "dense_shape"):
        mine, others = getattr(sp_ids, part), getattr(sp_weights, part)
        mine.shape.assert_is_compatible_with(others.shape)


def weights_like(weights: Tensor, embeddings: Tensor) -> Tensor:
    """Weights with trailing dimensions of size 1, as many as the embeddings have."""
    ones = fill(expand_dims(rank(embeddings) - 1, 0), 1)
    target = concat([shape(weights), ones], 0)
    static = weights.shape
    weights = reshape(weights, target)
    if embeddings.shape.ndims is not None:
        weights.set_shape(static.concatenate([1] * (embeddings.shape.ndims - 1)))
    return weights


def _combine_weighted(
    embeddings: Tensor, weights: Tensor, segments: Tensor, combiner: str, name: str
) -> Tensor:
    embeddings *= weights
    if combiner == "sum":
        return segment_sum(embeddings, segments, name=name)
    total = segment_sum(embeddings, segments)
    if combiner == "mean":
        return div(total, segment_sum(weights, segments), name=name)
    squares = pow_(weights, 2)
    return div(total, sqrt(segment_sum(squares, segments)), name=name)


_COMBINERS = {
    "sum": sparse_segment_sum, "mean": sparse_segment_mean, "sqrtn": sparse_segment_sqrt_n,
}  # fmt: skip


@export("nn.embedding_lookup_sparse")
def embedding_lookup_sparse(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: Any = None,
) -> Tensor:
    """Look up embeddings of a sparse matrix of ids, and combine those of each row to one.

    Args:
      params: the table, or a list of its parts.
      sp_ids: SparseTensor [rows, anything] of ids; no row is empty.
      sp_weights: SparseTensor of weights like `sp_ids`, or None for weights of 1.
      combiner: "sum", "mean" (the default) or "sqrtn", which divides by the root of the sum of
        squared weights.
      max_norm: if given, longer rows are scaled down to this length before.

    Raises:
      TypeError: if ids or weights are not sparse.
      ValueError: for another combiner.
    """
    if combiner is None:
        tf_logging.warn(
            'The default value of combiner will change from "mean" to "sqrtn" after 2016/11/01.'
        )
        combiner = "mean"
    if combiner not in _COMBINERS:
        raise ValueError("combiner must be one of 'mean', 'sqrtn' or 'sum'")
    params = as_list(params)
    check_sparse(sp_ids, sp_weights)
    with name_scope(name, "embedding_lookup_sparse", [*params, sp_ids]) as scope:
        segments = sp_ids.indices[:, 0]
        if segments.dtype != dtypes.int32:
            segments = cast(segments, dtypes.int32)
        ids, index = unique(sp_ids.values)
        embeddings = embedding_lookup(
            params, ids, partition_strategy=partition_strategy, max_norm=max_norm
        )
        if embeddings.dtype in (dtypes.float16, dtypes.bfloat16):
            embeddings = cast(embeddings, dtypes.float32)
        if sp_weights is None:
            return _COMBINERS[combiner](embeddings, index, segments, name=scope)
        weights = sp_weights.values
        if weights.dtype != embeddings.dtype:
            weights = cast(weights, embeddings.dtype)
        embeddings = gather(embeddings, index)
        weights = weights_like(weights, embeddings)
        return _combine_weighted(embeddings, weights, segments, combiner, scope)
