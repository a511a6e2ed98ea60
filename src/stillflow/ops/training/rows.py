"""Optimizers' rules for the rows of variables that have gradients."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from stillflow import errors, native
from stillflow.graph.lazy import torch
from stillflow.ops import native_calls
from stillflow.ops.arrays.gather import in_range
from stillflow.ops.arrays.rows import first_outside
from stillflow.ops.sparse import native_kernels
from stillflow.ops.training import rules

# Rules that look at all indices before they change a row.
_CHECKED_FIRST = {
    rules.adadelta, rules.adagrad, rules.adagrad_v2, rules.rms_prop, rules.centered_rms_prop,
}  # fmt: skip


def update_rows(
    update: Callable[..., None],
    states: Sequence[Any],
    named: Mapping[str, Any],
    flags: Mapping[str, bool],
) -> None:
    """Apply a rule of `rules.py` to the rows in `indices`, to repeated rows once after the other.

    Most rules change the rows before an index that is out of range, which is an
    InvalidArgumentError.
    """
    others = dict(named)
    indices = others.pop("indices")
    key = "grad" if "grad" in others else "delta"
    gradient = others.pop(key)
    if gradient.shape[:1] != indices.shape:
        raise errors.invalid_argument(
            "grad must be the same size as indices in the first dimension."
        )
    if not indices.numel() or _update_in_loop(update, states, gradient, indices, others, flags):
        return
    indices = indices.to(torch.int64)
    if not in_range(indices, states[0].shape[0]):
        first = first_outside(indices[:, None], states[0].shape[:1])
        if update not in _CHECKED_FIRST:
            before = {**others, key: gradient[:first], "indices": indices[:first]}
            update_rows(update, states, before, flags)
        raise _out_of_range(indices, first)
    rounds = [slice(None)] if _are_different(indices) else _rounds(indices)
    device = states[0].device  # the indices were on the host, where asking does not wait
    others = {name: value.to(device) for name, value in others.items()}
    for chosen in rounds:
        rows = indices[chosen].to(device)
        parts = [state.index_select(0, rows) for state in states]
        update(*parts, **{key: gradient[chosen]}, **others, **flags)
        for state, part in zip(states, parts, strict=True):
            state.index_copy_(0, rows, part)


def update_rows_of_many(
    update: Callable[..., None], states: Sequence[Sequence[Any]], gradients: Sequence[Any],
    indices: Sequence[Any], named: Mapping[str, Any], flags: Mapping[str, bool],
) -> None:  # fmt: skip
    """Apply a rule to rows of several variables, one variable after the other."""
    done = _update_many_in_loop(update, states, gradients, indices, named, flags)
    for number in range(done, len(states)):
        own = {"grad": gradients[number], "indices": indices[number]}
        update_rows(update, states[number], {**named, **own}, flags)


def _out_of_range(indices: Any, offset: int) -> errors.InvalidArgumentError:
    return errors.invalid_argument(
        f"Index {int(indices[offset])} at offset {offset} in indices is out of range"
    )


def _are_different(indices: Any) -> bool:
    found = native_kernels.distinct(indices, torch.int32)
    different = torch.unique(indices) if found is None else found[0]
    return len(different) == len(indices)


def _rounds(indices: Any) -> list[Any]:
    """Split positions so that no row occurs twice in one part, keeping the order per row."""
    seen: dict[int, int] = {}
    parts: list[list[int]] = []
    for position, row in enumerate(indices.tolist()):
        turn = seen.get(row, 0)
        seen[row] = turn + 1
        if turn == len(parts):
            parts.append([])
        parts[turn].append(position)
    return [torch.tensor(part) for part in parts]


# ---- loops in C


class _Gradients(ctypes.Structure):
    """`Gradients` of native/row_updates.c."""

    _fields_ = [
        ("grad", ctypes.c_void_p), ("indices", ctypes.c_void_p), ("bytes", ctypes.c_int64),
        ("number", ctypes.c_int64), ("width", ctypes.c_int64), ("rows", ctypes.c_int64),
    ]  # fmt: skip


def _update_in_loop(
    update: Callable[..., None],
    states: Sequence[Any],
    gradient: Any,
    indices: Any,
    others: Mapping[str, Any],
    flags: Mapping[str, bool],
) -> bool:
    """Return True if there is a loop for a rule, which then has run."""
    loop = _LOOPS.get(update)
    if loop is None or not native_calls.take(gradient, *states):
        return False
    if not native_calls.reach(indices):
        return False
    width = prod(gradient.shape[1:])
    if any(state.shape != states[0].shape for state in states) or width != prod(
        states[0].shape[1:]
    ):
        return False
    gradients = _Gradients(
        gradient.data_ptr(), indices.data_ptr(), indices.itemsize, indices.shape[0], width,
        states[0].shape[0],
    )  # fmt: skip
    scalars = {name: value.item() for name, value in others.items()}
    pointers = [state.data_ptr() for state in states]
    return loop(ctypes.byref(gradients), *pointers, **scalars, **flags)


def _adagrad(gradients: Any, var: int, accum: int, *, lr: float, update_slots: bool = True) -> bool:
    library: Any = native.library()
    return not library.adagrad_rows(gradients, var, accum, lr, update_slots)


def _ftrl(
    gradients: Any, var: int, accum: int, linear: int, *, lr: float, l1: float, l2: float,
    lr_power: float,
) -> bool:  # fmt: skip
    library: Any = native.library()
    return lr_power == -0.5 and not library.ftrl_rows(gradients, var, accum, linear, lr, l1, l2)


_LOOPS: dict[Any, Callable[..., bool]] = {rules.adagrad: _adagrad, rules.ftrl: _ftrl}


def _update_many_in_loop(
    update: Callable[..., None], states: Sequence[Sequence[Any]], gradients: Sequence[Any],
    indices: Sequence[Any], others: Mapping[str, Any], flags: Mapping[str, bool],
) -> int:  # fmt: skip
    """Return how many variables a loop has updated: none without one, or up to a wrong index."""
    if update is not rules.adagrad or not native_calls.reach(*indices):
        return 0
    if not native_calls.take(*gradients, *(each for state in states for each in state)):
        return 0
    words = array("q")
    for (variable, sums), gradient, index in zip(states, gradients, indices, strict=True):
        shape, count = variable.shape, index.shape
        if sums.shape != shape or gradient.shape != count + shape[1:] or len(count) != 1:
            return 0
        words.extend(
            (gradient.data_ptr(), index.data_ptr(), index.itemsize, count[0],
             prod(shape[1:]), shape[0], variable.data_ptr(), sums.data_ptr())
        )  # fmt: skip
    library: Any = native.library()
    rate, slots = others["lr"].item(), flags.get("update_slots", True)
    return int(library.adagrad_rows_of_many(words.buffer_info()[0], len(indices), rate, slots))
