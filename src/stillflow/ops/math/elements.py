"""Programs of element-wise operations on few numbers: one call of a native loop for many of them.

A call of torch takes a microsecond or more; a dozen numbers take some nanoseconds.
"""

from __future__ import annotations

import ctypes
import operator
import struct
from collections.abc import Mapping, Sequence
from functools import cache, partial
from math import prod
from typing import Any, NamedTuple

from stillflow import native
from stillflow.graph import dtypes
from stillflow.graph.lazy import torch
from stillflow.ops.arrays.concat import Joined
from stillflow.ops.arrays.native_kernels import choose, choose_rows
from stillflow.ops.math.add_n import add_all
from stillflow.ops.math.binary import difference_squared, larger, smaller
from stillflow.ops.math.comparison import finite_ones
from stillflow.ops.math.element_loops import square_roots, tangents
from stillflow.ops.math.reduction_kernels import extreme_of

_COPY, _ADD, _CHOOSE = 0, 1, 30
_MOST = 1 << 14  # numbers of a result: for more, several threads pay
_PARTS = 64  # matrices of a result, where one is not enough

View = tuple[str, int, Any]  # name of a tensor, its size, and a view of it without data


class Place(NamedTuple):
    """Numbers of a matrix in the memory of a tensor without gaps.

    Attributes:
      base: name of the tensor.
      size: its numbers.
      offset: where the matrix begins.
      columns: of the matrix; 0 if there are no gaps between its rows.
      row, column: distances of rows and columns; 0 where one row, or number, stands for all.
    """

    base: str
    size: int
    offset: int = 0
    columns: int = 0
    row: int = 0
    column: int = 1


class Instruction(NamedTuple):
    """An operation on matrices of one shape, (rows, columns)."""

    code: int
    shape: tuple[int, int]
    out: Place
    operands: tuple[Place, ...]


@cache
def codes() -> dict[tuple[Any, ...], int]:
    """Return the numbers of operations in native/elements.c, by kernels and other arguments."""
    aten = torch.ops.aten
    return {
        (torch.add,): 1, (torch.sub,): 2, (torch.mul,): 3, (torch.div,): 4,
        (difference_squared,): 5, (torch.neg,): 6, (torch.square,): 7, (torch.pow, 2.0): 7,
        (torch.pow, 3.0): 8, (square_roots,): 9, (torch.rsqrt,): 10, (torch.reciprocal,): 11,
        (torch.abs,): 12, (torch.exp,): 13, (tangents,): 14, (torch.sigmoid,): 15,
        (torch.relu,): 16, (aten.tanh_backward.default,): 17,
        (aten.sigmoid_backward.default,): 18, (aten.leaky_relu_backward.default, 0, False): 19,
        (torch.log,): 20, (torch.maximum,): 21, (larger,): 21, (torch.minimum,): 22,
        (smaller,): 22, **{(function,): 23 + n for n, function in enumerate(_conditions())},
    }  # fmt: skip


def _conditions() -> tuple[Any, ...]:
    return (finite_ones, torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge)


@cache
def _reductions() -> dict[Any, int]:
    extremes = (extreme_of(dtypes.float32, each)[0] for each in (True, False))
    return {each: 31 + n for n, each in enumerate((torch.sum, torch.mean, *extremes))}


@cache
def _kinds() -> dict[Any, str]:
    # Kernels whose results are parts or other shapes of their first argument are views.
    views = (torch.tensor_split, torch.unbind, torch.reshape, torch.unsqueeze, operator.getitem)
    sums = (torch.sum, torch.mean)
    elements = dict.fromkeys([*(key[0] for key in codes()), add_all, *_reductions()], "element")
    conditions = dict.fromkeys(_conditions(), "condition")
    others = dict.fromkeys((choose, choose_rows), "choice") | dict.fromkeys(sums, "sum")
    return {**elements, **conditions, **others, **dict.fromkeys(views, "view")}


