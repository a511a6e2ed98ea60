"""Statistics of nodes in several runs, and tables of them in TensorFlow's form."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np


class Stat:
    """Integers, one of each run: the first and last, the least and largest, sums."""

    def __init__(self) -> None:
        self.count = self.first = self.newest = self.sum = self.squares = 0
        self.min, self.max = math.inf, -math.inf

    def update(self, value: int) -> None:
        """Add that of one more run."""
        if not self.count:
            self.first = value
        self.newest = value
        self.min, self.max = min(self.min, value), max(self.max, value)
        self.count += 1
        self.sum += value
        self.squares += value * value

    @property
    def average(self) -> float:
        """The mean."""
        return self.sum / self.count

    def __str__(self) -> str:
        if not self.count:
            return "count=0"
        if self.min == self.max:
            same = "(all same)" if self.count > 1 else ""
            return f"count={self.count} curr={self.newest}{same}"
        variance = float(self.squares) / self.count - self.average * self.average
        return (
            f"count={self.count} first={self.first} curr={self.newest} min={self.min} "
            f"max={self.max} avg={self.average:g} std={int(math.sqrt(max(variance, 0)))}"
        )


@dataclass
class Detail:
    """One node: when it began, how long it took and how much memory, in each run."""

    name: str
    type: str
    order: int
    start: Stat = field(default_factory=Stat)
    time: Stat = field(default_factory=Stat)
    memory: Stat = field(default_factory=Stat)
    calls: int = 0


def _cells(cells: Iterable[tuple[int, object]]) -> str:
    """Columns of at least these widths; numbers with three digits after the point."""
    return "".join(
        f"\t{_shown(value) if isinstance(value, (float, np.floating)) else value!s:>{width}}"
        for width, value in cells
    )


def _shown(number: float | np.floating) -> str:
    if math.isnan(number):
        return "-nan"  # zero divided by zero in C
    return f"{float(number):.3f}"


def _part(share: float | np.floating, whole: float | np.floating) -> float | np.floating:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.divide(share, whole)


class Statistics:
    """All nodes of all runs."""

    def __init__(self) -> None:
        self.details: dict[str, Detail] = {}
        self.total = Stat()  # microseconds of each run
        self.memory = Stat()  # bytes of each run

    def add(self, name: str, kind: str, order: int, start: int, time: int, memory: int) -> None:
        """Add a node's costs in one run.

        Args:
          name: the node's.
          kind: its operation.
          order: which node of the run it is.
          start: microseconds after the run's first node.
          time: how many it took.
          memory: in bytes.
        """
        detail = self.details.setdefault(name, Detail(name, kind, order))
        detail.start.update(start)
        detail.time.update(time)
        detail.memory.update(memory)
        detail.calls += 1

    def table(self, title: str, key: str, most: int = 0) -> str:
        """Return a line for each node.

        Args:
          title: of the table.
          key: "order", "time" or "memory": what decides which nodes come first.
          most: how many there are at most; 0 is all.
        """
        head = [
            (24, "[node type]"), (17, "[start]"), (9, "[first]"), (9, "[avg ms]"), (8, "[%]"),
            (8, "[cdf%]"), (10, "[mem KB]"), (9, "[times called]"),
        ]  # fmt: skip
        lines = [f"{'=' * 30} {title} {'=' * 30}", _cells(head) + "\t[Name]"]
        so_far = 0
        for detail in self._ordered(key)[: most or None]:
            so_far += detail.time.sum
            lines.append(self._line(detail, so_far))
        return "\n".join(lines) + "\n\n"

    def _ordered(self, key: str) -> list[Detail]:
        """Return the nodes, sorted by a text, as TensorFlow does.

        Later ones first where it is equal.
        """
        texts = {
            "order": lambda detail: str(len(self.details) - detail.order),
            "time": lambda detail: f"{detail.time.average:.10f}",
            "memory": lambda detail: f"{detail.memory.average:.10f}",
        }
        ranked = [
            (texts[key](detail).rjust(20), place, detail)
            for place, detail in enumerate(self.details.values())
        ]
        return [detail for *_, detail in sorted(ranked, key=lambda each: each[:2], reverse=True)]

    def _line(self, detail: Detail, so_far: int) -> str:
        total = self.total.sum
        share = _part(np.float64(detail.time.sum * 100.0), np.float64(total))
        cdf = _part(np.float32(so_far) * np.float32(100), np.float32(total))
        cells = [
            (24, detail.type), (17, detail.start.average / 1000), (9, detail.time.first / 1000),
            (9, detail.time.average / 1000), (7, share),
        ]  # fmt: skip
        rest = [(10, detail.memory.newest / 1000), (9, detail.calls // self.total.count)]
        return f"{_cells(cells)}%{_cells([(7, cdf)])}%{_cells(rest)}\t{detail.name}"

    def by_type(self) -> str:
        """Return a table with a line for each type of operation."""
        sums: dict[str, list[int]] = {}  # count, time, memory, calls
        for detail in self.details.values():
            of_type = sums.setdefault(detail.type, [0, 0, 0, 0])
            runs = self.total.count
            each = (1, detail.time.sum // runs, detail.memory.newest, detail.calls // runs)
            sums[detail.type] = [old + new for old, new in zip(of_type, each, strict=True)]
        whole = np.float32(sum(time for _, time, _, _ in sums.values()))
        head = [
            (24, "[Node type]"), (9, "[count]"), (10, "[avg ms]"), (11, "[avg %]"), (11, "[cdf %]"),
            (10, "[mem KB]"), (10, "[times called]"),
        ]  # fmt: skip
        lines = [
            f"Number of nodes executed: {len(self.details)}",
            f"{'=' * 30} Summary by node type {'=' * 30}",
            _cells(head),
        ]
        cdf = np.float32(0)
        ranked = sorted(sums.items(), key=lambda item: (item[1][1], item[0]), reverse=True)
        for kind, (count, time, memory, calls) in ranked:
            share = _part(np.float32(time), whole) * np.float32(100)
            cdf = cdf + share
            milliseconds = np.float32(time) / np.float32(1000)
            rest = [(10, np.float32(memory) / np.float32(1000)), (9, calls)]
            lines.append(
                f"{_cells([(24, kind), (9, count), (10, milliseconds), (10, share)])}%"
                f"{_cells([(10, cdf)])}%{_cells(rest)}"
            )
        return "\n".join(lines) + "\n\n"

    def short(self) -> str:
        """Return the statistics of all runs."""
        return (
            f"Timings (microseconds): {self.total}\nMemory (bytes): {self.memory}\n"
            f"{len(self.details)} nodes observed\n"
        )

    def report(self) -> str:
        """All tables, one after the other."""
        return (
            self.table("Run Order", "order")
            + self.table("Top by Computation Time", "time", 10)
            + self.table("Top by Memory Use", "memory", 10)
            + self.by_type()
            + self.short()
            + "\n"
        )
