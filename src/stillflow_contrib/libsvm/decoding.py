"""Lines of LibSVM's files as sparse rows of features, and their labels."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.util.deprecation import deprecated
from stillflow_contrib.ops.libsvm import decode_libsvm_op


@export("contrib.libsvm.decode_libsvm")
@deprecated(
    None,
    "tf.contrib.libsvm will be removed in 2.0, the support for libsvm format will continue to be "
    "provided in tensorflow-io: https://github.com/tensorflow/io",
)
def decode_libsvm(
    content: Any, num_features: int, dtype: Any = None, label_dtype: Any = None
) -> tuple[SparseTensor, Any]:
    """Read lines such as `1 3:0.5 7:2`: a label, and features by their numbers.

    Args:
      content: the lines, strings of any shape.
      num_features: how many features there are.
      dtype: of the features' values: float32, by default, float64, int32 or int64.
      label_dtype: of the labels: int64, by default, or another one of these.

    Returns:
      A SparseTensor [shape of content, num_features] of the values, and a tensor of the labels, of
      the shape of `content`.

    Raises:
      InvalidArgumentError: when run with lines of another form.
    """
    labels, indices, values, shape = decode_libsvm_op(
        content, num_features=num_features, dtype=dtype, label_dtype=label_dtype
    )
    return SparseTensor(indices, values, shape), labels