def kind_of(function: Any) -> str:
    """Return the kind of a kernel that the native loop may have; "" of others.

    "element", "sum" whose order differs, "condition" of bools, "choice" by one, or "view".
    """
    return "element" if isinstance(function, Joined) else _kinds().get(function, "")


def tensors_of(function: Any, names: list[Any]) -> list[Any]:
    """Return those of a kernel's arguments that are tensors of numbers, not an axis."""
    return names[function.start : function.stop] if isinstance(function, Joined) else names


def place_of(view: View, result: Sequence[int]) -> Place | None:
    """Return the numbers of a view that those of a result are made of; None if no matrix."""
    base, size, data = view
    if data.shape == result and data.numel() == size and data.is_contiguous():
        return Place(base, size)
    levels: list[list[int]] = []  # size and distance, merged, from the last dimension on
    distances = data.expand(tuple(result)).stride()
    for count, distance in zip(reversed(result), reversed(distances), strict=True):
        if levels and distance == levels[-1][0] * levels[-1][1]:
            levels[-1][0] *= count
        elif count > 1:
            levels.append([count, distance])
    if len(levels) > 2 or (levels and levels[0][1] > 1):
        return None
    (columns, column), (_, row) = [*levels, [1, 0], [1, 0]][:2]
    return Place(base, size, data.storage_offset(), columns * (len(levels) > 1), row, column)


