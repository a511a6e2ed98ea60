"""The tensors of features and columns, each made once."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.feature_column.base import FeatureColumn, _FeatureColumn
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from stillflow.platform import tf_logging as logging


class FeatureTransformationCache:
    """Cache of features transformed by columns.

    Args:
      features: tensors, SparseTensors or arrays by key.
    """

    _kind: tuple[Any, str] = (FeatureColumn, "FeatureColumn")

    def __init__(self, features: dict[Any, Any]) -> None:
        self.features = features.copy()
        self._made: dict[Any, Any] = {}

    def get(self, key: Any, state_manager: Any = None) -> Any:
        """Return the tensor of a feature, or the transformed one of a column.

        Args:
          key: the key of a feature, or a column.
          state_manager: keeps the variables of columns.

        Raises:
          ValueError: if there is no such feature, it is a scalar, or the column gives nothing.
          TypeError: if the key is neither.
        """
        if key not in self._made:
            given = key in self.features
            make = self._as_tensor if given else self._transformed
            self._made[key] = make(key, state_manager)
        return self._made[key]

    def _transformed(self, column: Any, state_manager: Any) -> Any:
        kind, said = self._kind
        if isinstance(column, str):
            raise ValueError(f"Feature {column} is not in features dictionary.")
        if not isinstance(column, kind):
            raise TypeError(f'"key" must be either a "str" or "{said}". Provided: {column}')
        logging.debug("Transforming feature_column %s.", column)
        made = self._transform(column, state_manager)
        if made is None:
            raise ValueError(f"Column {column.name} is not supported.")
        return made

    def _transform(self, column: Any, state_manager: Any) -> Any:
        return column.transform_feature(self, state_manager)

    def _as_tensor(self, key: Any, _: Any) -> Tensor | SparseTensor:
        """Return a feature as a tensor of at least two axes."""
        tensor = convert_to_tensor_or_sparse_tensor(self.features[key])
        rank = tensor.get_shape().ndims
        message = f"Feature (key: {key}) cannot have rank 0. Given: {tensor}"
        if rank == 0:
            raise ValueError(message)
        if rank is not None:
            return _with_last_axis(tensor) if rank == 1 else tensor
        positive = tf.assert_positive(tf.rank(tensor), message=message)
        with tf.control_dependencies([positive]):
            is_vector = tf.equal(1, tf.rank(tensor))
            return tf.cond(is_vector, lambda: _with_last_axis(tensor), lambda: tensor)


class _LazyBuilder(FeatureTransformationCache):
    """The cache that columns of the older generation are given."""

    _kind = (_FeatureColumn, "_FeatureColumn")

    def _transform(self, column: Any, state_manager: Any) -> Any:
        return column._transform_feature(self)


def _with_last_axis(tensor: Any) -> Tensor | SparseTensor:
    if isinstance(tensor, tf.SparseTensor):
        return tf.sparse.reshape(tensor, [tf.shape(tensor)[0], 1])
    return tf.expand_dims(tensor, -1)


def as_sparse(tensor: Any, ignore_value: Any = None) -> tf.SparseTensor:
    """Return a tensor as a SparseTensor, without the values that stand for nothing.

    The value of empty cells is "" for strings, -1 for integers, else 0 by default.
    """
    tensor = convert_to_tensor_or_sparse_tensor(tensor)
    if isinstance(tensor, tf.SparseTensor):
        return tensor
    with tf.name_scope(None, "to_sparse_input", (tensor, ignore_value)):
        if ignore_value is None:
            ignore_value = _nothing(tensor.dtype)
        return values_without(tensor, ignore_value)


def values_without(tensor: Any, ignore_value: Any) -> tf.SparseTensor:
    """Return a dense tensor's values that are not `ignore_value`, in their places."""
    ignored = tf.cast(ignore_value, tensor.dtype, name="ignore_value")
    indices = tf.where(tf.not_equal(tensor, ignored), name="indices")
    return tf.SparseTensor(
        indices,
        tf.gather_nd(tensor, indices, name="values"),
        tf.shape(tensor, out_type=tf.int64, name="dense_shape"),
    )


def _nothing(dtype: Any) -> int | str:
    if dtype == tf.string:
        return ""
    return -1 if dtype.is_integer else dtype.as_numpy_dtype()
