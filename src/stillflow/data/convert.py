"""Arguments of dataset ops as tensors."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.graph.random_seed import get_seed as op_seeds
from stillflow.graph.tensor_shape import as_shape
from stillflow.ops.arrays.select import where
from stillflow.ops.constants import constant
from stillflow.ops.math.comparison import equal, logical_and


def optional_param_to_tensor(
    argument_name: str,
    argument_value: Any,
    argument_default: Any = 0,
    argument_dtype: Any = dtypes.int64,
) -> Tensor:
    """Return an argument as a tensor, or its default where it was not given."""
    if argument_value is not None:
        return convert_to_tensor(argument_value, dtype=argument_dtype, name=argument_name)
    return constant(argument_default, dtype=argument_dtype, name=argument_name)


def partial_shape_to_tensor(shape_like: Any) -> Tensor:
    """Return a shape, or an int64 vector, as an int64 vector with -1 for unknown sizes."""
    try:
        dims = as_shape(shape_like).as_list()
        return convert_to_tensor([-1 if d is None else d for d in dims], dtype=dtypes.int64)
    except (TypeError, ValueError):
        tensor = convert_to_tensor(shape_like, preferred_dtype=dtypes.int64)
    if tensor.shape.ndims not in (None, 1):
        raise ValueError(
            f"The given shape {shape_like} must be a 1-D tensor of tf.int64 values, but the shape "
            f"was {tensor.shape}."
        )
    if tensor.dtype != dtypes.int64:
        raise TypeError(
            f"The given shape {shape_like} must be a 1-D tensor of tf.int64 values, but the "
            f"element type was {tensor.dtype.name}."
        )
    return tensor


def get_seed(seed: Any) -> tuple[Any, Any]:
    """Return the seeds of a dataset op as int64 tensors; 0 and 0 stand for unpredictable ones."""
    first: Any
    second: Any
    first, second = op_seeds(seed)
    if first is None:
        first = constant(0, dtype=dtypes.int64, name="seed")
    else:
        first = convert_to_tensor(first, dtype=dtypes.int64, name="seed")
    if second is None:
        return first, constant(0, dtype=dtypes.int64, name="seed2")
    with name_scope("seed2") as scope:
        second = convert_to_tensor(second, dtype=dtypes.int64)
        both = logical_and(equal(first, 0), equal(second, 0))
        second = where(both, constant(2**31 - 1, dtype=dtypes.int64), second, name=scope)
    return first, second
