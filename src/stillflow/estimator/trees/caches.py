"""State of in-memory training between steps: buckets of features, nodes in trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import stillflow as tf
from stillflow.estimator.trees.columns import transform, transformed_features, width
from stillflow.feature_column.indicator import IndicatorColumn
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.fill import ones, zeros
from stillflow.ops.control_flow.identity_and_group import group, no_op
from stillflow.ops.functional.branches import cond

# Of an example that is in no tree yet.
NO_NODE = -1


def local_variable(initial_value: Any, name: str) -> Any:
    """Return a resource variable of any shape that is not trained."""
    return tf.Variable(
        initial_value, trainable=False, validate_shape=False, name=name, use_resource=True
    )


def cached_features(
    features: dict[str, Any], columns: Sequence[Any], batch_size: Any, boundaries: Any,
    are_boundaries_ready: Any,
) -> Any:  # fmt: skip
    """Return the buckets of all features, made once and then read from variables.

    For `boundaries` see `transformed_features`; `are_boundaries_ready` is a variable. Returns the
    vectors, and what has to run so that they are kept.
    """
    count = sum(map(width, columns))
    kept = [
        local_variable(zeros([batch_size], dtype=tf.int32), f"cached_feature_{index}")
        for index in range(count)
    ]
    are_kept = local_variable(False, "are_features_cached")
    # Tables of vocabularies are outside of branches, or nothing would initialize them.
    indicators = [column for column in columns if isinstance(column, IndicatorColumn)]
    others = [column for column in columns if not isinstance(column, IndicatorColumn)]
    transformed = transform(features, indicators) if indicators else {}

    def made() -> list[Tensor]:
        return transformed_features(features, others, boundaries, columns, transformed)

    def without_cache() -> Any:
        return made(), no_op()

    def keep() -> Any:
        vectors = [variable.assign(vector) for variable, vector in zip(kept, made(), strict=True)]
        with tf.control_dependencies(vectors):
            return vectors, are_kept.assign(True)

    def with_cache() -> Any:
        return cond(are_kept, lambda: (kept, no_op()), keep)

    return cond(are_boundaries_ready, without_cache, with_cache)


class StateCache:
    """Cache of examples' trees and nodes, and their logits so far.

    Args:
      batch_size: how many examples there are.
      logits_dimension: how many logits each has.
    """

    def __init__(self, batch_size: Any, logits_dimension: int) -> None:
        self._tree_ids = local_variable(zeros([batch_size], dtype=tf.int32), "tree_ids_cache")
        self._node_ids = local_variable(
            NO_NODE * ones([batch_size], dtype=tf.int32), "node_ids_cache"
        )
        self._logits = local_variable(
            zeros([batch_size, logits_dimension], dtype=tf.float32), "logits_cache"
        )

    def lookup(self) -> tuple[Any, Any, Any]:
        """Trees, nodes and logits."""
        return self._tree_ids, self._node_ids, self._logits

    def insert(self, tree_ids: Any, node_ids: Any, logits: Any) -> Any:
        """Return the operation that caches them."""
        assigned = [
            self._tree_ids.assign(tree_ids), self._node_ids.assign(node_ids),
            self._logits.assign(logits),
        ]  # fmt: skip
        return group(assigned, name="cache_insert")
