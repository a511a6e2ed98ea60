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

    def __init__(self, example_indices: Any, feature_indices: Any, feature_values: Any) -> None:
        with tf.name_scope(None, "SparseFeatureColumn", [example_indices, feature_indices]):
            self._example_indices = convert_to_tensor(
                example_indices, name="example_indices", dtype=tf.int64
            )
            self._feature_indices = convert_to_tensor(
                feature_indices, name="feature_indices", dtype=tf.int64
            )
        self._feature_values = None
        if feature_values is not None:
            with tf.name_scope(None, "SparseFeatureColumn", [feature_values]):
                self._feature_values = convert_to_tensor(
                    feature_values, name="feature_values", dtype=tf.float32
                )

    @property
    def example_indices(self) -> Any:
        """The example of each feature, int64 [n]."""
        return self._example_indices

    @property
    def feature_indices(self) -> Any:
        """The number of each feature, int64 [n]."""
        return self._feature_indices

    @property
    def feature_values(self) -> Any:
        """The value of each feature, float32 [n], or None."""
        return self._feature_values


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
