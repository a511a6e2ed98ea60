"""Programs of steps on few numbers of any shape: one call of a native loop for hundreds of steps.

A kernel may say which step of native/small_steps.c it is: by `small_step`, the name and numbers.
"""

from __future__ import annotations

import ctypes
import struct
from array import array
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from stillflow.graph.lazy import torch
from stillflow.util.texts import address_of, library

KINDS = {"float32": 0, "int32": 1, "int64": 2, "bool": 3, "string": 4, "resource": 5}
_WORDS = 9  # of a `Value`: its kind, rank, six sizes and address
_ROOM, _MOST = 1 << 14, 1 << 22  # bytes for results: at first, and at last
_PAUSES = 1023  # runs without the native loop after it has given up time and again


class Instruction(NamedTuple):
    """A step: its number and attributes; names or arrays that it takes; names that it gives."""

    code: int
    attributes: list[int]
    operands: list[Any]
    outputs: list[str]


def named(function: Any, name: str, *numbers: int) -> Any:
    """Return a kernel that says which native step it is."""
    function.small_step = (name, *numbers)
    return function


def total(function: Any) -> Any:
    """Return a kernel that says that it fails for no values."""
    function.is_total = True
    return function


def step_of(name: str) -> tuple[int, list[str]] | None:
    """Return the number of a native step and the names of its attributes, if there is one."""
    return None if library() is None else _step(name)


@cache
def _step(name: str) -> tuple[int, list[str]] | None:
    loops: Any = library()
    attributes = ctypes.c_char_p()
    code = loops.find_step(name.encode(), ctypes.byref(attributes))
    return None if code < 0 else (code, (attributes.value or b"").decode().split())


def words_of(value: Any) -> list[int]:
    """Return an attribute as numbers: of a format its last letter, of a list its length first."""
    if isinstance(value, bytes):
        return [*value[-1:]] or [0]
    if isinstance(value, (list, tuple)):
        return [len(value), *(word for each in value for word in words_of(each))]
    return [*struct.unpack("q", struct.pack("d", value))] if isinstance(value, float) else [value]


def kind_of(value: Any) -> int | None:
    """Return the kind of an array, a tensor or a type; None of those that no step takes."""
    dtype = getattr(value, "dtype", value)
    return KINDS.get("string" if dtype == np.dtype(object) else str(dtype).split(".")[-1])


class Run(NamedTuple):
    """Values of a program that another one takes as they are, and what keeps their memory."""

    values: array[int]
    kept: Any


