"""Base classes of `tf.contrib.layers`' feature columns.

The layers of this package ask columns for the tensors that they make of a dict of features, which
grows with every column that is transformed. Columns serve `tf.feature_column`'s older layers as
well: they have that interface too.

The names of classes begin as TensorFlow's do: they are part of the keys that sort columns.
"""

from __future__ import annotations

import abc
from collections import namedtuple
from typing import Any

_LinearEmbeddingLookupArguments = namedtuple(
    "_LinearEmbeddingLookupArguments",
    ("input_tensor", "weight_tensor", "vocab_size", "initializer", "combiner"),
)
_DeepEmbeddingLookupArguments = namedtuple(
    "_DeepEmbeddingLookupArguments",
    (
        "input_tensor", "weight_tensor", "vocab_size", "initializer", "combiner", "dimension",
        "shared_embedding_name", "hash_key", "max_norm", "trainable",
    ),
)  # fmt: skip


class _FeatureColumn(abc.ABC):
    """A column that makes tensors of features or of other columns."""

    # Fields that are no part of the key: functions print as addresses, which differ every time.
    _not_in_key: tuple[str, ...] = ()

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name, which is that of the scope of the column's variables."""

    @property
    @abc.abstractmethod
    def config(self) -> dict[str, Any]:
        """The features to parse from examples, as `tf.parse_example` takes them."""

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        return self.config

    @property
    def key(self) -> str:
        """The sort key of columns: the class and its fields."""
        if not self._not_in_key:
            return str(self)
        fields: Any = self._asdict()  # type: ignore[attr-defined]
        told = [f"{name}={fields[name]}" for name in fields if name not in self._not_in_key]
        return f"{type(self).__name__}({', '.join(told)})"

    @abc.abstractmethod
    def _transform_feature(self, inputs: Any) -> Any:
        """Return the column's tensors, from `inputs.get` for features and columns."""

    def insert_transformed_feature(self, columns_to_tensors: dict[Any, Any]) -> None:
        """Add the column's tensors to those of features and columns.

        Raises:
          KeyError: if a feature is missing.
        """
        columns_to_tensors[self] = self._transform_feature(Transformed(columns_to_tensors))

    def _to_dnn_input_layer(
        self,
        input_tensor: Any,
        weight_collections: Any = None,
        trainable: bool = True,
        output_rank: int = 2,
    ) -> Any:
        """Return a dense tensor of the transformed one, for columns that have no embedding."""
        raise ValueError("Calling an abstract method.")

    def _deep_embedding_lookup_arguments(self, input_tensor: Any) -> Any:
        """Return the arguments of embedding lookups for a deep model."""
        raise NotImplementedError(f"No deep embedding lookup arguments for column {self}.")

    def _wide_embedding_lookup_arguments(self, input_tensor: Any) -> Any:
        """Return the arguments of weight lookups for a linear model."""
        raise NotImplementedError(f"No wide embedding lookup arguments for column {self}.")

    def _to_dense_tensor(self, input_tensor: Any) -> Any:
        """Return the factor of the weights in a linear model, for columns without a lookup."""
        raise NotImplementedError(f"No dense tensor representation for column {self}.")

    def _checkpoint_path(self) -> tuple[Any, Any] | None:
        """Return the checkpoint that weights start from and their name in it, or None."""
        return None


class Transformed:
    """The tensors of features and columns, which columns are added to when they are asked for."""

    def __init__(self, columns_to_tensors: dict[Any, Any]) -> None:
        self._tensors = columns_to_tensors

    def get(self, key: Any) -> Any:
        """Return the tensor of a feature, or the transformed one of a column."""
        if key not in self._tensors:
            if isinstance(key, str):
                raise KeyError(key)
            if not isinstance(key, _FeatureColumn):
                raise TypeError(
                    f'"key" must be either a "str" or "_FeatureColumn". Provided: {key}'
                )
            key.insert_transformed_feature(self._tensors)
        return self._tensors[key]


def config_of(column: Any) -> dict[str, Any]:
    """Return the features that a column parses; TypeError if it is none of this package."""
    if not isinstance(column, _FeatureColumn):
        raise TypeError(
            "feature_columns should only contain instances of _FeatureColumn. "
            f"Given column is {column}"
        )
    return column.config
