"""Columns of trained vectors of ids."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Sequence
from typing import Any

import stillflow as tf
from stillflow.feature_column.base import _DenseColumn
from stillflow.feature_column.checks import check_checkpoint
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.platform import tf_logging as logging
from stillflow_contrib.layers.feature_columns.base import (
    _DeepEmbeddingLookupArguments,
    _FeatureColumn,
    config_of,
)
from stillflow_contrib.layers.feature_columns.sparse import _SparseColumn
from stillflow_contrib.layers.feature_columns.vectors import embed
from stillflow_contrib.layers.feature_columns.weighted import _WeightedSparseColumn


class _Vectors(_FeatureColumn, _DenseColumn):
    """Base of columns of vectors."""

    dimension: int
    _not_in_key = ("initializer",)

    @property
    def _variable_shape(self) -> TensorShape:
        return tf.TensorShape([self.dimension])

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Tensor:
        arguments = self._deep_embedding_lookup_arguments(inputs.get(self))
        return embed(self, arguments, weight_collections, trainable)


def _lookup(column: Any, **given: Any) -> _DeepEmbeddingLookupArguments:
    """Return the arguments of a lookup: those given, the others are fields of the column."""
    fields = _DeepEmbeddingLookupArguments._fields
    return _DeepEmbeddingLookupArguments(
        **{field: given[field] if field in given else getattr(column, field) for field in fields}
    )


class _EmbeddingColumn(
    _Vectors,
    namedtuple(
        "_EmbeddingColumn",
        (
            "sparse_id_column", "dimension", "combiner", "initializer", "ckpt_to_load_from",
            "tensor_name_in_ckpt", "shared_embedding_name", "shared_vocab_size", "max_norm",
            "trainable",
        ),
    ),
):  # fmt: skip
    """A vector for each example: those of its ids combined."""

    def __new__(
        cls,
        sparse_id_column: Any,
        dimension: int,
        combiner: str = "mean",
        initializer: Any = None,
        ckpt_to_load_from: str | None = None,
        tensor_name_in_ckpt: str | None = None,
        shared_embedding_name: str | None = None,
        shared_vocab_size: int | None = None,
        max_norm: float | None = None,
        trainable: bool = True,
    ) -> Any:
        """Check the arguments, and make an initializer."""
        if initializer is not None and not callable(initializer):
            raise ValueError(
                "initializer must be callable if specified. Embedding of column_name: "
                f"{sparse_id_column.name}"
            )
        check_checkpoint(ckpt_to_load_from, tensor_name_in_ckpt)
        if initializer is None:
            logging.warn(
                'The default stddev value of initializer was changed from "1/sqrt(vocab_size)" to '
                '"1/sqrt(dimension)" in core implementation (tf.feature_column.embedding_column).'
            )
            deviation = 1 / math.sqrt(sparse_id_column.length)
            initializer = tf.truncated_normal_initializer(mean=0.0, stddev=deviation)
        return super().__new__(
            cls, sparse_id_column, dimension, combiner, initializer, ckpt_to_load_from,
            tensor_name_in_ckpt, shared_embedding_name, shared_vocab_size, max_norm, trainable,
        )  # fmt: skip

    @property
    def name(self) -> str:
        """The column's with an ending."""
        ending = "embedding" if self.shared_embedding_name is None else "shared_embedding"
        return f"{self.sparse_id_column.name}_{ending}"

    @property
    def length(self) -> int:
        """The number of vectors."""
        if self.shared_vocab_size is None:
            return self.sparse_id_column.length
        return self.shared_vocab_size

    @property
    def config(self) -> dict[str, Any]:
        """The features that the column parses."""
        return config_of(self.sparse_id_column)

    def _transform_feature(self, inputs: Any) -> Any:
        return inputs.get(self.sparse_id_column)

    def _deep_embedding_lookup_arguments(self, input_tensor: Any) -> Any:
        ids = self.sparse_id_column.id_tensor(input_tensor)
        weights = self.sparse_id_column.weight_tensor(input_tensor)
        return _lookup(
            self, input_tensor=ids, weight_tensor=weights, vocab_size=self.length, hash_key=None
        )

    def _checkpoint_path(self) -> tuple[Any, Any] | None:
        if self.ckpt_to_load_from is None:
            return None
        return self.ckpt_to_load_from, self.tensor_name_in_ckpt

    def _wide_embedding_lookup_arguments(self, input_tensor: Any) -> Any:
        raise ValueError(
            f"Column {self} is not supported in linear models. Please use sparse_column."
        )


