"""Embeddings of sparse ids that are summed where each part of the table lies."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.indexed_slices import convert_n_to_tensor_or_indexed_slices
from stillflow.graph.operation import Tensor
from stillflow.nn.embedding import as_list, check_sparse, ids_by_part, weights_like
from stillflow.variables.resource_variable import BaseResourceVariable
from stillflow_contrib.layers.embedding_lookups import combiner_or_mean


def embedding_lookup_sparse_with_distributed_aggregation(
    params: Any,
    sp_ids: Any,
    sp_weights: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: Any = None,
) -> tf.Tensor:
    """`tf.nn.embedding_lookup_sparse` that sends sums, not rows, away from devices of parts.

    Args:
      params: the table, or a list of its parts.
      sp_ids: SparseTensor [rows, anything] of ids; no row is empty.
      sp_weights: SparseTensor of weights like `sp_ids`, or None for weights of 1.
      partition_strategy: which rows are in which part: "mod" or "div".
      name: a name scope.
      combiner: "sum", "mean" (the default) or "sqrtn".
      max_norm: if given, longer rows are scaled down to this length before.

    Returns:
      [rows, ...] of the dtype of the table.

    Raises:
      TypeError: if ids or weights are not sparse.
      ValueError: for another combiner or strategy.
    """
    combiner = combiner_or_mean(combiner)
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError("combiner must be one of 'mean', 'sqrtn' or 'sum'")
    tables = as_list(params)
    check_sparse(sp_ids, sp_weights)
    with tf.name_scope(name, "embedding_lookup_sparse", [*tables, sp_ids]):
        segments = sp_ids.indices[:, 0]
        if segments.dtype != tf.int32:
            segments = tf.cast(segments, tf.int32)
        ids, index, weights = sp_ids.values, None, None
        if sp_weights is None:
            ids, index = tf.unique(ids)
        else:
            weights = sp_weights.values
        sums = _Sums(tables, segments, index, weights, max_norm).of(ids, partition_strategy)
        if weights is None:
            weights = tf.fill([tf.shape(segments)[0]], 1)
        if weights.dtype != sums.dtype:
            weights = tf.cast(weights, sums.dtype)
        weights = weights_like(weights, sums)
        if combiner == "mean":
            return tf.div(sums, tf.segment_sum(weights, segments))
        if combiner == "sqrtn":
            return tf.div(sums, tf.sqrt(tf.segment_sum(tf.pow(weights, 2), segments)))
        return sums


class _Sums:
    """Sums of embeddings by segment.

    `segments`, (n,) int32, has the row of each id; `index`, (n,), which of the unique ids each is,
    None where there are `weights`, (n,).
    """

    def __init__(
        self, tables: list[Any], segments: Any, index: Any, weights: Any, max_norm: Any
    ) -> None:
        self._tables, self._segments, self._index = tables, segments, index
        self._weights, self._max_norm = weights, max_norm

    def of(self, ids: Any, strategy: str) -> tf.Tensor:
        """Return the sums for ids, unique ones if there are no weights."""
        if not self._tables:
            raise ValueError("Need at least one param")
        scope_of = [*self._tables, ids]
        with tf.name_scope(None, "embedding_lookup_with_distributed_aggregation", scope_of) as name:
            if not any(isinstance(each, BaseResourceVariable) for each in self._tables):
                self._tables = convert_n_to_tensor_or_indexed_slices(self._tables, name="params")
            if len(self._tables) == 1:
                return self._of_whole(ids, name)
            return self._of_parts(tf.convert_to_tensor(ids, name="ids"), strategy, name)

    def _clipped(self, rows: Any) -> Tensor:
        if self._max_norm is None:
            return rows
        known = rows.get_shape().ndims
        count = tf.size(tf.shape(rows)) if known is None else known
        return tf.clip_by_norm(rows, self._max_norm, axes=list(range(1, count)))

    def _weighted(self, rows: Any, weights: Any) -> Tensor:
        if weights.dtype != rows.dtype:
            weights = tf.cast(weights, rows.dtype)
        return rows * weights_like(weights, rows)

    def _of_whole(self, ids: Any, name: str) -> tf.Tensor:
        (table,) = self._tables
        with tf.colocate_with(table):
            rows = self._clipped(tf.gather(table, ids))
            if self._weights is None:
                return tf.sparse_segment_sum(rows, self._index, self._segments, name=name)
            rows = self._weighted(rows, self._weights)
            return tf.segment_sum(rows, self._segments, name=name)

    def _of_parts(self, ids: Any, strategy: str, name: str) -> tf.Tensor:
        gather_ids, places = ids_by_part(ids, self._tables, strategy, by_products=True)
        rows = []
        for table, part_ids in zip(self._tables, gather_ids, strict=True):
            with tf.colocate_with(table):
                rows.append(tf.gather(table, part_ids))
        weights = None
        if self._weights is not None:
            weights = [tf.gather(self._weights, place) for place in places]
        rows = self._shaped(rows, places)
        rows = self._on_devices(rows, self._clipped)
        if weights is not None:
            rows = self._on_devices(rows, self._weighted, weights)
        found = [
            self._part_sums(table, part_rows, place)
            for table, part_rows, place in zip(self._tables, rows, places, strict=True)
        ]
        segments = tf.concat([part_segments for part_segments, _ in found], 0)
        sums = tf.concat([part_sums for _, part_sums in found], 0)
        return tf.unsorted_segment_sum(sums, segments, tf.reduce_max(segments) + 1, name=name)

    def _on_devices(self, rows: list[Any], apply: Any, *others: list[Any]) -> list[Any]:
        """`apply` to the rows of each part, on its device."""
        found = []
        for table, *each in zip(self._tables, rows, *others, strict=True):
            with tf.colocate_with(table):
                found.append(apply(*each))
        return found

    def _shaped(self, rows: list[Any], places: list[Any]) -> list[Any]:
        """Rows whose shape is known as far as that of the table."""
        element = self._tables[0].get_shape()[1:]
        for table in self._tables[1:]:
            element = element.merge_with(table.get_shape()[1:])
        if element.is_fully_defined():
            return self._on_devices(
                rows, lambda x, place: tf.reshape(x, tf.concat([tf.shape(place), element], 0)),
                places,
            )  # fmt: skip
        with tf.colocate_with(self._tables[0]):
            full = tf.shape(self._tables[0])
        return self._on_devices(
            rows,
            lambda x, place: tf.reshape(
                x, tf.concat([tf.shape(place), tf.slice(full, [1], [-1])], 0)
            ),
            places,
        )

    def _part_sums(self, table: Any, rows: Any, place: Any) -> tuple[Any, Any]:
        """Return the segments that a part has rows of, and their sums."""
        if self._weights is not None:
            segments, index = tf.unique(tf.gather(self._segments, place))
            with tf.colocate_with(table):
                return segments, tf.segment_sum(rows, index)
        _, elsewhere = tf.setdiff1d(self._index, place)
        everything = tf.range(tf.shape(self._index)[0])
        _, here = tf.setdiff1d(everything, elsewhere)
        part_segments = tf.gather(self._segments, here)
        part_index = tf.gather(self._index, here)
        segments, index = tf.unique(part_segments)
        _, rows_index = tf.unique(part_index)
        with tf.colocate_with(table):
            return segments, tf.sparse_segment_sum(rows, rows_index, index)
