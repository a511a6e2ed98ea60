"""Counters and histograms of the server, in Prometheus' text format.

Names are those under which TensorFlow Serving exports its own: `/tensorflow/serving/request_count`
is `:tensorflow:serving:request_count`. Metrics of ours begin with `:stillflow:serving:`.
"""

from __future__ import annotations

import bisect
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

CONTENT_TYPE = "text/plain"


class _Metric:
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


class Counter(_Metric):
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


class Gauge(_Metric):
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


class Histogram(_Metric):
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


class Metrics:
    """All metrics of one server; latencies are in microseconds."""

    def __init__(self) -> None:
        tf, ours = "/tensorflow/serving/", "/stillflow/serving/"
        latency = (10, 1.8, 33)  # to about twenty minutes
        self.requests = Counter(tf + "request_count", ["model_name", "status"])
        self.request_latency = Histogram(
            tf + "request_latency", ["model_name", "API", "entrypoint"], *latency
        )
        self.runtime_latency = Histogram(
            tf + "runtime_latency", ["model_name", "API", "runtime"], *latency
        )
        self.examples = Counter(tf + "request_example_count_total", ["model"])
        self.example_counts = Histogram(tf + "request_example_counts", ["model"], 1, 2, 15)
        self.queueing = Histogram(
            tf + "batching_session/queuing_latency", ["thread_pool_name"], 100, 1.2, 52
        )
        self.signature_requests = Counter(
            ours + "signature_request_count", ["model_name", "version", "signature", "API"]
        )
        self.batch_sizes = Histogram(ours + "batch_size", ["model_name", "version"], 1, 2, 15)
        self.loads = Counter(ours + "load_count", ["model_name", "version", "status"])
        self.logged = Counter(ours + "request_log_count", ["status"])
        self.queue_length = Gauge(ours + "batch_queue_length")

    def _all(self) -> dict[str, _Metric]:
        return {each.name: each for each in vars(self).values() if isinstance(each, _Metric)}

    def counts(self) -> dict[str, Any]:
        """Return all values by the names of metrics, as JSON can hold them."""
        return {name: each.counts() for name, each in self._all().items()}

    def merge(self, counts: Mapping[str, Any]) -> None:
        """Add the counts of another process."""
        for name, each in self._all().items():
            each.merge(counts[name])

    def page(self) -> str:
        """Return the page that Prometheus reads."""
        return "\n".join(line for each in self._all().values() for line in each.lines()) + "\n"
