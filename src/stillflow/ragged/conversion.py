"""Arguments of functions of ragged tensors, and their consistent types of splits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import DType
from stillflow.graph.operation import Tensor
from stillflow.ragged.tensor import RaggedTensor
from stillflow.ragged.value import RaggedTensorValue

if TYPE_CHECKING:
    from typing_extensions import TypeIs

MISMATCH = (
    "Input RaggedTensors have mismatched row_splits dtypes; use "
    "RaggedTensor.with_row_splits_dtype() to convert them to compatible dtypes."
)


def is_ragged(value: Any) -> TypeIs[RaggedTensor]:
    """Return True if `value` is a `RaggedTensor` or a `RaggedTensorValue`."""
    return isinstance(value, (RaggedTensor, RaggedTensorValue))


def convert_to_tensor_or_ragged_tensor(
    value: Any, dtype: Any = None, preferred_dtype: Any = None, name: str | None = None
) -> Tensor | RaggedTensor:
    """Convert `value` to a `RaggedTensor` if it is ragged, else to a `Tensor`.

    `preferred_dtype` is the element type where `value` leaves a choice.
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


def common_splits_dtype(*tensors: Any) -> DType:
    """Return the type of ragged tensors' splits, int64 if there are none; ValueError if several."""
    kinds = {tensor.row_splits.dtype for tensor in tensors if isinstance(tensor, RaggedTensor)}
    if len(kinds) > 1:
        raise ValueError(MISMATCH)
    return kinds.pop() if kinds else dtypes.int64


def match_row_splits_dtypes(*tensors: Any, return_dtype: bool = False) -> tuple[Any, ...]:
    """Return tensors, the ragged ones of which have splits of one type, after it if asked for."""
    kind = common_splits_dtype(*tensors)
    return (kind, tensors) if return_dtype else tensors
