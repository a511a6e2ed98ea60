"""Counters, gauges and histograms in Prometheus' text format."""

from __future__ import annotations

import bisect
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

CONTENT_TYPE = "text/plain"


class Metric:
    """A metric with one cell for each combination of its labels' values."""

    kind = ""

    def __init__(self, name: str, labels: Sequence[str] = ()) -> None:
        self.name = re.sub(r"[^a-zA-Z0-9_:]", "_", name.replace("/", ":"))
        self.labels = tuple(labels)
        self._lock = threading.Lock()
        self._values: dict[tuple[str, ...], Any] = {}

    def _tags(self, values: Sequence[str], more: str = "") -> str:
        told = [f'{name}="{_escaped(value)}"' for name, value in zip(self.labels, values)]
        text = ",".join([*told, more] if more else told)
        return f"{{{text}}}" if text else ""

    def lines(self) -> Iterator[str]:
        """Yield the lines of the page: the type, then each cell."""
        yield f"# TYPE {self.name} {self.kind}"
        yield from self._cells()

    def _cells(self) -> Iterator[str]:
        raise NotImplementedError

    def counts(self) -> list[tuple[tuple[str, ...], Any]]:
        """Return the values of the cells, as JSON can hold them."""
        with self._lock:
            return sorted((labels, _copied(value)) for labels, value in self._values.items())

    def merge(self, counts: Sequence[Any]) -> None:
        """Add the counts of the same metric in another process."""
        with self._lock:
            for labels, value in counts:
                before = self._values.get(tuple(labels))
                both = _copied(value) if before is None else _sum(before, value)
                self._values[tuple(labels)] = both


def _copied(value: Any) -> Any:
    return list(value) if isinstance(value, list) else value


def _sum(a: Any, b: Any) -> Any:
    return [x + y for x, y in zip(a, b, strict=True)] if isinstance(a, list) else a + b


class Counter(Metric):
    """A number of events, which only grows."""

    kind = "counter"

    def add(self, *labels: str, count: int = 1) -> None:
        """Count events under these values of the labels."""
        with self._lock:
            self._values[labels] = self._values.get(labels, 0) + count

    def value(self, *labels: str) -> int:
        """Return the count so far."""
        return self._values.get(labels, 0)

    def _cells(self) -> Iterator[str]:
        for labels, count in self.counts():
            yield f"{self.name}{self._tags(labels)} {count}"


class Gauge(Metric):
    """A number that a function knows at the moment of the question.

    Attributes:
      read: the function.
    """

    kind = "gauge"

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.read: Callable[[], float] = lambda: 0

    def counts(self) -> list[tuple[tuple[str, ...], Any]]:
        """Return the number now, with those of other processes."""
        return [((), self.read() + sum(self._values.values()))]

    def _cells(self) -> Iterator[str]:
        yield f"{self.name} {self.counts()[0][1]:g}"


class Gauges(Metric):
    """Numbers that a function knows at the moment of the question, by the values of labels."""

    kind = "gauge"

    def __init__(
        self, name: str, labels: Sequence[str], read: Callable[[], Mapping[tuple[str, ...], float]]
    ) -> None:
        super().__init__(name, labels)
        self._read = read

    def _cells(self) -> Iterator[str]:
        for labels, value in sorted(self._read().items()):
            yield f"{self.name}{self._tags(labels)} {value:g}"


class Histogram(Metric):
    """A distribution of values over buckets.

    Args:
      name: of the metric.
      labels: names of the labels.
      start, growth, count: the upper bounds, start * growth**i.
    """

    kind = "histogram"

    def __init__(
        self, name: str, labels: Sequence[str], start: float, growth: float, count: int
    ) -> None:
        super().__init__(name, labels)
        self._bounds = [start * growth**index for index in range(count)]

    def add(self, value: float, *labels: str) -> None:
        """Add a value under these values of the labels."""
        index = bisect.bisect_right(self._bounds, value)
        with self._lock:
            cell = self._values.get(labels)
            if cell is None:  # the counts of the buckets and of all above, then the sum
                cell = self._values[labels] = [0.0] * (len(self._bounds) + 2)
            cell[index] += 1
            cell[-1] += value

    def _cells(self) -> Iterator[str]:
        for labels, cell in self.counts():
            total = 0.0
            for bound, count in zip([*map("{:g}".format, self._bounds), "+Inf"], cell):
                total += count
                tags = self._tags(labels, f'le="{bound}"')
                yield f"{self.name}_bucket{tags} {total:.0f}"
            yield f"{self.name}_sum{self._tags(labels)} {cell[-1]:g}"
            yield f"{self.name}_count{self._tags(labels)} {total:.0f}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def page(metrics: Iterable[Metric]) -> str:
    """Return the page that Prometheus reads."""
    return "\n".join(line for each in metrics for line in each.lines()) + "\n"
