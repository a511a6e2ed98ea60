"""Native kernels of arrays: choices, sorting, changes of rows, patches."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import prod
from typing import Any

from stillflow import native
from stillflow.graph.lazy import torch
from stillflow.ops import native_calls

# ---- choices

# Elements of one tensor or of another, by a loop in C: torch looks at one after the other.

_FEW = 1 << 12  # elements that torch chooses in less time than a call takes
_SIZES = (1, 2, 4, 8)  # bytes of an element


def choose(condition: Any, x: Any, y: Any) -> torch.Tensor:
    """`torch.where` of tensors of one type."""
    found = _by_loop(condition, x, y, condition.shape) if condition.numel() >= _FEW else None
    return torch.where(condition, x, y) if found is None else found


def choose_rows(condition: Any, x: Any, y: Any) -> torch.Tensor:
    """Whole slices along the first dimension of tensors of one shape, chosen by a vector."""
    if condition.ndim == 1 and x.ndim > 1:
        found = _by_loop(condition, x, y, x.shape) if x.numel() >= _FEW else None
        return torch.where(_aligned(condition, x), x, y) if found is None else found
    return choose(condition, x, y)


def _aligned(condition: Any, x: Any) -> torch.Tensor:
    return condition.reshape(-1, *[1] * (x.ndim - 1))


def _by_loop(condition: Any, x: Any, y: Any, shape: Any) -> torch.Tensor | None:
    """None where there is no loop for such tensors."""
    steps = [_step(choice, shape) for choice in (x, y)]
    if None in steps or x.dtype is not y.dtype or x.itemsize not in _SIZES:
        return None
    if condition.dtype is not torch.bool or not native_calls.reach(condition, x, y):
        return None
    try:
        pointers = [tensor.data_ptr() for tensor in (condition, x, y)]
    except RuntimeError:  # of all turns of a loop at once, by torch.vmap
        return None
    result = torch.empty(shape, dtype=x.dtype)
    native_calls.call(
        "choose_items", pointers[0], pointers[1], steps[0], pointers[2], steps[1],
        prod(shape) // condition.numel(), x.itemsize, prod(shape), result.data_ptr(),
    )  # fmt: skip
    return result


def _step(choice: Any, shape: Any) -> int | None:
    if choice.shape == shape:
        return 1
    return 0 if not choice.ndim else None


# ---- sorting

# The order of numbers in rows, by a loop in C: torch compares them, which takes far longer.

_LONGEST = (1 << 31) - 1


def sorted_places(keys: Any, descending: bool = False) -> torch.Tensor:
    """Return the stable argsort of each row of `keys` [..., columns], int64; NaN is the largest."""
    kinds = [torch.float32, torch.float64, torch.int32, torch.int64]
    fits = keys.dtype in kinds and keys.dim() and 0 < keys.shape[-1] <= _LONGEST and keys.numel()
    if not fits or not native_calls.reach(keys):
        return torch.sort(keys, stable=True, dim=-1, descending=descending)[1]
    result = torch.empty(keys.shape, dtype=torch.int64)
    columns = keys.shape[-1]
    native_calls.call(
        "sort_rows", keys.data_ptr(), kinds.index(keys.dtype), keys.numel() // columns, columns,
        descending, result.data_ptr(),
    )  # fmt: skip
    return result


def ranked(x: Any, position: int) -> torch.Tensor | None:
    """Return the number at a position of each sorted row of `x`; None without a loop."""
    width = x.shape[-1]
    if x.dtype not in (torch.float32, torch.int32) or width > _LONGEST or not native_calls.reach(x):
        return None
    result = x.new_empty(x.shape[:-1])
    native_calls.call("find_ranks", x.data_ptr(), x.is_floating_point(), result.numel(), width,
                      position, result.data_ptr())  # fmt: skip
    return result


# ---- changes of rows

# Changing rows of a table by a loop in C.

# In the order of native/row_changes.c.
_WAYS = ("update", "mul", "div", "min", "max")


def change_rows(table: Any, ids: Any, data: Any, how: str) -> bool:
    """Change rows of `table` by `data` [n, columns] in order, in place; False if no loop fits."""
    kinds = [None, torch.float32, torch.float64, torch.int32, torch.int64]
    of_integers = how == "div" and not data.is_floating_point()  # whose zeros somebody looks for
    if how not in _WAYS or of_integers or (how != "update" and data.dtype not in kinds):
        return False
    fits = table.dtype is data.dtype and ids.dtype in (torch.int32, torch.int64)
    if not fits or not native_calls.reach(table, ids, data):
        return False
    kind = kinds.index(data.dtype) if how != "update" else 0
    library: Any = native.library()
    wrong = library.change_rows(
        table.data_ptr(), *table.shape, table.itemsize, ids.data_ptr(), ids.itemsize, len(ids),
        data.data_ptr(), kind, _WAYS.index(how),
    )  # fmt: skip
    return not wrong


# ---- patches and blocks

# Patches of images, and blocks moved about, by loops in C: bytes of any type are copied.
#
# Each function returns None without a native loop for its arguments.


def extract(images: Any, along: Sequence[Sequence[int]]) -> Any:
    """Return patches of images [batch, height, width, channels] as channels; None without loops.

    `along` holds for rows and for columns: the size of the images, how many patches there are,
    their size, how far they and how far their pixels are apart, how far the first begins outside.
    """
    if len(along) != 2 or not native_calls.reach(images):
        return None
    library: Any = native.library()
    rows, columns = (native_calls.Along(*numbers) for numbers in along)
    batch, channels = images.shape[0], images.shape[-1]
    sizes = (batch, rows.count, columns.count, rows.window * columns.window * channels)
    result = torch.empty(sizes, dtype=images.dtype)
    if result.numel():
        library.extract_patches(
            images.data_ptr(), batch, ctypes.byref(rows), ctypes.byref(columns),
            channels * images.itemsize, result.data_ptr(), torch.get_num_threads(),
        )  # fmt: skip
    return result


def transposed(
    x: Any, groups: int, rows: int, columns: int, shape: Sequence[int]
) -> torch.Tensor | None:
    """Return [groups, rows, columns, ...] as [groups, columns, rows, ...]; None without loops."""
    count = groups * rows * columns
    if isinstance(x, torch.Tensor) and count and native_calls.reach(x):
        library: Any = native.library()
        result = torch.empty(tuple(shape), dtype=x.dtype)
        block = prod(shape) // count * x.itemsize
        library.transpose_blocks(
            x.data_ptr(), groups, rows, columns, block, result.data_ptr(), torch.get_num_threads()
        )
        return result
    return None
