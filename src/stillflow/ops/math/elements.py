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
from stillflow.graph.lazy import torch
from stillflow.ops.arrays.concat import Joined
from stillflow.ops.math.add_n import add_all
from stillflow.ops.math.binary import difference_squared
from stillflow.ops.math.element_loops import square_roots, tangents

_COPY, _ADD = 0, 1
_MOST = 1 << 14  # numbers of a result: for more, several threads pay

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
    }  # fmt: skip


@cache
def _kinds() -> dict[Any, str]:
    # Kernels whose results are parts or other shapes of their first argument are views.
    views = (torch.tensor_split, torch.unbind, torch.reshape, operator.getitem)
    elements = dict.fromkeys([*(key[0] for key in codes()), add_all], "element")
    return {**elements, **dict.fromkeys(views, "view")}


def kind_of(function: Any) -> str:
    """Return "element" for kernels that the native loop may have, "view" for views, or ""."""
    return "element" if isinstance(function, Joined) else _kinds().get(function, "")


def tensors_of(function: Any, names: list[Any]) -> list[Any]:
    """Return those of a kernel's arguments that are tensors of numbers, not an axis."""
    return names[function.start : function.stop] if isinstance(function, Joined) else names


def place_of(view: View, result: Sequence[int]) -> Place | None:
    """Return the numbers of a view that those of a result are made of; None if no matrix."""
    base, size, data = view
    if data.shape == result and data.numel() == size:
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
    function: Any, rest: Sequence[Any], views: Sequence[View], result: View
) -> list[Instruction] | None:
    """Return a kernel's call as instructions; None if the loop does not have them.

    Args:
      function: the kernel.
      rest: its arguments but tensors.
      views: the tensors that it takes.
      result: the tensor that it makes.
    """
    name, size, whole = result
    calls: list[tuple[int, View, Sequence[View]]] = []
    if not 0 < size <= _MOST:
        return None
    if isinstance(function, Joined):
        start, axis = 0, function.axis
        for view in views:
            count = view[2].shape[axis]
            if not count:
                continue
            calls.append((_COPY, (name, size, whole.narrow(axis, start, count)), [view]))
            start += count
    elif function is add_all:
        calls = [(_ADD, result, views[:2]), *((_ADD, result, [result, each]) for each in views[2:])]
    elif (code := codes().get((function, *rest))) is not None:
        calls = [(code, result, views)]
    made = []
    for code, out, taken in calls:
        shape = out[2].shape
        places = [place_of(each, shape) for each in (out, *taken)]
        wanted = {place.columns for place in places if place is not None} - {0}
        if None in places or len(wanted) > 1:
            return None
        columns = wanted.pop() if wanted else prod(shape)
        to, *operands = (place for place in places if place is not None)
        made.append(Instruction(code, (prod(shape) // columns, columns), to, tuple(operands)))
    return made or None


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
