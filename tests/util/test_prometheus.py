"""Metrics as Prometheus reads them."""

from __future__ import annotations

from stillflow.util.prometheus import Counter, Gauges, Histogram, page


def test_each_kind_of_metric_on_a_page() -> None:
    steps = Counter("steps_total", ["task", "status"])
    steps.add("a", "ok", count=2)
    lengths = Gauges("length", ["queue"], lambda: {("b",): 3, ('a"\n',): 1.5})
    seconds = Histogram("seconds", [], 1, 2, 2)
    seconds.add(1.5)
    assert page([steps, lengths, seconds]).splitlines() == [
        "# TYPE steps_total counter", 'steps_total{task="a",status="ok"} 2',
        "# TYPE length gauge", 'length{queue="a\\"\\n"} 1.5', 'length{queue="b"} 3',
        "# TYPE seconds histogram", 'seconds_bucket{le="1"} 0', 'seconds_bucket{le="2"} 1',
        'seconds_bucket{le="+Inf"} 1', "seconds_sum 1.5", "seconds_count 1",
    ]  # fmt: skip
