"""Values of eager results in tests."""

from __future__ import annotations

from typing import Any

from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.graph.indexed_slices import IndexedSlices, IndexedSlicesValue
from stillflow.graph.sparse_tensor import SparseTensor, SparseTensorValue
from stillflow.ragged.tensor import RaggedTensor
from stillflow.ragged.value import RaggedTensorValue


def value_now(item: Any) -> Any:
    """Return the value of a tensor, variable, composite of tensors, or of a function's result."""
    if item is None:
        return None
    if callable(item) and not hasattr(item, "numpy"):
        return value_now(item())
    if isinstance(item, CompositeTensor):
        return _composite(item)
    if not hasattr(item, "numpy"):
        raise ValueError(f"Unsupported type {type(item)}.")
    return item.numpy()


def _composite(item: Any) -> Any:
    if isinstance(item, SparseTensor):
        return SparseTensorValue(*map(value_now, (item.indices, item.values, item.dense_shape)))
    if isinstance(item, RaggedTensor):
        return RaggedTensorValue(value_now(item.values), value_now(item.row_splits))
    if isinstance(item, IndexedSlices):
        return IndexedSlicesValue(*map(value_now, (item.values, item.indices, item.dense_shape)))
    raise ValueError(f"Unsupported type {type(item)}.")
