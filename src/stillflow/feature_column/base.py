"""Interfaces of feature columns for layers and models.

There are two generations of them. A column of the present one takes a cache of transformed
features and a state manager, which keeps its variables. One of the older generation, whose names
start with an underscore, takes a cache alone and makes its variables in the current variable
scope. Columns of this package offer both: see `columns`.
"""

from __future__ import annotations

import abc
from collections import namedtuple
from typing import Any

# The ids of a categorical column as SparseTensors, and their weights or None.
IdWeightPair = namedtuple("IdWeightPair", ("id_tensor", "weight_tensor"))
# A tensor [batch, steps, ...] and how many steps each of its rows has.
TensorSequenceLengthPair = namedtuple(
    "TensorSequenceLengthPair", ("dense_tensor", "sequence_length")
)


class _Ordered:
    """Columns are sorted by their text."""

    def __lt__(self, other: Any) -> bool:
        return str(self) < str(other)

    def __gt__(self, other: Any) -> bool:
        return str(self) > str(other)


class FeatureColumn(_Ordered, abc.ABC):
    """A column that makes tensors of raw features or of other columns."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name, which is unique among the columns of a layer."""

    @property
    @abc.abstractmethod
    def parse_example_spec(self) -> dict[str, Any]:
        """The features to parse from examples, as `tf.io.parse_example` takes them."""

    @property
    @abc.abstractmethod
    def parents(self) -> list[Any]:
        """The columns and the keys of features that the column is made from."""

    @property
    @abc.abstractmethod
    def _is_v2_column(self) -> bool:
        """True if the column and its parents have this interface."""

    @abc.abstractmethod
    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the column's tensors, from those of its parents in the cache."""

    def create_state(self, state_manager: Any) -> None:
        """Make the column's variables, if it has any."""

    @abc.abstractmethod
    def _get_config(self) -> dict[str, Any]:
        """Return the column as values that JSON has."""

    @classmethod
    def _from_config(
        cls, config: dict[str, Any], custom_objects: Any = None, columns_by_name: Any = None
    ) -> Any:
        """Return the column of a configuration."""


class DenseColumn(FeatureColumn):
    """A column whose value is a dense tensor [batch, *variable_shape]."""

    @property
    @abc.abstractmethod
    def variable_shape(self) -> Any:
        """The shape of one example."""

    @abc.abstractmethod
    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the tensor."""


class CategoricalColumn(FeatureColumn):
    """A column whose values are ids in [0, num_buckets)."""

    IdWeightPair = IdWeightPair

    @property
    @abc.abstractmethod
    def num_buckets(self) -> int:
        """The number of ids."""

    @abc.abstractmethod
    def get_sparse_tensors(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the ids and weights as an `IdWeightPair`."""


class SequenceDenseColumn(FeatureColumn):
    """A column whose value is a dense tensor for each step of a sequence."""

    TensorSequenceLengthPair = TensorSequenceLengthPair

    @abc.abstractmethod
    def get_sequence_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Return the tensor and the lengths as a `TensorSequenceLengthPair`."""


class _FeatureColumn(_Ordered, abc.ABC):
    """A column of the older generation."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name, which is unique among the columns of a layer."""

    @property
    def _var_scope_name(self) -> str:
        """The variable scope of the column's variables."""
        return self.name

    @abc.abstractmethod
    def _transform_feature(self, inputs: Any) -> Any:
        """Return the column's tensors, from those of its parents in the cache `inputs`."""

    @property
    @abc.abstractmethod
    def _parse_example_spec(self) -> dict[str, Any]:
        """The features to parse from examples."""

    def _reset_config(self) -> None:
        """Nothing; for columns that remember something between graphs."""


class _DenseColumn(_FeatureColumn):
    """A column of the older generation whose value is a dense tensor."""

    @property
    @abc.abstractmethod
    def _variable_shape(self) -> Any:
        """The shape of one example."""

    @abc.abstractmethod
    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        """Return the tensor."""


class _CategoricalColumn(_FeatureColumn):
    """A column of the older generation whose values are ids."""

    IdWeightPair = IdWeightPair

    @property
    @abc.abstractmethod
    def _num_buckets(self) -> int:
        """The number of ids."""

    @abc.abstractmethod
    def _get_sparse_tensors(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        """Return the ids and weights as an `IdWeightPair`."""


class _SequenceDenseColumn(_FeatureColumn):
    """A column of the older generation whose value is a dense tensor for each step."""

    TensorSequenceLengthPair = TensorSequenceLengthPair

    @abc.abstractmethod
    def _get_sequence_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        """Return the tensor and the lengths as a `TensorSequenceLengthPair`."""
