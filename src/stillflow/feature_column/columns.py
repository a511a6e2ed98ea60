"""Bases of the columns of this package, which serve layers of both generations.

A column defines its behaviour once, in the form of the present interface. The older one is the same
with another state manager: `ScopeState`, which makes variables in the current variable scope.
"""

from __future__ import annotations

from typing import Any

from stillflow.feature_column import base
from stillflow.feature_column.state import ScopeState
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.io.parsing.features import VarLenFeature


class OfFeature:
    """Part of a column that reads one sparse feature of any length."""

    key: str
    dtype: Any

    @property
    def name(self) -> str:
        """The feature's key."""
        return self.key

    @property
    def parents(self) -> list[Any]:
        """The feature's key."""
        return [self.key]

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """A feature of any length."""
        return {self.key: VarLenFeature(self.dtype)}


class Column(base.FeatureColumn, base._FeatureColumn):
    """A feature column in both interfaces."""

    @property
    def _is_v2_column(self) -> bool:
        return all(getattr(each, "_is_v2_column", isinstance(each, str)) for each in self.parents)

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        return self.parse_example_spec

    def _transform_feature(self, inputs: Any) -> Any:
        return self.transform_feature(inputs, ScopeState())

    def _get_config(self) -> dict[str, Any]:
        from stillflow.feature_column.serialization import config_of

        return config_of(self)

    @classmethod
    def _from_config(
        cls, config: dict[str, Any], custom_objects: Any = None, columns_by_name: Any = None
    ) -> Column:
        from stillflow.feature_column.serialization import fields_of

        return cls(**fields_of(cls, config, custom_objects, columns_by_name))


class Dense(Column, base.DenseColumn, base._DenseColumn):
    """A dense column in both interfaces."""

    @property
    def _variable_shape(self) -> TensorShape:
        return self.variable_shape

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Tensor:
        return self.get_dense_tensor(inputs, ScopeState(weight_collections, trainable))


class Categorical(Column, base.CategoricalColumn, base._CategoricalColumn):
    """A categorical column in both interfaces."""

    @property
    def _num_buckets(self) -> int:
        return self.num_buckets

    def _get_sparse_tensors(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        return self.get_sparse_tensors(inputs, ScopeState(weight_collections, trainable))


class SequenceDense(Column, base.SequenceDenseColumn, base._SequenceDenseColumn):
    """A column of dense steps in both interfaces."""

    _variable_shape = Dense._variable_shape

    def _get_sequence_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        return self.get_sequence_dense_tensor(inputs, ScopeState(weight_collections, trainable))


def parse_spec_of(column: Any) -> dict[str, Any]:
    """Return the features that a column of either generation parses."""
    if isinstance(column, base.FeatureColumn):
        return column.parse_example_spec
    return column._parse_example_spec


class OfIds:
    """Mixin of columns that show the ids of a categorical column."""

    @property
    def parents(self: Any) -> list[Any]:
        """The ids' column."""
        return [self.categorical_column]

    @property
    def parse_example_spec(self: Any) -> dict[str, Any]:
        """The spec of the ids' column."""
        return parse_spec_of(self.categorical_column)


def num_buckets_of(column: Any) -> int:
    """Return the number of ids of a categorical column of either generation."""
    if isinstance(column, base.CategoricalColumn):
        return column.num_buckets
    return column._num_buckets


def sparse_tensors_of(column: Any, cache: Any, state: Any) -> Any:
    """Return the ids and weights of a categorical column, through the interface of its layer."""
    if isinstance(state, ScopeState):
        return column._get_sparse_tensors(cache, state.weight_collections, state.trainable)
    return column.get_sparse_tensors(cache, state)
