"""Columns of numbers."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import stillflow as tf
from stillflow.contrib.framework.experimental import experimental
from stillflow.feature_column.base import _DenseColumn
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow_contrib.layers.feature_columns.base import _FeatureColumn
from stillflow_contrib.layers.feature_columns.reshaping import with_rank


class _Numbers(_FeatureColumn):
    """Base of columns of numbers."""

    column_name: str
    normalizer: Any
    _not_in_key = ("normalizer",)

    @property
    def name(self) -> str:
        """The feature's."""
        return self.column_name

    @property
    def normalizer_fn(self) -> Any:
        """The function that numbers are put through, or None."""
        return self.normalizer

    def _normalized_input_tensor(self, tensor: Any) -> Tensor:
        return tensor if self.normalizer is None else self.normalizer(tensor)

    def _transform_feature(self, inputs: Any) -> Tensor:
        return tf.cast(self._normalized_input_tensor(inputs.get(self.name)), tf.float32)

    def _to_dense_tensor(self, input_tensor: Any) -> Tensor:
        return input_tensor

    def _to_dnn_input_layer(
        self,
        input_tensor: Any,
        weight_collections: Any = None,
        trainable: bool = True,
        output_rank: int = 2,
    ) -> Tensor:
        return with_rank(self._to_dense_tensor(input_tensor), output_rank, self.name)


class _RealValuedVarLenColumn(
    _Numbers,
    namedtuple(
        "_RealValuedVarLenColumn",
        ("column_name", "default_value", "dtype", "normalizer", "is_sparse"),
    ),
):
    """Column of all numbers of an example."""

    @property
    def config(self) -> dict[str, Any]:
        """Any number of values, padded if the column is dense."""
        if self.is_sparse:
            return {self.column_name: tf.VarLenFeature(self.dtype)}
        padded = tf.FixedLenSequenceFeature(
            [], self.dtype, allow_missing=True, default_value=self.default_value
        )
        return {self.column_name: padded}

    def _normalized_input_tensor(self, tensor: Any) -> Any:
        if self.normalizer is None or not self.is_sparse:
            return super()._normalized_input_tensor(tensor)
        values = self.normalizer(tensor.values)
        return tf.SparseTensor(tensor.indices, values, tensor.dense_shape)

    def _to_dense_tensor(self, input_tensor: Any) -> Any:
        if self.is_sparse:
            raise ValueError(
                f"Set is_sparse to False if you want a dense Tensor for column_name: {self.name}"
            )
        return input_tensor


@experimental
def _real_valued_var_len_column(
    column_name: str,
    default_value: Any = None,
    dtype: Any = tf.float32,
    normalizer: Any = None,
    is_sparse: bool = False,
) -> _RealValuedVarLenColumn:
    """Return a column of as many numbers as an example has."""
    column = f"column_name: {column_name}"
    number = int if dtype.is_integer else float if dtype.is_floating else None
    if number is None:
        raise TypeError(f"dtype must be convertible to float. dtype: {dtype}, {column}")
    default = None
    if isinstance(default_value, list):
        raise ValueError(f"Only scalar default value. default_value: {default_value}, {column}")
    if default_value is not None:
        default = number(default_value)
    elif not is_sparse:
        raise ValueError(
            "default_value must be provided when is_sparse=False to parse a padded Tensor. "
            f"{column}"
        )
    return _RealValuedVarLenColumn(column_name, default, dtype, normalizer, is_sparse)


class _RealValuedColumn(
    _Numbers,
    _DenseColumn,
    namedtuple(
        "_RealValuedColumn", ("column_name", "dimension", "default_value", "dtype", "normalizer")
    ),
):
    """The same number of numbers for each example."""

    def __new__(
        cls, column_name: str, dimension: int, default_value: Any, dtype: Any, normalizer: Any
    ) -> Any:
        """Make the defaults hashable."""
        if default_value is not None:
            default_value = tuple(default_value)
        return super().__new__(cls, column_name, dimension, default_value, dtype, normalizer)

    @property
    def config(self) -> dict[str, Any]:
        """A vector."""
        default = None if self.default_value is None else list(self.default_value)
        return {self.column_name: tf.FixedLenFeature([self.dimension], self.dtype, default)}

    def _to_dnn_input_layer(self, input_tensor: Any, *args: Any, **kwargs: Any) -> Tensor:
        if input_tensor.dtype != tf.float32:
            input_tensor = tf.cast(input_tensor, tf.float32)
        return super()._to_dnn_input_layer(input_tensor, *args, **kwargs)

    @property
    def _variable_shape(self) -> TensorShape:
        return tf.TensorShape([self.dimension])

    def _get_dense_tensor(
        self, inputs: Any, weight_collections: Any = None, trainable: Any = None
    ) -> Any:
        return inputs.get(self)


@export("contrib.layers.real_valued_column")
def real_valued_column(
    column_name: str,
    dimension: int = 1,
    default_value: Any = None,
    dtype: Any = tf.float32,
    normalizer: Any = None,
) -> _RealValuedColumn:
    """Return a dense column of numbers.

    Args:
      column_name: the feature's name.
      dimension: how many numbers an example has.
      default_value: one number, or a list of `dimension`, for examples without the feature.
      dtype: of the numbers.
      normalizer: a function that tensors are put through.

    Raises:
      TypeError: if `dimension` is no int, or `default_value` does not fit the type.
      ValueError: for other sizes and types.
    """
    given = f"dimension: {dimension}, column_name: {column_name}"
    if not isinstance(dimension, int):
        hint = "Use the _real_valued_var_len_column for variable length features."
        hint = hint if dimension is None else ""
        raise TypeError(f"dimension must be an integer. {hint}{given}")
    wrong = "" if dimension >= 1 else f"dimension must be greater than 0. {given}"
    if not (wrong or dtype.is_integer or dtype.is_floating):
        wrong = f"dtype must be convertible to float. dtype: {dtype}, column_name: {column_name}"
    if wrong:
        raise ValueError(wrong)
    defaults = default_value
    if defaults is not None:
        defaults = _defaults(defaults, dimension, dtype, column_name)
    return _RealValuedColumn(column_name, dimension, defaults, dtype, normalizer)


def _defaults(default_value: Any, dimension: int, dtype: Any, column_name: str) -> list[Any]:
    """Return the default of each number, in the column's type."""
    is_list = isinstance(default_value, list)
    if is_list and len(default_value) != dimension:
        raise ValueError(
            "The length of default_value must be equal to dimension. default_value: "
            f"{default_value}, dimension: {dimension}, column_name: {column_name}"
        )
    values = default_value if is_list else [default_value] * dimension
    if dtype.is_integer and all(isinstance(value, int) for value in values):
        return values
    if dtype.is_floating and all(isinstance(value, (int, float)) for value in values):
        return [float(value) for value in values]
    raise TypeError(
        f"default_value must be compatible with dtype. default_value: {default_value}, "
        f"dtype: {dtype}, column_name: {column_name}"
    )
