"""Profiles by line as files of pprof (github.com/google/pprof): its message, compressed by gzip."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterable
from typing import Any

from stillflow.profiler.groups import Group
from stillflow.profiler.outputs import write

# {what can be selected: its measure, unit and comment}
_SAMPLES = {
    "bytes": ("requested_bytes", "bytes",
              "Sum of operation total memory requests, excluding deallocations."),
    "peak_bytes": ("peak_bytes", "bytes", "Sum of operation peak memory usage."),
    "residual_bytes": ("residual_bytes", "bytes",
                       "Sum of operation allocated memory after finish."),
    "output_bytes": ("output_bytes", "bytes", "Sum of operation output size."),
    "micros": ("exec_micros", "microseconds",
               "Sum of accelerator execution time and cpu execution time."),
    "accelerator_micros": ("accelerator_exec_micros", "microseconds",
                           "Accelerator execution time."),
    "cpu_micros": ("cpu_exec_micros", "microseconds", "CPU execution time."),
    "params": ("parameters", "count", "Model parameters."),
    "float_ops": ("float_ops", "count", "Model float operations (Only available if defined)."),
}  # fmt: skip


def selected(options: Any) -> str | None:
    """The one thing that a profile shows; None, and a line on stderr, if it cannot be shown."""
    if len(set(options.select)) != 1:
        print("Can only select 1 attribute for pprof output.", file=sys.stderr)
        return None
    name: str = options.select[0]
    if name not in _SAMPLES:
        print(f"pprof doesn't support -select={name}", file=sys.stderr)
        return None
    return name


def put_out(root: Group, name: str, path: str) -> None:
    """Writes the profile of what is shown below a root, and says how to look at it."""
    if write(path, gzip.compress(_Profile(root, name).message(), mtime=0)):
        print(f"\nRun pprof -png --nodecount=100 --sample_index=1 <{path}>")


class _Profile:
    """Collects a profile: a sample for each operation, with the calls that made it."""

    def __init__(self, root: Group, name: str) -> None:
        self._measure, self._unit, self._comment = _SAMPLES[name]
        self._name = name
        self._words: dict[str, int] = {"": 0}
        self._functions: dict[tuple[str, str, int], int] = {}
        self._locations: dict[tuple[str, str, int], tuple[int, int]] = {}
        self._samples: dict[str, tuple[list[int], int, int]] = {}
        self._visit(root, [])

    def _word(self, text: str) -> int:
        return self._words.setdefault(text, len(self._words))

    def _visit(self, group: Group, calls: list[int]) -> None:
        """Goes down to the innermost lines shown; `calls` are the locations on the way."""
        if not group.shown and group.trace is not None:
            self._add_samples(group, group.step, calls[::-1])
        for child in group.shown:
            if group.trace is None:
                self._visit(child, calls)
            else:
                self._visit(child, [*calls, self._location(group.trace, child.trace)])

    def _location(self, caller: Any, called: Any) -> int:
        """The number of a call; numbers begin with 1."""
        path, line, _, _ = caller
        called_path, _, function, begins = called
        key = (path, function, line)
        if key not in self._locations:
            known = self._functions
            of_function = known.setdefault((called_path, function, begins), len(known) + 1)
            self._locations[key] = (len(self._locations) + 1, of_function)
        return self._locations[key][0]

    def _add_samples(self, group: Group, step: int, calls: list[int]) -> None:
        for child in group.children:
            self._add_samples(child, step, calls)
        if group.children:
            return
        for name in sorted(group.picked):
            unique = name
            while unique in self._samples:
                unique += "@"
            amount = group.picked[name].at(step)[self._measure]
            self._samples[unique] = (calls, self._word(name), amount)

    def message(self) -> bytes:
        """The serialized message."""
        kinds = [("count", "count"), (self._name, self._unit)]
        sample_types = [(self._word(kind), self._word(unit)) for kind, unit in kinds]
        comment, label = self._word(self._comment), self._word("graph node:")
        functions = b"".join(
            _field(5, _numbers(1, number) + _numbers(2, self._word(_function_name(path, function)))
                   + _numbers(4, self._word(path)) + _numbers(5, begins))
            for (path, function, begins), number in sorted(self._functions.items())
        )  # fmt: skip
        locations = b"".join(
            _field(4, _numbers(1, number)
                   + _field(4, _numbers(1, of_function) + _numbers(2, line)))
            for (_, _, line), (number, of_function) in sorted(self._locations.items())
        )  # fmt: skip
        samples = b"".join(
            _field(2, _packed(1, calls) + _packed(2, [1, amount])
                   + _field(3, _numbers(1, label) + _numbers(2, word)))
            for _, (calls, word, amount) in sorted(self._samples.items())
        )  # fmt: skip
        types = b"".join(_field(1, _numbers(1, a) + _numbers(2, b)) for a, b in sample_types)
        words = b"".join(_field(6, word.encode()) for word in self._words)
        return types + samples + locations + functions + words + _packed(13, [comment])


def _function_name(path: str, function: str) -> str:
    return f"{os.path.basename(path).rpartition('.')[0] or os.path.basename(path)}:{function}"


def _varint(number: int) -> bytes:
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def _numbers(field: int, number: int) -> bytes:
    return _varint(field << 3) + _varint(number) if number else b""


def _field(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _packed(field: int, numbers: Iterable[int]) -> bytes:
    content = b"".join(map(_varint, numbers))
    return _field(field, content) if content else b""