@export("contrib.layers.embedding_column")
def embedding_column(
    sparse_id_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> _EmbeddingColumn:
    """Return a dense column of trained vectors, one for each id of a column.

    Args:
      sparse_id_column: the ids, of `sparse_column_with_*`, `crossed_column` and the like.
      dimension: of the vectors.
      combiner: how the vectors of an example's ids are combined: "mean", "sum", "sqrtn".
      initializer: of the vectors; normal with deviation 1/sqrt(ids) by default.
      ckpt_to_load_from, tensor_name_in_ckpt: a checkpoint that has the vectors, and their name.
      max_norm: longer vectors are cut down to this length.
      trainable: whether the vectors are trained.

    Raises:
      ValueError: for another initializer, or half of a checkpoint and name.
    """
    return _EmbeddingColumn(
        sparse_id_column, dimension, combiner, initializer, ckpt_to_load_from,
        tensor_name_in_ckpt, max_norm=max_norm, trainable=trainable,
    )  # fmt: skip


@export("contrib.layers.shared_embedding_columns")
def shared_embedding_columns(
    sparse_id_columns: Any,
    dimension: int,
    combiner: str = "mean",
    shared_embedding_name: str | None = None,
    initializer: Any = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> Any:
    """Dense columns of trained vectors that several columns of ids share.

    Args:
      sparse_id_columns: a list of columns with the same ids.
      shared_embedding_name: the variable's name; made of the columns' names by default.
      dimension, combiner, ...: as of `embedding_column`.

    Returns:
      A column for each one given.

    Raises:
      TypeError: for other columns, or what is no list of them.
      ValueError: if there are none, or their ids differ.
    """
    _check_shared(sparse_id_columns)
    vocab_size = None
    if len(sparse_id_columns) > 1:
        vocab_size = sparse_id_columns[0].length
        shared_embedding_name = shared_embedding_name or _shared_name(sparse_id_columns)
    columns = [
        _EmbeddingColumn(
            column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt,
            shared_embedding_name, vocab_size, max_norm, trainable,
        )
        for column in sparse_id_columns
    ]  # fmt: skip
    return columns if vocab_size is None else tuple(columns)


def _check_shared(columns: Any) -> None:
    if not isinstance(columns, Sequence) or isinstance(columns, str):
        raise TypeError(
            "sparse_id_columns must be a non-string sequence (ex: list or tuple) instead of type "
            f"{type(columns)}."
        )
    if len(columns) < 1:
        raise ValueError("The input sparse_id_columns should have at least one element.")
    for column in columns:
        if not isinstance(column, (_SparseColumn, _WeightedSparseColumn)):
            raise TypeError(
                "Elements of sparse_id_columns must be _SparseColumn or _WeightedSparseColumn, "
                f"but {column} is not."
            )
    first = columns[0]
    for column in columns[1:]:
        weighted = isinstance(first, _WeightedSparseColumn)
        if not (first.is_compatible(column) if weighted else column.is_compatible(first)):
            raise ValueError("The input sparse id columns are not compatible.")


def _shared_name(columns: Any) -> str:
    """Return the first three columns' names; those without weights come first."""
    plain = sorted(column for column in columns if isinstance(column, _SparseColumn))
    weighted = [column for column in columns if not isinstance(column, _SparseColumn)]
    names = [column.name for column in [*plain, *sorted(weighted, key=lambda each: each.name)]]
    more = f"_plus_{len(names) - 3}_others" if len(names) > 3 else ""
    return f"{'_'.join(names[:3])}{more}_shared_embedding"


class _ScatteredEmbeddingColumn(
    _Vectors,
    namedtuple(
        "_ScatteredEmbeddingColumn",
        ("column_name", "size", "dimension", "hash_key", "combiner", "initializer"),
    ),
):
    """A vector for each example, whose numbers are picked from a pool by hashes."""

    def __new__(
        cls,
        column_name: str,
        size: int,
        dimension: int,
        hash_key: int | None,
        combiner: str = "sqrtn",
        initializer: Any = None,
    ) -> Any:
        """Check the initializer, or make one."""
        if initializer is not None and not callable(initializer):
            raise ValueError(
                f"initializer must be callable if specified. column_name: {column_name}"
            )
        if initializer is None:
            initializer = tf.truncated_normal_initializer(mean=0.0, stddev=0.1)
        return super().__new__(cls, column_name, size, dimension, hash_key, combiner, initializer)

    @property
    def name(self) -> str:
        """The feature's with an ending."""
        return f"{self.column_name}_scattered_embedding"

    @property
    def config(self) -> dict[str, Any]:
        """Any number of strings."""
        return {self.column_name: tf.VarLenFeature(tf.string)}

    def _transform_feature(self, inputs: Any) -> Any:
        return inputs.get(self.column_name)

    def _deep_embedding_lookup_arguments(self, input_tensor: Any) -> Any:
        fixed = {"shared_embedding_name": None, "max_norm": None, "trainable": True}
        return _lookup(
            self, input_tensor=input_tensor, weight_tensor=None, vocab_size=self.size, **fixed
        )


@export("contrib.layers.scattered_embedding_column")
def scattered_embedding_column(
    column_name: str,
    size: int,
    dimension: int,
    hash_key: int,
    combiner: str = "mean",
    initializer: Any = None,
) -> _ScatteredEmbeddingColumn:
    """Return a dense column of vectors whose numbers all come from one pool of trained numbers.

    Args:
      column_name: the name of a feature of strings.
      size: how many numbers are trained.
      dimension: of the vectors.
      hash_key: the key of the hashes.
      combiner: how the vectors of an example's features are combined: "mean", "sum", "sqrtn".
      initializer: of the numbers; normal with deviation 0.1 by default.

    Raises:
      ValueError: for other sizes, combiners or initializers.
    """
    if dimension < 1 or size < 1:
        raise ValueError(
            f"Dimension and size must be greater than 0. dimension: {dimension}, size: {size}, "
            f"column_name: {column_name}"
        )
    if combiner not in ("mean", "sqrtn", "sum"):
        raise ValueError(
            f"Combiner must be one of 'mean', 'sqrtn' or 'sum'. combiner: {combiner}, "
            f"column_name: {column_name}"
        )
    return _ScatteredEmbeddingColumn(column_name, size, dimension, hash_key, combiner, initializer)
