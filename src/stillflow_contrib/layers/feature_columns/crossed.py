"""Columns of combinations of features."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import stillflow as tf
from stillflow.feature_column.base import IdWeightPair, _CategoricalColumn
from stillflow.feature_column.checks import check_checkpoint
from stillflow.graph.export import export
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow_contrib.layers.feature_columns.base import (
    _FeatureColumn,
    _LinearEmbeddingLookupArguments,
    config_of,
)
from stillflow_contrib.layers.feature_columns.bucketized import _BucketizedColumn
from stillflow_contrib.layers.feature_columns.sparse import _SparseColumn
from stillflow_contrib.ops.feature_crossing import sparse_feature_cross


class _CrossedColumn(
    _FeatureColumn,
    _CategoricalColumn,
    namedtuple(
        "_CrossedColumn",
        (
            "columns", "hash_bucket_size", "hash_key", "combiner", "ckpt_to_load_from",
            "tensor_name_in_ckpt",
        ),
    ),
):  # fmt: skip
    """Hashes of every combination of one value of each column."""

    def __new__(
        cls,
        columns: Any,
        hash_bucket_size: int,
        hash_key: int | None,
        combiner: str = "sum",
        ckpt_to_load_from: str | None = None,
        tensor_name_in_ckpt: str | None = None,
    ) -> Any:
        """Check the arguments, and sorts the columns."""
        for column in columns:
            if not isinstance(column, (_SparseColumn, _CrossedColumn, _BucketizedColumn)):
                raise TypeError(
                    "columns must be a set of _SparseColumn, _CrossedColumn, or _BucketizedColumn "
                    f"instances. (column {column} is a {type(column).__name__})"
                )
        if len(columns) < 2:
            raise ValueError(f"columns must contain at least 2 elements. columns: {columns}")
        if hash_bucket_size < 2:
            raise ValueError(
                f"hash_bucket_size must be at least 2. hash_bucket_size: {hash_bucket_size}"
            )
        check_checkpoint(ckpt_to_load_from, tensor_name_in_ckpt)
        columns = tuple(sorted(columns, key=lambda column: column.name))
        return super().__new__(
            cls, columns, hash_bucket_size, hash_key, combiner, ckpt_to_load_from,
            tensor_name_in_ckpt,
        )  # fmt: skip

    @property
    def name(self) -> str:
        """The columns' sorted names."""
        return "_X_".join(sorted(column.name for column in self.columns))

    @property
    def config(self) -> dict[str, Any]:
        """The features that the columns parse."""
        features: dict[str, Any] = {}
        for column in self.columns:
            features |= config_of(column)
        return features

    @property
    def length(self) -> int:
        """The number of ids."""
        return self.hash_bucket_size

    def id_tensor(self, input_tensor: Any) -> Any:
        """Return the ids of the transformed columns."""
        return input_tensor

    def weight_tensor(self, input_tensor: Any) -> None:
        """Return the weights of the transformed columns: none."""
        return

    def _to_dnn_input_layer(self, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(
            f"CrossedColumn is not supported in DNN. Please use embedding_column. column: {self}"
        )

    def _checkpoint_path(self) -> tuple[Any, Any] | None:
        if self.ckpt_to_load_from is None:
            return None
        return self.ckpt_to_load_from, self.tensor_name_in_ckpt

    def _wide_embedding_lookup_arguments(self, input_tensor: Any) -> Any:
        return _LinearEmbeddingLookupArguments(
            input_tensor, None, self.length, tf.zeros_initializer(), self.combiner
        )

    def _leaves(self) -> Iterator[Any]:
        """Yield the columns that crosses of crosses combine."""
        for column in self.columns:
            if isinstance(column, _CrossedColumn):
                yield from column._leaves()
            else:
                yield column

    def _transform_feature(self, inputs: Any) -> SparseTensor:
        return sparse_feature_cross(
            [_crossable(column, inputs) for column in self._leaves()],
            hashed_output=True,
            num_buckets=self.hash_bucket_size,
            hash_key=self.hash_key,
            name="cross",
        )

    @property
    def _num_buckets(self) -> int:
        return self.length

    def _get_sparse_tensors(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        return IdWeightPair(inputs.get(self), None)


def _crossable(column: Any, inputs: Any) -> SparseTensor:
    """Return the ranges of numbers, or a feature as it is."""
    if isinstance(column, _BucketizedColumn):
        return column.to_sparse_tensor(inputs.get(column))
    try:
        return inputs.get(column.name)
    except KeyError:
        raise ValueError(f"features dictionary doesn't contain key ({column.name})") from None


@export("contrib.layers.crossed_column")
def crossed_column(
    columns: Any,
    hash_bucket_size: int,
    combiner: str = "sum",
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    hash_key: int | None = None,
) -> _CrossedColumn:
    """Return a column of the combinations of other columns' values.

    Args:
      columns: two or more of `sparse_column_with_*`, `bucketized_column`, `crossed_column`.
      hash_bucket_size: the number of ids.
      combiner: how a linear model combines the weights of an example: "sum", "mean" or "sqrtn".
      ckpt_to_load_from, tensor_name_in_ckpt: a checkpoint that has the weights, and their name.
      hash_key: the key of the hashes; by default they are of an older and weaker kind.

    Raises:
      TypeError: for other columns.
      ValueError: for too few of them or ids, or half of a checkpoint and name.
    """
    return _CrossedColumn(
        columns, hash_bucket_size, hash_key, combiner, ckpt_to_load_from, tensor_name_in_ckpt
    )
