"""The product of a sparse matrix and a dense one by the loop in C."""

from __future__ import annotations

from typing import Any

from stillflow import native
from stillflow.graph.lazy import torch
from stillflow.ops import native_kernels


def product(indices: Any, values: Any, rows: int, dense: Any, transposed: bool) -> Any:
    """Return the product, added up in the order of the values; None without a native loop.

    The same holds if an index is out of range: the caller names it.

    Args:
      indices: int64 [count, 2], of the values.
      values: float32 [count].
      rows: of the result.
      dense: float32 matrix.
      transposed: whether the sparse matrix is.
    """
    if not native_kernels.take(values) or dense.dtype is not torch.float32 or not dense.is_cpu:
        return None
    library: Any = native.library()
    indices, dense = indices.contiguous(), dense.contiguous()
    inner, columns = dense.shape
    result = torch.empty((rows, columns), dtype=torch.float32)
    if library.multiply_sparse(
        indices.data_ptr(), values.data_ptr(), len(values), transposed, dense.data_ptr(), inner,
        columns, result.data_ptr(), rows, torch.get_num_threads(),
    ):  # fmt: skip
        return None
    return result
