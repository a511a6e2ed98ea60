"""Embedding lookups that take empty rows and invalid ids."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.graph.tensor_shape import unknown_shape
from stillflow.nn.embedding import as_list, embedding_lookup_sparse
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones_like, zeros_like
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.select import where
from stillflow.ops.arrays.shape import reshape, shape, size
from stillflow.ops.arrays.slicing import slice_
from stillflow.ops.arrays.stack import stack
from stillflow.ops.arrays.tile import tile
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import greater, greater_equal, logical_and
from stillflow.ops.math.reductions import reduce_prod
from stillflow.ops.sparse.rearranging import sparse_reshape, sparse_retain
from stillflow.ops.sparse.reshaping import sparse_fill_empty_rows
from stillflow.variables.resource_variable import BaseResourceVariable


def _prune_ids(ids: Any, weights: Any) -> tuple[Any, Any]:
    """Leaves out negative ids."""
    valid = greater_equal(ids.values, 0)
    if weights is None:
        return sparse_retain(ids, valid), None
    valid = logical_and(valid, ones_like(weights.values, dtype=dtypes.bool))
    return sparse_retain(ids, valid), sparse_retain(weights, valid)


def _prune_weights(ids: Any, weights: Any) -> tuple[Any, Any]:
    """Leaves out ids whose weight is not positive."""
    if weights is None:
        return ids, None
    valid = greater(weights.values, 0)
    return sparse_retain(ids, valid), sparse_retain(weights, valid)


def _as_tables(embedding_weights: Any, sparse_weights: Any) -> list[Any]:
    if embedding_weights is None:
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    tables = as_list(embedding_weights)
    if len(tables) < 1:
        raise ValueError(f"Missing embedding_weights {tables}.")
    kind = None if sparse_weights is None else sparse_weights.dtype
    return [
        each
        if isinstance(each, BaseResourceVariable) and kind in (None, each.dtype)
        else convert_to_tensor(each, dtype=kind)
        for each in tables
    ]


def _as_matrix(sparse_ids: Any, original: Tensor, count: Any) -> SparseTensor:
    """Sparse ids of any rank as a matrix: all axes but the last become one."""
    leading = reduce_prod(slice_(original, [0], [count - 1]))
    return sparse_reshape(sparse_ids, [leading, gather(original, count - 1)])


@export("nn.safe_embedding_lookup_sparse")
def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str | None = "mean",
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: Any = None,
) -> Tensor:
    """`embedding_lookup_sparse` that takes empty rows and invalid ids.

    Args:
      embedding_weights: the table, or a list of its parts.
      sparse_ids: SparseTensor of ids of any rank; negative ids are left out.
      sparse_weights: SparseTensor of weights; ids whose weight is not positive are left out.
      default_id: the id of empty rows; by default these give zeros.

    Raises:
      ValueError: if there is no table.
    """
    tables = _as_tables(embedding_weights, sparse_weights)
    values = [*tables, sparse_ids, sparse_weights]
    with name_scope(name, "embedding_lookup", values) as scope:
        original = sparse_ids.dense_shape
        known = original.shape.dims[0].value if original.shape.ndims else None
        count = size(original) if known is None else known
        sparse_ids = _as_matrix(sparse_ids, original, count)
        if sparse_weights is not None:
            sparse_weights = SparseTensor(
                sparse_ids.indices, sparse_weights.values, sparse_ids.dense_shape
            )
        sparse_ids, sparse_weights = _prune_ids(sparse_ids, sparse_weights)
        if combiner != "sum":
            sparse_ids, sparse_weights = _prune_weights(sparse_ids, sparse_weights)
        sparse_ids, empty = sparse_fill_empty_rows(sparse_ids, default_id or 0)
        if sparse_weights is not None:
            sparse_weights, _ = sparse_fill_empty_rows(sparse_weights, 1.0)
        result = embedding_lookup_sparse(
            tables, sparse_ids, sparse_weights, combiner=combiner,
            partition_strategy=partition_strategy,
            name=None if default_id is None else scope, max_norm=max_norm,
        )  # fmt: skip
        if default_id is None:
            empty = tile(reshape(empty, [-1, 1]), stack([1, shape(result)[1]]))
            result = where(empty, zeros_like(result), result, name=scope)
        head = slice_(cast(original, dtypes.int32), [0], [count - 1])
        final = reshape(result, concat([head, slice_(shape(result), [1], [-1])], 0))
        static = unknown_shape(None if known is None else known - 1)
        final.set_shape(static.concatenate(result.shape[1:]))
        return final


@export("compat.v2.nn.safe_embedding_lookup_sparse")
def safe_embedding_lookup_sparse_v2(
    embedding_weights: Any,
    sparse_ids: Any,
    sparse_weights: Any = None,
    combiner: str = "mean",
    default_id: int | None = None,
    max_norm: Any = None,
    name: str | None = None,
) -> Tensor:
    """See `tf.nn.safe_embedding_lookup_sparse`."""
    return safe_embedding_lookup_sparse(
        embedding_weights, sparse_ids, sparse_weights, combiner, default_id, name, "div", max_norm
    )
