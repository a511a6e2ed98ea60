"""Statistics of pipelines: aggregators, and the datasets that report to them."""

from __future__ import annotations

import collections
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph.arrays import string_scalar
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.pipeline import (
    TYPED,
    Context,
    Dataset,
    as_dataset,
    invalid,
    scalar,
    unary,
)
from stillflow.ops.data.walk import Element, State, Walk
from stillflow.ops.summary.buckets import bucket_limits, histogram_message
from stillflow.ops.summary.encoding import SUMMARY

_HANDLE = (
    '() -> handle: resource\ncontainer: string = ""\nshared_name: string = ""\nflags: stateful'
)
stats_aggregator_handle_op = op(f"StatsAggregatorHandle{_HANDLE}")
stats_aggregator_handle_v2_op = op(f"StatsAggregatorHandleV2{_HANDLE}")
stats_aggregator_set_summary_writer_op = op(
    "StatsAggregatorSetSummaryWriter(stats_aggregator: resource, summary: resource)"
    "\nflags: stateful",
    effect="writes files",
)
stats_aggregator_summary_op = op(
    "StatsAggregatorSummary(iterator: resource) -> summary: string\nflags: stateful"
)
set_stats_aggregator_dataset_op = unary(
    "SetStatsAggregatorDataset", "stats_aggregator: resource, tag: string, counter_prefix: string",
    f"{TYPED}\nflags: stateful",
)  # fmt: skip
latency_stats_dataset_op = unary("LatencyStatsDataset", "tag: string", TYPED)
bytes_produced_stats_dataset_op = unary("BytesProducedStatsDataset", "tag: string", TYPED)


class _Histogram:
    """Numbers that come one by one, by buckets."""

    def __init__(self) -> None:
        self.counts = np.zeros(bucket_limits().size, np.int64)
        self.low, self.high = np.inf, -np.inf
        self.number = self.total = self.squares = 0.0

    def add(self, value: float) -> None:
        bucket = int(np.searchsorted(bucket_limits(), value, side="right"))
        self.counts[min(bucket, self.counts.size - 1)] += 1
        self.low, self.high = min(self.low, value), max(self.high, value)
        self.number += 1
        self.total += value
        self.squares += value * value

    def message(self) -> bytes:
        sums = self.low, self.high, self.number, self.total, self.squares
        return histogram_message(sums, self.counts)


class StatsAggregator:
    """Statistics that were reported, by name."""

    shape = ()

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._histograms: dict[str, _Histogram] = {}
        self._scalars: dict[str, float] = {}

    def add_to_histogram(self, name: str, value: float, step: int = 0) -> None:
        """Add a number to a histogram."""
        with self._lock:
            self._histograms.setdefault(name, _Histogram()).add(value)

    def add_scalar(self, name: str, value: float, step: int = 0) -> None:
        """Set the last value of a number."""
        with self._lock:
            self._scalars[name] = value

    def summary(self) -> bytes:
        """All numbers as a serialized `Summary`."""
        from stillflow.protos import HistogramProto, Summary

        message = Summary()
        with self._lock:
            for name, found in self._histograms.items():
                message.value.add(tag=name, histo=HistogramProto.FromString(found.message()))
            for name, value in self._scalars.items():
                message.value.add(tag=name, simple_value=value)
        return bytes(message.SerializeToString())


class WritingAggregator:
    """Aggregator that writes each report to event files; its own summary is empty.

    Attributes:
      writer: of the events, None before there is one.
    """

    shape = ()

    def __init__(self) -> None:
        self.writer: Any = None
        self._lock = threading.Lock()
        self._histograms: dict[str, _Histogram] = {}

    def add_to_histogram(self, name: str, value: float, step: int = 0) -> None:
        """Add a number to a histogram, and write the histogram."""
        from stillflow.protos import HistogramProto

        with self._lock:
            counted = self._histograms.setdefault(name, _Histogram())
            counted.add(value)
            message = HistogramProto.FromString(counted.message())
            self._write(step, tag=name, histo=message)

    def add_scalar(self, name: str, value: float, step: int = 0) -> None:
        """Write a number."""
        with self._lock:
            self._write(step, tag=name, simple_value=value)

    def _write(self, step: int, **value: Any) -> None:
        from stillflow.protos import Summary

        if self.writer is not None:
            summary = Summary(value=[Summary.Value(**value)])
            self.writer.writer().add_field(step, SUMMARY, summary.SerializeToString())

    def summary(self) -> bytes:
        """Return a summary without values."""
        return b""