class Program:
    """Steps that the native loop runs; where it gives up, `plain` does, or raises the error.

    A call takes the `Run`s of other programs first, then the inputs. It gives its own, then the
    outputs.

    Args:
      instructions: the steps.
      kinds: of all values by name, one of `KINDS`.
      inputs, outputs: names of values that a call takes and gives.
      carried: of each value of another program its name, the number of the `Run`, its number there.
      carries: names of values that other programs take.
      constants: other values, by name.
      plain: the same as a function of inputs and carried values, which gives outputs and `carries`.

    Attributes:
      numbers: of the values, by name.
    """

    def __init__(
        self, instructions: Sequence[Instruction], kinds: Mapping[str, int], inputs: Sequence[str],
        outputs: Sequence[str], carried: Sequence[tuple[str, int, int]], carries: Sequence[str],
        constants: Mapping[str, Any], plain: Callable[..., Any],
    ) -> None:  # fmt: skip
        self._plain, self._loops = plain, library()
        self._handles = [kinds[name] == KINDS["resource"] for name in inputs]
        self._room, self._pause, self._pauses = _ROOM, 0, 0
        self._values, self._kept = array("q"), list[Any]()
        taken = (*inputs, *(name for name, *_ in carried))
        numbers = self.numbers = {name: self._value(kinds[name]) for name in taken}
        words = self._words = array("q")
        for code, attributes, operands, made in instructions:
            places = [
                numbers[each] if isinstance(each, str) and each in numbers
                else self._constant(constants[each] if isinstance(each, str) else each)
                for each in operands
            ]  # fmt: skip
            numbers.update((name, self._value(kinds[name])) for name in made)
            places += [numbers[name] for name in made]
            sizes = (2 + len(places) + len(attributes), len(operands), len(made))
            words.extend([code, *sizes, *places, *attributes])
        self._count, self._sources = len(instructions), 1 + max([-1, *(n for _, n, _ in carried)])
        self._carried = array("q", (n for name, *rest in carried for n in (numbers[name], *rest)))
        self._outputs, self._carries = ([numbers[n] for n in each] for each in (outputs, carries))

    def _value(self, kind: int | None, *rest: int) -> int:
        """Return the number of a new value."""
        assert kind is not None
        self._values.extend([kind, *rest, *[0] * (_WORDS - 1 - len(rest))])
        return len(self._values) // _WORDS - 1

    def _constant(self, value: Any) -> int:
        data = value.numpy() if isinstance(value, torch.Tensor) else value
        self._kept.append(data := _dense(data))
        number = self._value(kind_of(data), data.ndim, *data.shape)
        self._values[-1] = data.ctypes.data
        return number

    def __call__(self, *inputs: Any) -> Any:
        """Return the `Run`, and the values that it gives."""
        runs, given = inputs[: self._sources], inputs[self._sources :]
        self._pause -= 1
        run = None if self._pause > 0 else self._natively(runs, given)
        if run is not None:
            self._pauses = 0
            return [run, *self._tensors(run.values, self._outputs)] if self._outputs else run
        if self._pause <= 0:
            self._pause = self._pauses = min(2 * self._pauses + 1, _PAUSES)
        carried = zip(self._carried[1::3], self._carried[2::3])
        taken = [self._tensors(runs[number].values, [place])[0] for number, place in carried]
        made: list[Any] = [_dense(each) for each in self._plain(*given, *taken)]
        values, count = self._values[:], len(self._outputs)
        for number, each in zip(self._carries, made[count:]):
            begin = number * _WORDS + 1
            address, *shape = _words_of(each)
            values[begin : begin + len(shape)] = array("q", shape)
            values[begin + _WORDS - 2] = address
        run = Run(values, (made, runs))
        return [run, *made[:count]] if count else run

    def _natively(self, runs: Sequence[Run], inputs: Sequence[Any]) -> Run | None:
        loops: Any = self._loops
        given, kept = array("q"), []
        for each, is_handle in zip(inputs, self._handles):
            if is_handle and (each := native_values(each)) is None:
                return None
            kept.append(_dense(each))
            given.extend(_words_of(kept[-1]))
        sources = array("q", [run.values.buffer_info()[0] for run in runs])
        while True:
            values, memory = self._values[:], torch.empty(self._room, dtype=torch.uint8)
            failed = loops.run_steps(
                _at(values), _at(self._words), self._count, _at(given), len(inputs), _at(sources),
                _at(self._carried), len(self._carried) // 3, memory.data_ptr(), self._room,
            )  # fmt: skip
            if failed >= 0 or self._room >= _MOST:
                return Run(values, (memory, kept, runs)) if not failed else None
            self._room *= 4

    def _tensors(self, values: array[int], numbers: Sequence[int]) -> list[Any]:
        loops: Any = self._loops
        made, which, places = [], array("q", numbers), array("q")
        for number in numbers:
            begin = number * _WORDS + 2
            shape = tuple(values[begin : begin + values[begin - 1]])
            dtype = _types()[values[begin - 2]]
            made.append(
                np.empty(shape, object) if dtype is None else torch.empty(shape, dtype=dtype)
            )
            places.append(_words_of(made[-1])[0])
        loops.copy_results(_at(values), _at(which), len(made), _at(places))
        return made


@cache
def _types() -> list[Any]:
    return [getattr(torch, name, None) for name in KINDS]


def _dense(value: Any) -> Any:
    """Return a tensor or array without gaps."""
    if isinstance(value, torch.Tensor):
        return value if value.is_contiguous() else value.contiguous()
    return np.ascontiguousarray(value).reshape(value.shape)


def _at(numbers: array[int]) -> int:
    return numbers.buffer_info()[0]


def _words_of(value: Any) -> tuple[int, ...]:
    """Return the address, rank and sizes of a contiguous tensor or array."""
    address = value.data_ptr() if isinstance(value, torch.Tensor) else address_of(value)
    return (address, value.ndim, *value.shape)


def native_values(handle: Any) -> Any:
    """Return what a step takes of a handle: a variable's floats, or a table; None of others."""
    found = getattr(handle, "native_values", None)
    value = found() if found is not None else getattr(handle, "value", None)
    return value if kind_of(value) in (KINDS["float32"], KINDS["int64"]) else None
