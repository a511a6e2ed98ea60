"""Kinds of tensors."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.graph.tensor_like import is_tensor
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.flows import is_tensor_array as is_tensor_array


def is_dense_tensor(t: Any) -> bool:
    """Return True if a value is a tensor or a variable, and not a sparse tensor."""
    return is_tensor(t) and not isinstance(t, SparseTensor)


def is_tensor_list(t: Any) -> bool:
    """Return True if a value is known to be a list of tensors in a graph."""
    return is_tensor(t) and t.dtype == dtypes.variant and not t.shape.ndims


def is_range_tensor(t: Any) -> bool:
    """Return True if a value is the result of `tf.range`."""
    return is_tensor(t) and hasattr(t, "op") and t.op.type == "Range"


def match_staging_level(value: Any, like_value: Any) -> Tensor:
    """Return a value as a tensor if another one is a tensor."""
    return constant(value) if is_tensor(like_value) else value
