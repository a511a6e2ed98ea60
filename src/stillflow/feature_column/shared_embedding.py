"""Embedding columns that share their vectors."""

from __future__ import annotations

import weakref
from collections import namedtuple
from collections.abc import Callable
from typing import Any, NoReturn

import stillflow as tf
from stillflow.feature_column import base
from stillflow.feature_column.columns import (
    OfIds,
    num_buckets_of,
    parse_spec_of,
    sparse_tensors_of,
)
from stillflow.feature_column.lookups import (
    check_embedding,
    look_up,
    refuse_no_sequence,
    refuse_sequence,
    restore,
    with_lengths,
)
from stillflow.feature_column.sequence import SequenceCategoricalColumn
from stillflow.feature_column.state import ScopeState
from stillflow.feature_column.weighted import WeightedCategoricalColumn
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.train.tracking.base import AutoTrackable


def _combined(column: Any, cache: Any, state: Any, weights: Callable[[], Any]) -> Tensor:
    """Return the vectors of a column, in a name scope of its own."""
    with tf.name_scope(None, default_name=column.name):
        pair = sparse_tensors_of(column.categorical_column, cache, state)
        return look_up(column, pair, weights())


def _dense(column: Any, cache: Any, state: Any, weights: Callable[[], Any]) -> Tensor:
    if isinstance(column.categorical_column, SequenceCategoricalColumn):
        refuse_sequence(column, "embedding_column", isinstance(state, ScopeState))
    return _combined(column, cache, state, weights)


def _sequence(column: Any, cache: Any, state: Any, weights: Callable[[], Any]) -> Any:
    categorical = column.categorical_column
    if not isinstance(categorical, SequenceCategoricalColumn):
        refuse_no_sequence(column, "embedding_column", isinstance(state, ScopeState))
    dense = _combined(column, cache, state, weights)
    return with_lengths(dense, categorical.get_sparse_tensors(cache, state))


class _SharedEmbeddingColumn(
    base._DenseColumn,
    base._SequenceDenseColumn,
    namedtuple(
        "_SharedEmbeddingColumn",
        (
            "categorical_column", "dimension", "combiner", "initializer",
            "shared_embedding_collection_name", "ckpt_to_load_from", "tensor_name_in_ckpt",
            "max_norm", "trainable",
        ),
    ),
):  # fmt: skip
    """A column whose vectors are the only variable of a collection."""

    @property
    def name(self) -> str:
        """The name of the ids' column with an ending."""
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def _var_scope_name(self) -> str:
        return self.shared_embedding_collection_name

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        return parse_spec_of(self.categorical_column)

    @property
    def _variable_shape(self) -> TensorShape:
        return tf.TensorShape([self.dimension])

    def _transform_feature(self, inputs: Any) -> Any:
        return inputs.get(self.categorical_column)

    def _weights(self, state: ScopeState) -> Any:
        shape = (num_buckets_of(self.categorical_column), self.dimension)
        name = self.shared_embedding_collection_name
        shared = tf.get_collection(name)
        if shared:
            weights = shared[0]
            _check_shared(name, shared, shape)
        else:
            weights = state.create_variable(
                self, "embedding_weights", shape, tf.float32, self.trainable,
                initializer=self.initializer,
            )  # fmt: skip
            tf.add_to_collection(name, weights)
        restore(weights, self.ckpt_to_load_from, self.tensor_name_in_ckpt)
        return weights

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Tensor:
        state = ScopeState(weight_collections, trainable)
        return _dense(self, inputs, state, lambda: self._weights(state))

    def _get_sequence_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        state = ScopeState(weight_collections, trainable)
        return _sequence(self, inputs, state, lambda: self._weights(state))


_SUGGESTIONS = (
    "Suggested fix A: Choose a unique name for this collection. Suggested fix B: Do not add any "
    "variables to this collection. The feature_column library already adds a variable under the "
    "hood."
)


def _check_shared(name: str, shared: list[Any], shape: tuple[int, int]) -> None:
    if len(shared) > 1:
        raise ValueError(f"Collection {shared} can only contain one variable. {_SUGGESTIONS}")
    found = shared[0].get_shape()
    if found != shape:
        raise ValueError(
            f"Shared embedding collection {name} contains variable {shared[0].name} of unexpected "
            f"shape {found}. Expected shape is {shape}. {_SUGGESTIONS}"
        )


class SharedEmbeddingColumnCreator(AutoTrackable):
    """Creator of columns with shared vectors, kept for each graph."""

    def __init__(
        self,
        dimension: int,
        initializer: Any,
        ckpt_to_load_from: str | None,
        tensor_name_in_ckpt: str | None,
        num_buckets: int,
        trainable: bool,
        name: str = "shared_embedding_column_creator",
    ) -> None:
        self._dimension, self._num_buckets = dimension, num_buckets
        self._initializer, self._trainable = initializer, trainable
        self._restored = ckpt_to_load_from, tensor_name_in_ckpt
        self._name = name
        self._made: Any = weakref.WeakKeyDictionary()

    def __call__(
        self, categorical_column: Any, combiner: str, max_norm: float | None
    ) -> SharedEmbeddingColumn:
        """Return a column of these vectors."""
        return SharedEmbeddingColumn(categorical_column, self, combiner, max_norm)

    @property
    def embedding_weights(self) -> Any:
        """The vectors in the current graph."""
        graph = tf.get_default_graph()
        if graph not in self._made:
            self._made[graph] = tf.get_variable(
                self._name, (self._num_buckets, self._dimension), tf.float32, self._initializer,
                trainable=self._trainable,
            )  # fmt: skip
            restore(self._made[graph], *self._restored)
        return self._made[graph]

    @property
    def dimension(self) -> int:
        """The dimension of the vectors."""
        return self._dimension


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise ValueError(
        "SharedEmbeddingColumns are not supported in `linear_model` or `input_layer`. Please use "
        "`DenseFeatures` or `LinearModel` instead."
    )


