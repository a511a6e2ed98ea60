"""Rows chosen by one condition each, with the bits of numbers.

A recurrent network does this at the end of each sequence: rows that have ended keep their state.
Beam search repeats the condition along the row first. `torch.where` processes one element after the
other; with the condition as a mask of bits, made once for all choices that follow it, the vector
instructions for integers choose, and exactly: infinities and NaNs of the row not chosen leave no
trace. Where rows are few the conditions stand in a column, which is made once, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from stillflow.graph import dtypes
from stillflow.graph.dtypes import DType
from stillflow.ops.arrays.native_kernels import choose as choose_elements
from stillflow.ops.arrays.native_kernels import choose_rows
from stillflow.ops.arrays.row_masks import choose, keep, row_mask
from stillflow.ops.arrays.tile import spread
from stillflow.runtime.ir.steps import Name, Step

# Below this, one call that looks at each element is cheaper than three that do not.
MIN_ELEMENTS = 1 << 12

_BITS = {dtypes.float32: torch.int32, dtypes.float64: torch.int64}

Shapes = dict[str, tuple[Any, DType]]


def zeros_of(steps: Sequence[Step]) -> set[str]:
    """Names of tensors that are made as zeros."""
    return {step.outputs[0] for step in steps if step.function is torch.zeros}


def choose_by_bits(steps: list[Step], shapes: Shapes, zeros: set[str]) -> list[Step]:
    """Replace choices of rows, where they are large enough to pay.

    `shapes` are (dims, dtype) of values by name; those named in `zeros` are zero everywhere.
    """
    result: list[Step] = []
    masks: dict[tuple[Any, ...], str] = {}
    makers = {name: step for step in steps for name in step.outputs}
    for step in steps:
        bits = _bits(step, shapes)
        source = None if bits is None else _of_rows(step, shapes, makers)
        if source is None:
            result += _by_column(step, shapes, masks)
            continue
        x, y = step.arguments[1:]
        inverse = x in zeros
        key = (*source, bits, inverse, step.guard)
        if key not in masks:
            result += _mask_steps(step, key, masks)
        mask = Name(masks[key])
        step.function = keep if inverse or y in zeros else choose
        step.arguments = [mask, y] if inverse else [mask, x] if y in zeros else [mask, x, y]
        step.inputs = list(dict.fromkeys(a for a in step.arguments if isinstance(a, Name)))
        result.append(step)
    return result


def _by_column(step: Step, shapes: Shapes, columns: dict[tuple[Any, ...], str]) -> list[Step]:
    """Return a choice among few rows whose conditions are a column, made once for all of them."""
    rank = _few_rows(step, shapes)
    if not rank:
        return [step]
    condition, x, y = step.arguments
    key = (condition, rank, step.guard)
    made = []
    if key not in columns:
        columns[key] = name = f"{condition}_column{len(columns)}"
        arguments = [condition, (-1, *[1] * (rank - 1))]
        made = [Step("call", step.op, [name], [condition], step.guard, torch.reshape, arguments)]
    column = Name(columns[key])
    step.function, step.arguments = torch.where, [column, x, y]
    # The column is in the memory of the conditions, which so is not taken for anything else yet.
    step.inputs = list(dict.fromkeys([column, *step.inputs]))
    return [*made, step]


def _few_rows(step: Step, shapes: Shapes) -> int:
    """Return the rank of the choices, if their rows are too few for other ways.

    0 for all other steps.
    """
    if step.function is not choose_rows or step.kind != "call" or len(step.arguments) != 3:
        return 0
    condition = step.arguments[0]
    sizes = shapes.get(step.outputs[0], (None,))[0]
    known = shapes.get(condition, (None,))[0] if isinstance(condition, Name) else None
    if sizes is None or None in sizes or known is None or len(known) != 1 or len(sizes) < 2:
        return 0
    return len(sizes) if math.prod(sizes) < MIN_ELEMENTS else 0


def _bits(step: Step, shapes: Shapes) -> torch.dtype | None:
    """Return the type whose bits a choice is to be made with; None for all other steps."""
    if step.function not in (choose_rows, choose_elements) or len(step.arguments) != 3:
        return None
    sizes, dtype = shapes.get(step.outputs[0], (None, dtypes.bool))
    if sizes is None or None in sizes or math.prod(sizes) < MIN_ELEMENTS:
        return None
    return _BITS.get(dtype)


def _of_rows(
    step: Step, shapes: Shapes, makers: dict[str, Step]
) -> tuple[Name, tuple[int, ...]] | None:
    """Return the conditions of rows, and the shape in which they stand for those.

    None if not of rows.
    """
    condition, *choices = step.arguments
    sizes = shapes[step.outputs[0]][0]
    if not isinstance(condition, Name):
        return None
    if step.function is choose_rows:
        return condition, (-1, *[1] * (len(sizes) - 1))
    maker = makers.get(condition)
    if maker is None or maker.function is not spread or maker.guard not in ((), step.guard):
        return None
    if any(shapes.get(choice, (None,))[0] != sizes for choice in (condition, *choices)):
        return None
    source = maker.arguments[0]
    dims = shapes.get(source, (None,))[0]
    if not isinstance(source, Name) or dims is None or dims[-1] != 1 or sizes[-1] == 1:
        return None
    return source, dims


def _mask_steps(step: Step, key: tuple[Any, ...], masks: dict[Any, str]) -> list[Step]:
    """Return the steps that make a mask, or one from the mask of the opposite choice."""
    condition, dims, bits, inverse, guard = key
    name = masks[key] = f"{condition}_rows{len(masks)}"
    opposite = masks.get((condition, dims, bits, not inverse, guard))
    if opposite is not None:
        arguments: list[Any] = [Name(opposite)]
        return [Step("call", step.op, [name], [opposite], guard, torch.bitwise_not, arguments)]
    made = Step("call", step.op, [name], [condition], guard, row_mask, [condition, dims, bits])
    if not inverse:
        return [made]
    masks[condition, dims, bits, False, guard] = made.outputs[0] = f"{name}_not"
    arguments = [Name(f"{name}_not")]
    turned = Step("call", step.op, [name], [f"{name}_not"], guard, torch.bitwise_not, arguments)
    return [made, turned]