class _Tagged:
    """An aggregator that puts a tag before names.

    With `counts` reports have steps, as they do where a pipeline is tuned; else all are 0.
    """

    def __init__(self, aggregator: Any, tag: str, counts: bool = False) -> None:
        self.aggregator = aggregator
        self.tag = tag
        self.prefix = f"{tag}::" if tag else ""
        self.counts = counts
        self._reports: collections.Counter[str] = collections.Counter()

    def counting(self) -> _Tagged:
        """Return the same, with steps."""
        return _Tagged(self.aggregator, self.tag, True)

    def _step(self, name: str, step: int | None) -> int:
        """Return the number of elements before.

        If that is not said, that of reports by this name.
        """
        self._reports[name] += 1
        return (self._reports[name] - 1 if step is None else step) if self.counts else 0

    def add_to_histogram(self, name: str, value: float, step: int | None = None) -> None:
        self.aggregator.add_to_histogram(self.prefix + name, value, self._step(name, step))

    def add_scalar(self, name: str, value: float, step: int | None = None) -> None:
        self.aggregator.add_scalar(self.prefix + name, value, self._step(name, step))


stats_aggregator_handle_op.shape(lambda node: ())
stats_aggregator_summary_op.shape(lambda node: ())


@stats_aggregator_handle_op.kernel
def stats_aggregator_handle_kernel(node: Any) -> Kernel:
    return node.handle(node.resource(StatsAggregator, kind="stats aggregator", private=True))


stats_aggregator_handle_v2_op.shape(lambda node: ())


@stats_aggregator_handle_v2_op.kernel
def stats_aggregator_handle_v2_kernel(node: Any) -> Kernel:
    kind = "writing stats aggregator"
    return node.handle(node.resource(WritingAggregator, kind=kind, private=True))


@stats_aggregator_set_summary_writer_op.kernel
def stats_aggregator_set_summary_writer_kernel(node: Node) -> Kernel:
    def run(aggregator: Any, writer: Any) -> None:
        writer.writer()  # there has to be one
        if isinstance(aggregator, WritingAggregator):
            aggregator.writer = writer

    return run


@stats_aggregator_summary_op.kernel
def stats_aggregator_summary_kernel(node: Node) -> Kernel:
    return lambda aggregator: string_scalar(aggregator.summary())


class _Recorded(Walk):
    """A walk whose numbers are reported to an aggregator."""

    def __init__(self, source: Walk) -> None:
        self.source = source

    def __next__(self) -> Element:
        return next(self.source)

    def save(self, state: State) -> None:
        from stillflow import errors

        raise errors.unimplemented(
            "SetStatsAggregatorDatasetOp::Dataset does not support checkpointing"
        )

    restore = save


@set_stats_aggregator_dataset_op.kernel
def set_stats_aggregator_dataset_kernel(node: Node) -> Kernel:
    def run(value: Any, aggregator: Any, tag: Any, counter_prefix: Any) -> Dataset:
        source, name = as_dataset(value), scalar(tag).decode()

        def make(context: Context, prefix: str) -> Walk:
            stats = _Tagged(aggregator, name)
            return _Recorded(source.iterate(context.reporting(stats), prefix))

        return source.like("SetStatsAggregator", make, source.size)

    return run


class _Measuring(Walk):
    """Elements about which something is reported."""

    def __init__(self, source: Walk, stats: Any, tag: str) -> None:
        self.source = source
        self.stats = stats
        self.tag = tag


class _Timing(_Measuring):
    """Reports how many microseconds each element took."""

    def __next__(self) -> Element:
        before = time.perf_counter_ns()
        element: Element = next(self.source)
        self.stats.add_to_histogram(self.tag, (time.perf_counter_ns() - before) // 1000)
        return element


class _Weighing(_Measuring):
    """Reports how many bytes each element has."""

    def __next__(self) -> Element:
        element: Element = next(self.source)
        self.stats.add_to_histogram(self.tag, float(sum(map(_bytes, element))))
        return element


def _bytes(value: Any) -> int:
    if isinstance(value, torch.Tensor):
        return int(value.numel() * value.element_size())
    if isinstance(value, np.ndarray):
        return sum(len(item) if isinstance(item, bytes) else _bytes(item) for item in value.flat)
    return 0


def _measured(kind: str, walk: type[_Measuring]) -> Callable[..., Any]:
    def kernel(node: Node) -> Callable[..., Any]:
        def run(value: Any, tag: Any) -> Dataset:
            source = as_dataset(value)
            if getattr(tag, "ndim", 0):
                raise invalid("tag must be a scalar")
            name = scalar(tag).decode()

            def make(context: Context, prefix: str) -> Walk:
                elements = source.iterate(context, prefix)
                return elements if context.stats is None else walk(elements, context.stats, name)

            return source.like(kind, make, source.size)

        return run

    return kernel


latency_stats_dataset_op.kernel(_measured("LatencyStats", _Timing))
bytes_produced_stats_dataset_op.kernel(_measured("BytesProducedStats", _Weighing))
