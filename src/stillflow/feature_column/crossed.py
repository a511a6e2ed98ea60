"""Columns of combinations of features."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import stillflow as tf
from stillflow.feature_column.base import CategoricalColumn, IdWeightPair, _CategoricalColumn
from stillflow.feature_column.categorical import HashedCategoricalColumn
from stillflow.feature_column.columns import Categorical, parse_spec_of, sparse_tensors_of
from stillflow.graph.export import export
from stillflow.graph.sparse_tensor import SparseTensor

_CATEGORICAL = (CategoricalColumn, _CategoricalColumn)


class CrossedColumn(
    Categorical, namedtuple("CrossedColumn", ("keys", "hash_bucket_size", "hash_key"))
):
    """Ids are hashes of every combination of one value of each feature or column."""

    @property
    def name(self) -> str:
        """The sorted names of the combined features."""
        names = [key if isinstance(key, str) else key.name for key in _leaves(self)]
        return "_X_".join(sorted(names))

    @property
    def parents(self) -> list[Any]:
        """The combined features."""
        return list(self.keys)

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """Those of the columns, and strings for features."""
        spec: dict[str, Any] = {}
        for key in self.keys:
            is_feature = isinstance(key, str)
            spec |= {key: tf.io.VarLenFeature(tf.string)} if is_feature else parse_spec_of(key)
        return spec

    @property
    def num_buckets(self) -> int:
        """The number of hashes."""
        return self.hash_bucket_size

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> SparseTensor:
        """Return the hashes as a SparseTensor."""
        crossed = [_crossable(key, transformation_cache, state_manager) for key in _leaves(self)]
        return tf.sparse.cross_hashed(crossed, self.hash_bucket_size, self.hash_key)

    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the hashes, without weights."""
        return IdWeightPair(transformation_cache.get(self, state_manager), None)


def _leaves(cross: CrossedColumn) -> Iterator[Any]:
    """Yield the features and columns that crosses of crosses combine."""
    for key in cross.keys:
        if isinstance(key, CrossedColumn):
            yield from _leaves(key)
        else:
            yield key


def _crossable(key: Any, cache: Any, state: Any) -> Any:
    """Return the values of a feature, or the ids of a column."""
    if isinstance(key, str):
        return cache.get(key, state)
    if not isinstance(key, _CATEGORICAL):
        raise ValueError(f"Unsupported column type. Given: {key}")
    pair = sparse_tensors_of(key, cache, state)
    if pair.weight_tensor is not None:
        raise ValueError(
            "crossed_column does not support weight_tensor, but the given column populates "
            f"weight_tensor. Given column: {key.name}"
        )
    return pair.id_tensor


@export("feature_column.crossed_column")
def crossed_column(keys: Any, hash_bucket_size: int, hash_key: int | None = None) -> CrossedColumn:
    """Return a column of the combinations of features.

    Args:
      keys: two or more keys of features, or categorical columns that do not hash.
      hash_bucket_size: the number of ids.
      hash_key: the key of the hashes.

    Raises:
      ValueError: for another size, too few keys, or other columns.
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, (str, *_CATEGORICAL)):
            raise ValueError(
                "Unsupported key type. All keys must be either string, or categorical column "
                f"except HashedCategoricalColumn. Given: {key}"
            )
        if isinstance(key, HashedCategoricalColumn):
            raise ValueError(
                "categorical_column_with_hash_bucket is not supported for crossing. Hashing before "
                "crossing will increase probability of collision. Instead, use the feature name "
                f"as a string. Given: {key}"
            )
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)
