"""Arguments that functions of sparse tensors accept."""

from __future__ import annotations

from typing import Any

from stillflow.graph.sparse_tensor import SparseTensor, SparseTensorValue


def as_sparse(value: Any) -> SparseTensor:
    """Return a sparse tensor from itself or its value; TypeError for others."""
    if isinstance(value, SparseTensorValue):
        return SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    return value


def parts(sp: SparseTensor) -> tuple[Any, Any, Any]:
    """Return the three tensors that ops take."""
    return sp.indices, sp.values, sp.dense_shape
