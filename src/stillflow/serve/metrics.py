"""Counters and histograms of the server, in Prometheus' text format.

Names are those under which TensorFlow Serving exports its own: `/tensorflow/serving/request_count`
is `:tensorflow:serving:request_count`. Metrics of ours begin with `:stillflow:serving:`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stillflow.util.prometheus import CONTENT_TYPE as CONTENT_TYPE
from stillflow.util.prometheus import Counter, Gauge, Histogram, Metric, page


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

    def _all(self) -> dict[str, Metric]:
        return {each.name: each for each in vars(self).values() if isinstance(each, Metric)}

    def counts(self) -> dict[str, Any]:
        """Return all values by the names of metrics, as JSON can hold them."""
        return {name: each.counts() for name, each in self._all().items()}

    def merge(self, counts: Mapping[str, Any]) -> None:
        """Add the counts of another process."""
        for name, each in self._all().items():
            each.merge(counts[name])

    def page(self) -> str:
        """Return the page that Prometheus reads."""
        return page(self._all().values())
