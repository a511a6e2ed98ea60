"""Sparse features as dual coordinate ascent takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor


class SparseFeatures:
    """The features of which every example has a few.

    Args:
      example_indices: int64 [n], the example of each.
      feature_indices: int64 [n], the number of each.
      feature_values: float32 [n], or None for ones.
    """

    example_indices: Any
    feature_indices: Any
    feature_values: Any

    def __init__(self, example_indices: Any, feature_indices: Any, feature_values: Any) -> None:
        self._set(tf.int64, example_indices=example_indices, feature_indices=feature_indices)
        self.feature_values = None
        if feature_values is not None:
            self._set(tf.float32, feature_values=feature_values)

    def _set(self, dtype: Any, **values: Any) -> None:
        with tf.name_scope(None, "SparseFeatureColumn", list(values.values())):
            for name, value in values.items():
                setattr(self, name, convert_to_tensor(value, dtype, name))


def distinct_features(
    ids: Any, weights: Any, cast: Callable[[Any], Any] | None = None
) -> tuple[Any, Any, Any]:
    """Return the arguments of `SparseFeatures` of ids, each once in an example.

    Ids in the SparseTensor that are below 0 are left out; their weights, float32 [n], are added up
    where an id is there twice. `cast` makes ids int64.
    """
    examples = tf.reshape(ids.indices[:, 0], [-1])
    flat = tf.reshape(ids.values, [-1])
    if cast is not None:
        flat = cast(flat)
    valid = tf.greater_equal(flat, 0)
    flat, examples, weights = (tf.boolean_mask(each, valid) for each in (flat, examples, weights))
    # A number for each pair of an example and an id.
    length = tf.reduce_max(flat) + 1
    pairs, places = tf.unique(length * examples + flat)
    examples = tf.unsorted_segment_min(examples, places, tf.shape(pairs)[0])
    features = pairs - length * examples
    sums = tf.unsorted_segment_sum(weights, places, tf.shape(pairs)[0])
    return examples, features, tf.reshape(sums, [-1])
