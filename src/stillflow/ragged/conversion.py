"""Arguments of functions of ragged tensors, and their consistent types of splits."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.ragged.tensor import RaggedTensor
from stillflow.ragged.value import RaggedTensorValue

MISMATCH = (
    "Input RaggedTensors have mismatched row_splits dtypes; use "
    "RaggedTensor.with_row_splits_dtype() to convert them to compatible dtypes."
)


def is_ragged(value: Any) -> bool:
    """Return True if `value` is a `RaggedTensor` or a `RaggedTensorValue`."""
    return isinstance(value, (RaggedTensor, RaggedTensorValue))


def convert_to_tensor_or_ragged_tensor(
    value: Any, dtype: Any = None, preferred_dtype: Any = None, name: str | None = None
) -> Any:
    """Convert `value` to a `RaggedTensor` if it is ragged, else to a `Tensor`.

    Args:
      value: a `RaggedTensor`, `RaggedTensorValue`, or an argument of `tf.convert_to_tensor`.
      dtype: the element type it must have.
      preferred_dtype: the element type it gets where `value` leaves a choice.
      name: of the op made, if one is made.

    Raises:
      ValueError: if a `RaggedTensor` is of another element type.
    """
    wanted = {"dtype": dtype, "preferred_dtype": preferred_dtype}
    if isinstance(value, RaggedTensor):
        if dtype and not dtype.is_compatible_with(value.dtype):
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for RaggedTensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        return value
    if isinstance(value, RaggedTensorValue):
        with name_scope(name, "ConvertToTensorOrRaggedTensor", []):
            flat = convert_to_tensor(value.flat_values, name="flat_values", **wanted)
            splits = value.nested_row_splits
            return RaggedTensor.from_nested_row_splits(flat, splits, validate=False)
    return convert_to_tensor(value, name=name, **wanted)


def common_splits_dtype(*tensors: Any) -> Any:
    """Return the type of the splits of the ragged ones of several tensors; int64 if there are none.

    Raises:
      ValueError: if they are not of one type.
    """
    kinds = {tensor.row_splits.dtype for tensor in tensors if isinstance(tensor, RaggedTensor)}
    if len(kinds) > 1:
        raise ValueError(MISMATCH)
    return kinds.pop() if kinds else dtypes.int64


def match_row_splits_dtypes(*tensors: Any, return_dtype: bool = False) -> Any:
    """Several tensors, the ragged ones of which have splits of one type.

    Args:
      *tensors: dense or ragged.
      return_dtype: whether to return a pair, of that type and the tensors.

    Raises:
      ValueError: if their splits are not of one type.
    """
    kind = common_splits_dtype(*tensors)
    return (kind, tensors) if return_dtype else tensors