def instructions_of(
    function: Any, rest: Sequence[Any], views: Sequence[View], result: View,
    condition: Sequence[Instruction] = (),
) -> list[Instruction] | None:  # fmt: skip
    """Return a kernel's call as instructions; None if the loop does not have them.

    Args:
      function: the kernel.
      rest: its arguments but tensors.
      views: the tensors that it takes.
      result: the tensor that it makes.
      condition: of a choice, the instructions for its first argument.
    """
    sizes = result[1], views[0][2].numel()
    calls = _calls(function, rest, views, result) if 0 < min(sizes) <= max(sizes) <= _MOST else []
    made = [*condition] if calls else []
    while calls:
        code, out, taken = calls.pop(0)
        shape = out[2].shape
        places = [place_of(each, shape) for each in (out, *taken)]
        wanted = {place.columns for place in places if place is not None} - {0}
        if None in places or len(wanted) > 1:  # one matrix after the other
            if code > _CHOOSE or len(shape) < 3 or shape[0] > _PARTS:
                return None
            whole = [(*each[:2], each[2].expand(shape)) for each in (out, *taken)]
            parts = [[(*each[:2], each[2][i]) for each in whole] for i in range(shape[0])]
            calls[:0] = [(code, part[0], part[1:]) for part in parts]
            continue
        columns = wanted.pop() if wanted else prod(shape)
        to, *operands = (place for place in places if place is not None)
        made.append(Instruction(code, (prod(shape) // columns, columns), to, tuple(operands)))
    return made or None


def _calls(
    function: Any, rest: Sequence[Any], views: Sequence[View], result: View
) -> list[tuple[int, View, Sequence[View]]]:
    """Return operations with what each makes, and takes; none of other kernels."""
    name, size, whole = result
    if isinstance(function, Joined):
        counts = [view[2].shape[function.axis] for view in views]
        parts = [(name, size, part) for part in whole.split(counts, function.axis)]
        return [(_COPY, part, [view]) for part, view, n in zip(parts, views, counts) if n]
    if function is add_all:
        return [(_ADD, result, views[:2]), *((_ADD, result, [result, each]) for each in views[2:])]
    if function in (choose, choose_rows):
        when, x, y = views
        if function is choose_rows:
            when = (*when[:2], when[2].reshape(-1, *[1] * (whole.ndim - when[2].ndim)))
        return [(_COPY, result, [y]), (_CHOOSE, result, [when, x])]
    code = _reductions().get(function)
    if code is None:
        code = codes().get((function, *rest))
        return [] if code is None else [(code, result, views)]
    like = views[0][2]
    axes = rest[0] if rest else range(like.ndim)
    kept = whole.reshape([1 if i in axes else n for i, n in enumerate(like.shape)])
    code = _COPY if like.numel() == size else code
    return [(code, (name, size, kept.expand(like.shape)), views)]


class Home(NamedTuple):
    """Memory of a value: a tensor, its size, and the offset of the value in it."""

    tensor: str
    size: int
    offset: int = 0


class Program:
    """Instructions in a row, run by the native loop.

    Args:
      instructions: the instructions.
      homes: of values; instructions may make others, which nobody takes afterwards.
      made: the shapes of the tensors that it makes, by name.
      constants: tensors that it need not be given, by name.

    Attributes:
      inputs: names of the tensors that a call takes.
    """

    def __init__(
        self, instructions: Sequence[Instruction], homes: Mapping[str, Home],
        made: Mapping[str, tuple[int, ...]], constants: Mapping[str, Any],
    ) -> None:  # fmt: skip
        # Nobody else runs meanwhile: the loop keeps the interpreter's lock, and so its memory.
        scratch, places = _scratch(instructions, homes)
        sizes = {
            home.tensor: home.size
            for each in instructions for place in (each.out, *each.operands)
            if (home := places.get(place.base) or homes.get(place.base) or Home(*place[:2]))
        }  # fmt: skip
        fixed = [name for name in sizes if name in constants and name not in made]
        self.inputs = [name for name in sizes if name and name not in made and name not in fixed]
        self._sizes = [sizes[name] for name in self.inputs]
        self._like = [torch.empty(shape, dtype=torch.float32) for shape in made.values()]
        kept = [torch.empty(scratch, dtype=torch.float32)]
        kept += [constants[name].contiguous() for name in fixed]
        self._kept, self._fixed = kept, [each.data_ptr() for each in kept]
        slots = {name: n for n, name in enumerate([*self.inputs, *made, "", *fixed])}
        words = []
        for each in instructions:
            words += [each.code, *each.shape]
            for place in (each.out, *each.operands, each.operands[0])[:3]:
                home = places.get(place.base) or homes.get(place.base) or Home(*place[:2])
                row = place.row if place.columns else place.column * each.shape[1]
                words += [slots[home.tensor], home.offset + place.offset, row, place.column]
        self._words, self._count = (ctypes.c_int64 * len(words))(*words), len(instructions)
        self._pack = struct.Struct(f"{len(slots)}q").pack
        self._call = partial(
            native.library().run_elements,  # type: ignore[union-attr]
            ctypes.addressof(self._words), self._count,
        )  # fmt: skip

    def __call__(self, *inputs: Any) -> Any:
        """Return the tensors that it makes; a single one bare."""
        given = [
            each if each.is_contiguous() and each.numel() == size else _dense(each, size)
            for each, size in zip(inputs, self._sizes)
        ]
        made = [torch.empty_like(each) for each in self._like]
        pointers = [each.data_ptr() for each in (*given, *made)]
        self._call(self._pack(*pointers, *self._fixed))
        return made if len(made) > 1 else made[0]


def _dense(tensor: Any, size: int) -> Any:
    """Return a tensor without gaps; RuntimeError if it has another size."""
    return tensor.reshape(size).contiguous()


def _scratch(
    instructions: Sequence[Instruction], homes: Mapping[str, Home]
) -> tuple[int, dict[str, Home]]:
    """Return the numbers of memory for values that have no home, and a place for each there."""
    last = {place.base: n for n, each in enumerate(instructions) for place in each.operands}
    places: dict[str, Home] = {}
    free: dict[int, list[int]] = {}
    total = 0
    for number, each in enumerate(instructions):
        base, size = each.out[:2]
        if base not in homes and base not in places:
            spare = free.setdefault(size, [])
            if not spare:
                spare.append(total)
                total += size
            places[base] = Home("", 0, spare.pop())
        for base, size in {place[:2] for place in each.operands}:  # parts of one count once
            if base in places and last[base] == number:
                free[size].append(places[base].offset)
    return total, places