class SharedEmbeddingColumn(
    OfIds,
    base.DenseColumn,
    base.SequenceDenseColumn,
    base._DenseColumn,
    base._SequenceDenseColumn,
    namedtuple(
        "SharedEmbeddingColumn",
        ("categorical_column", "shared_embedding_column_creator", "combiner", "max_norm"),
    ),
):
    """A column whose vectors are those of its creator."""

    _get_dense_tensor = _get_sequence_dense_tensor = _transform_feature = _refuse
    _parse_example_spec = _variable_shape = property(_refuse)

    @property
    def _is_v2_column(self) -> bool:
        return True

    @property
    def name(self) -> str:
        """The name of the ids' column with an ending."""
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def variable_shape(self) -> TensorShape:
        """The vector's."""
        return tf.TensorShape([self.shared_embedding_column_creator.dimension])

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the transformed ids."""
        return transformation_cache.get(self.categorical_column, state_manager)

    def _weights(self) -> Any:
        return self.shared_embedding_column_creator.embedding_weights

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Tensor:
        """Return the vectors [batch, dimension]."""
        return _dense(self, transformation_cache, state_manager, self._weights)

    def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the vectors [batch, steps, dimension], and the lengths."""
        return _sequence(self, transformation_cache, state_manager, self._weights)

    def _get_config(self) -> dict[str, Any]:
        raise NotImplementedError

    @classmethod
    def _from_config(
        cls, config: dict[str, Any], custom_objects: Any = None, columns_by_name: Any = None
    ) -> Any:
        raise NotImplementedError


def _check_alike(columns: list[Any], kind: type) -> int:
    """Raise an error for columns of ids of different kinds; return the number of ids."""

    def ids_of(column: Any) -> Any:
        weighted = isinstance(column, WeightedCategoricalColumn)
        return column.categorical_column if weighted else column

    count = num_buckets_of(columns[0])
    if not isinstance(columns[0], kind):
        raise ValueError(
            f"All categorical_columns must be subclasses of {kind.__name__}. "
            f"Given: {columns[0]}, of type: {type(columns[0])}"
        )
    first = ids_of(columns[0])
    for column in map(ids_of, columns[1:]):
        if not isinstance(column, type(first)):
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same type, "
                f"or be weighted_categorical_column of the same type. Given column: {first} of "
                f"type: {type(first)} does not match given column: {column} of type: "
                f"{type(column)}"
            )
        if count != num_buckets_of(column):
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same number "
                f"of buckets. Given column: {first} with buckets: {count} does  not match column: "
                f"{column} with buckets: {num_buckets_of(column)}"
            )
    return count


def _checked(columns: Any, kind: type, name: str | None) -> tuple[str, int]:
    """Return the name of columns' vectors, and how many there are."""
    if tf.executing_eagerly():
        raise RuntimeError(
            "shared_embedding_columns are not supported when eager execution is enabled."
        )
    ordered = sorted(columns, key=lambda column: column.name)
    count = _check_alike(ordered, kind)
    return name or "_".join(column.name for column in ordered) + "_shared_embedding", count


@export("feature_column.shared_embedding_columns")
def shared_embedding_columns(
    categorical_columns: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> list[_SharedEmbeddingColumn]:
    """Dense columns of trained vectors, which several categorical columns share.

    Args:
      categorical_columns: columns of ids, all of the same kind and number of ids.
      shared_embedding_collection_name: the collection of the vectors; made from names by default.
      dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm,
        trainable: see `tf.feature_column.embedding_column`.

    Returns:
      A column for each categorical column.

    Raises:
      ValueError: for other columns, another dimension or initializer.
    """
    initializer = check_embedding(dimension, ckpt_to_load_from, tensor_name_in_ckpt, initializer)
    name, _ = _checked(
        categorical_columns, base._CategoricalColumn, shared_embedding_collection_name
    )
    return [
        _SharedEmbeddingColumn(
            column, dimension, combiner, initializer, name, ckpt_to_load_from,
            tensor_name_in_ckpt, max_norm, trainable,
        )
        for column in categorical_columns
    ]  # fmt: skip


@export("compat.v2.feature_column.shared_embeddings")
def shared_embedding_columns_v2(
    categorical_columns: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> list[SharedEmbeddingColumn]:
    """Columns that share vectors; see `tf.feature_column.shared_embedding_columns`."""
    initializer = check_embedding(dimension, ckpt_to_load_from, tensor_name_in_ckpt, initializer)
    name, count = _checked(
        categorical_columns, base.CategoricalColumn, shared_embedding_collection_name
    )
    creator = SharedEmbeddingColumnCreator(
        dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt, count, trainable, name
    )
    return [creator(column, combiner, max_norm) for column in categorical_columns]
