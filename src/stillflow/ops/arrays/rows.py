"""Changing rows of a tensor in place, in the order in which TF's kernels do it.

Where an index occurs twice, the last update wins and sums are taken in order: results must not
depend on how many threads torch uses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from stillflow.errors import InvalidArgumentError, invalid_argument
from stillflow.graph.lazy import torch
from stillflow.ops.arrays import native_kernels as arrays_kernels
from stillflow.ops.kernels import as_signed
from stillflow.ops.sparse import native_kernels as sparse_kernels

# Below this many elements torch copies rows one after the other.
_SEQUENTIAL = 1 << 14
_FACTORS = {"add": 1.0, "sub": -1.0}


def _last_of_each(index: Any, updates: Any) -> tuple[Any, Any]:
    """Keep only the last of several updates of one row."""
    unique, inverse = torch.unique(index, return_inverse=True)
    if unique.numel() == index.numel():
        return index, updates
    numbers = torch.arange(index.numel(), device=index.device)
    last = torch.zeros_like(unique).scatter_reduce_(0, inverse, numbers, "amax")
    return unique, updates[last]


def _rounds(index: Any) -> list[Any]:
    """Positions of `index` in groups, each of distinct rows, that keep the order of each row."""
    order = torch.argsort(index, stable=True)
    rows = index[order]
    starts = torch.ones_like(rows, dtype=torch.bool)
    starts[1:] = rows[1:] != rows[:-1]
    first = torch.nonzero(starts).reshape(-1)
    numbers = torch.arange(rows.numel(), device=index.device)
    which = numbers - first[torch.cumsum(starts, 0) - 1]
    return [order[which == number] for number in range(int(which.max()) + 1)]


def _divide(x: Any, y: Any) -> torch.Tensor:
    if x.is_floating_point() or x.is_complex():
        return x / y
    if bool((y == 0).any()):
        raise invalid_argument("Integer division by zero")
    return torch.div(x, y, rounding_mode="trunc")


_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "mul": lambda x, y: x * y,
    "div": _divide,
    "min": lambda x, y: torch.minimum(x, y),
    "max": lambda x, y: torch.maximum(x, y),
}


# Operations that torch does not have for unsigned integers; here too each row takes its updates in
# order.
_COMBINE_UNSIGNED = {
    "mul": np.multiply, "div": np.floor_divide, "min": np.minimum, "max": np.maximum,
}  # fmt: skip


def _change_unsigned(target: Any, index: Any, updates: Any, how: str) -> None:
    if how == "div" and not updates.numpy().all():
        raise invalid_argument("Integer division by zero")
    _COMBINE_UNSIGNED[how].at(target.numpy(), index.numpy(), updates.numpy())


def change_rows(target: Any, index: Any, updates: Any, how: str) -> None:
    """Change rows `index` [n] of `target` [rows, columns] in place by `updates` [n, columns] or [].

    `how` is "update", "add", "sub", "mul", "div", "min" or "max".
    """
    if not index.numel():
        return
    if isinstance(target, np.ndarray):
        _change_strings(target, index.numpy(), updates, how)
        return
    if how in ("update", "add", "sub"):
        target, updates = as_signed(target), as_signed(updates)
    if updates.ndim < target.ndim:
        updates = updates.expand(index.numel(), target.shape[1])
    if how in _FACTORS and sparse_kernels.add_to_rows(target, index, updates, _FACTORS[how]):
        return
    if arrays_kernels.change_rows(target, index, updates.contiguous(), how):
        return
    index = index.long()
    if how == "update":
        if updates.numel() > _SEQUENTIAL or not target.is_cpu:
            index, updates = _last_of_each(index, updates)
        target.index_copy_(0, index.to(target.device), updates)
    elif how == "sub":
        target.index_add_(0, index.to(target.device), updates, alpha=-1)
    elif how == "add" and target.dtype in (torch.float16, torch.bfloat16):
        # With alpha=1 torch adds several updates in float32 before it rounds.
        target.index_add_(0, index.to(target.device), -updates, alpha=-1)
    elif how == "add":
        target.index_add_(0, index.to(target.device), updates)
    elif target.dtype in (torch.uint16, torch.uint32, torch.uint64):
        _change_unsigned(target, index, updates, how)
    else:
        combine = _COMBINE[how]
        for chosen in _rounds(index):
            rows = index[chosen].to(target.device)
            target.index_copy_(0, rows, combine(target[rows], updates[chosen]))


def _change_strings(target: Any, index: Any, updates: Any, how: str) -> None:
    if updates.ndim < target.ndim:
        updates = np.broadcast_to(updates, (len(index), target.shape[1]))
    for row, update in zip(index, updates, strict=True):
        target[row] = update if how == "update" else target[row] + update


def slice_name(shape: Sequence[int], number: int, name: str = "indices") -> str:
    """Return the name of an index tensor's element in TF's messages: `indices[1,0]`."""
    position = np.unravel_index(number, tuple(shape)) if shape else ()
    listed = ",".join(str(int(item)) for item in position)
    return f"{name}[{listed}]" if listed else name


def flat_rows(indices: Any, sizes: Sequence[int], message: str) -> torch.Tensor:
    """Return the row numbers of index tuples [..., len(sizes)] into leading dimensions `sizes`.

    `message` follows the offending index in the InvalidArgumentError.
    """
    depth = len(sizes)
    outer = tuple(indices.shape[:-1])
    table = indices.reshape(-1, depth) if depth else indices.new_zeros((prod(outer), 0))
    if not depth:
        return table.new_zeros(table.shape[0])
    if table.shape[0]:
        low, high = torch.aminmax(table, dim=0)
        top = high.tolist()
        if min(low.tolist()) < 0 or any(a >= b for a, b in zip(top, sizes, strict=True)):
            raise _bad_tuple(table, outer, sizes, message)
    if depth == 1:
        return table[:, 0]
    strides = [prod(sizes[axis + 1 :]) for axis in range(depth)]
    return (table.long() * torch.tensor(strides, device=table.device)).sum(1)


def first_outside(table: Any, sizes: Sequence[int]) -> int:
    """Return the first row of indices `[n, len(sizes)]` that has one out of range.

    There must be one.
    """
    array = table.cpu().numpy()
    wrong = ((array < 0) | (array >= np.array(sizes))).any(axis=1)
    return int(np.flatnonzero(wrong)[0])


def _bad_tuple(
    table: Any, outer: Sequence[int], sizes: Sequence[int], message: str
) -> InvalidArgumentError:
    array = table.cpu().numpy()
    number = first_outside(table, sizes)
    listed = ", ".join(str(item) for item in array[number])
    return invalid_argument(f"{slice_name(outer, number)} = [{listed}] {message}")
