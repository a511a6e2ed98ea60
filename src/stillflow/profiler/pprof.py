"""Profiles by line as files of pprof (github.com/google/pprof): its message, compressed by gzip."""

from __future__ import annotations

import gzip
import os
import sys
from typing import Any

from stillflow.profiler.groups import Group
from stillflow.profiler.outputs import write
from stillflow.protos import file

# {selectable column: its measure, unit and comment}
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
    """Return the one thing that a profile shows.

    None, and a line on stderr, if it cannot be shown.
    """
    if len(set(options.select)) != 1:
        print("Can only select 1 attribute for pprof output.", file=sys.stderr)
        return None
    name: str = options.select[0]
    if name not in _SAMPLES:
        print(f"pprof doesn't support -select={name}", file=sys.stderr)
        return None
    return name


def put_out(root: Group, name: str, path: str) -> None:
    """Write the profile of the entries shown below a root, and print the way to view it."""
    if write(path, gzip.compress(_Builder(root, name).finished(), mtime=0)):
        print(f"\nRun pprof -png --nodecount=100 --sample_index=1 <{path}>")


class _Builder:
    """Builder of a profile: a sample for each operation, with the calls that made it."""

    def __init__(self, root: Group, name: str) -> None:
        self._measure, unit, comment = _SAMPLES[name]
        self._profile = file("tensorflow/core/profiler/profile.proto")["Profile"]()
        self._words = {"": 0}
        self._functions: dict[Any, int] = {}
        self._locations: dict[Any, int] = {}
        for kind, its_unit in (("count", "count"), (name, unit)):
            self._profile.sample_type.add(type=self._word(kind), unit=self._word(its_unit))
        self._profile.comment.append(self._word(comment))
        self._visit(root, [])

    def finished(self) -> bytes:
        """Return the serialized profile."""
        self._profile.string_table.extend(self._words)
        data: bytes = self._profile.SerializeToString()
        return data

    def _word(self, text: str) -> int:
        return self._words.setdefault(text, len(self._words))

    def _visit(self, group: Group, calls: list[int]) -> None:
        """Goes down to the innermost lines shown; `calls` are the locations on the way."""
        if not group.shown and group.trace is not None:
            self._add_samples(group, calls[::-1])
        for child in group.shown:
            if group.trace is None:
                self._visit(child, calls)
            else:
                self._visit(child, [*calls, self._location(group.trace, child.trace)])

    def _location(self, caller: Any, called: Any) -> int:
        """Return the number of a call; numbers begin with 1."""
        path, line, _, _ = caller
        key = (path, called[2], line)
        if key not in self._locations:
            self._locations[key] = len(self._locations) + 1
            location = self._profile.location.add(id=self._locations[key])
            location.line.add(function_id=self._function(called), line=line)
        return self._locations[key]

    def _function(self, called: Any) -> int:
        path, _, function, begins = called
        key = (path, function, begins)
        if key not in self._functions:
            self._functions[key] = len(self._functions) + 1
            module = os.path.splitext(os.path.basename(path))[0]
            self._profile.function.add(
                id=self._functions[key], name=self._word(f"{module}:{function}"),
                filename=self._word(path), start_line=begins,
            )  # fmt: skip
        return self._functions[key]

    def _add_samples(self, group: Group, calls: list[int]) -> None:
        """Add a sample for each operation of the innermost lines, shown or not."""
        for child in group.children:
            self._add_samples(child, calls)
        for name in () if group.children else sorted(group.picked):
            amount = group.picked[name].at(group.step)[self._measure]
            sample = self._profile.sample.add(location_id=calls, value=[1, amount])
            sample.label.add(key=self._word("graph node:"), str=self._word(name))
