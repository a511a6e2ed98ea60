"""Changing rows of a table by a loop in C."""

from __future__ import annotations

from typing import Any

from stillflow import native
from stillflow.graph.lazy import torch
from stillflow.ops import native_kernels

# In the order of native/row_changes.c.
_WAYS = ("update", "mul", "div", "min", "max")


def change(table: Any, ids: Any, data: Any, how: str) -> bool:
    """Change rows one after the other in place; say whether it did.

    Args:
      table: [rows, columns].
      ids: int32 or int64 [number], which rows.
      data: of the same type, [number, columns].
      how: as for `rows.change_rows`; "add" and "sub" are not for this loop.
    """
    kinds = [None, torch.float32, torch.float64, torch.int32, torch.int64]
    of_integers = how == "div" and not data.is_floating_point()  # whose zeros somebody looks for
    if how not in _WAYS or of_integers or (how != "update" and data.dtype not in kinds):
        return False
    fits = table.dtype is data.dtype and ids.dtype in (torch.int32, torch.int64)
    if not fits or not native_kernels.reach(table, ids, data):
        return False
    kind = kinds.index(data.dtype) if how != "update" else 0
    library: Any = native.library()
    wrong = library.change_rows(
        table.data_ptr(), *table.shape, table.itemsize, ids.data_ptr(), ids.itemsize, len(ids),
        data.data_ptr(), kind, _WAYS.index(how),
    )  # fmt: skip
    return not wrong
