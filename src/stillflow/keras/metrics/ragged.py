"""Ragged targets, predictions and weights of metrics as dense tensors of their values."""

from __future__ import annotations

from typing import Any

from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.shape import expand_dims
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.ragged.splits import assert_splits_match
from stillflow.ragged.tensor import RaggedTensor


def _flat(tensor: RaggedTensor, checks: list[Any]) -> Tensor:
    return expand_dims(with_dependencies(checks, tensor.flat_values), -1)


def ragged_assert_compatible_and_get_flat_values(values: Any, mask: Any = None) -> tuple[Any, Any]:
    """Return tensors unchanged if none is ragged; else the values of ragged ones, as columns.

    `mask` has weights, ragged if the tensors are, and is returned with them. TypeError if some are
    ragged and others are not. ValueError for different numbers of ragged dimensions.
    """
    listed = values if isinstance(values, list) else [values]
    kinds = {isinstance(value, RaggedTensor) for value in listed}
    ragged_mask = isinstance(mask, RaggedTensor)
    if kinds == {True} and (mask is None or ragged_mask):
        splits = [value.nested_row_splits for value in listed]
        checks = assert_splits_match(splits)
        if ragged_mask:
            mask = _flat(mask, assert_splits_match([splits[0], mask.nested_row_splits]))
        flat = [_flat(value, checks) for value in listed]
        return flat if isinstance(values, list) else flat[0], mask
    if True in kinds:
        raise TypeError("One of the inputs does not have acceptable types.")
    if ragged_mask:
        raise TypeError("Ragged mask is not allowed with non-ragged inputs.")
    return values, mask
