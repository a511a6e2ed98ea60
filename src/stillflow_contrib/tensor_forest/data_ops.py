"""`tf.contrib.tensor_forest.data_ops`: features and labels as forests take them."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.platform import tf_logging as logging
from stillflow_contrib.ops.tensor_forest.conversions import reinterpret_string_to_float
from stillflow_contrib.ops.tensor_forest.examples import CATEGORICAL as DATA_CATEGORICAL
from stillflow_contrib.ops.tensor_forest.examples import FLOAT as DATA_FLOAT

DTYPE_TO_FTYPE = {
    tf.string: DATA_CATEGORICAL,
    tf.int32: DATA_CATEGORICAL,
    tf.int64: DATA_CATEGORICAL,
    tf.float32: DATA_FLOAT,
    tf.float64: DATA_FLOAT,
}


@export("contrib.tensor_forest.data_ops.CastToFloat")
def CastToFloat(tensor: Any) -> Tensor:
    """Strings and integers as float32; other tensors as they are."""
    if tensor.dtype == tf.string:
        return reinterpret_string_to_float(tensor)
    return tf.cast(tensor, tf.float32) if tensor.dtype.is_integer else tensor


@export("contrib.tensor_forest.data_ops.DataColumn")
class DataColumn:
    """One feature, or several of one kind: its name, its kind and how many there are."""

    def __init__(self) -> None:
        self.name: Any = ""
        self.original_type: Any = ""
        self.size: Any = 0

    def SerializeToString(self) -> str:
        """Return the column as operations read it."""
        return f"name: {self.name} original_type: {self.original_type} size: {self.size}"


@export("contrib.tensor_forest.data_ops.DataColumnCollection")
class DataColumnCollection:
    """Columns of features, next to each other."""

    def __init__(self) -> None:
        self.cols: list[DataColumn] = []

    def add(self) -> DataColumn:
        """Add a column, and give it."""
        self.cols.append(DataColumn())
        return self.cols[-1]

    def size(self) -> int:
        """Return the number of columns."""
        return len(self.cols)

    def SerializeToString(self) -> str:
        """Return the columns as operations read them."""
        return "".join(f"{{{column.SerializeToString()}}}" for column in self.cols)


@export("contrib.tensor_forest.data_ops.TensorForestDataSpec")
class TensorForestDataSpec:
    """Kinds of a forest's features: dense columns, then sparse ones."""

    def __init__(self) -> None:
        self.sparse = DataColumnCollection()
        self.dense = DataColumnCollection()
        self.dense_features_size: Any = 0

    def SerializeToString(self) -> str:
        """Return the specification as operations read it."""
        return (
            f"dense_features_size: {int(self.dense_features_size)} "
            f"dense: [{self.dense.SerializeToString()}] sparse: [{self.sparse.SerializeToString()}]"
        )


@export("contrib.tensor_forest.data_ops.GetColumnName")
def GetColumnName(column_key: Any, col_num: int) -> str:
    """Return the name of a column: its key, if that is a string, or the key's own name."""
    if isinstance(column_key, str):
        return column_key
    return getattr(column_key, "column_name", str(col_num))


@export("contrib.tensor_forest.data_ops.ParseDataTensorOrDict")
def ParseDataTensorOrDict(data: Any) -> tuple[Any, Any, TensorForestDataSpec]:
    """Make one dense tensor and one sparse tensor of all features.

    Args:
      data: a tensor [batch, features], a sparse tensor, or tensors of both kinds by name. Of
        sparse ones, those of float32 are left out of a dictionary.

    Returns:
      A float tensor [batch, features] or None, a sparse tensor or None, and what they were made of.
    """
    spec = TensorForestDataSpec()
    if isinstance(data, dict):
        return (*_join(data, spec), spec)
    column = spec.sparse.add() if isinstance(data, tf.SparseTensor) else spec.dense.add()
    if isinstance(data, tf.SparseTensor):
        column.name, column.size = "sparse_features", -1
        column.original_type = DTYPE_TO_FTYPE[data.dtype]
        return None, data, spec
    data = tf.convert_to_tensor(data)
    column.name, column.original_type = "dense_features", DTYPE_TO_FTYPE[data.dtype]
    column.size = spec.dense_features_size = data.get_shape()[1]
    return data, None, spec


def _join(data: dict[Any, Any], spec: TensorForestDataSpec) -> tuple[Any, Any]:
    """Join features in the order of their keys, and notes them in the specification."""
    dense: list[Any] = []
    sparse: list[Any] = []
    size = 0
    for key in sorted(data):
        value = data[key]
        if not isinstance(value, tf.SparseTensor):
            column = spec.dense.add()
            column.original_type = DTYPE_TO_FTYPE[value.dtype]
            column.name = GetColumnName(key, len(dense))
            shape = value.get_shape()
            column.size = 1 if len(shape) == 1 else shape[1].value
            size += column.size
            dense.append(CastToFloat(value))
        elif value.dtype == tf.float32:
            logging.info("TensorForest does not support sparse continuous.")
        else:
            if not spec.sparse.size():
                column = spec.sparse.add()
                column.original_type, column.name, column.size = DATA_CATEGORICAL, "all_sparse", -1
            numbers = CastToFloat(value.values)
            sparse.append(tf.SparseTensor(value.indices, numbers, value.dense_shape))
    joined = tf.concat(dense, 1) if dense else None
    if dense:
        spec.dense_features_size = size
    joined_sparse = tf.sparse_concat(1, sparse) if sparse else None
    logging.info(spec.SerializeToString())
    return joined, joined_sparse


@export("contrib.tensor_forest.data_ops.ParseLabelTensorOrDict")
def ParseLabelTensorOrDict(labels: Any) -> Tensor:
    """Make one float32 tensor of all labels.

    Args:
      labels: a tensor, a sparse one, whose gaps become -1, or dense tensors [batch, n] by name,
        which are joined in the order of their names.
    """
    if isinstance(labels, dict):
        return tf.cast(tf.concat([labels[key] for key in sorted(labels)], 1), tf.float32)
    if isinstance(labels, tf.SparseTensor):
        labels = tf.sparse_tensor_to_dense(labels, default_value=-1)
    return tf.cast(labels, tf.float32)
