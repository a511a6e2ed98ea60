"""tf.test.Benchmark."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.platform import benchmark
from stillflow.protos import BenchmarkEntries


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr(benchmark, "GLOBAL_BENCHMARK_REGISTRY", set())
    ran = []

    class Speed(tf.test.Benchmark):
        def benchmark_one(self):
            ran.append("one")
            self.report_benchmark(
                iters=3,
                wall_time=0.5,
                extras={"a": 1, "b": "c"},
                metrics=[{"name": "m", "value": 2, "max_value": 3}],
            )

        def benchmark_two(self):
            ran.append("two")

        def other(self):
            ran.append("other")

    return Speed, ran


def test_benchmarks_run_where_they_are_asked_for(registered, capsys):
    _, ran = registered
    benchmark.benchmarks_main(lambda: ran.append("tests"), ["program"])
    assert ran == ["tests"]
    with pytest.raises(SystemExit):
        benchmark.benchmarks_main(lambda: ran.append("tests"), ["program", "--benchmarks=_one"])
    assert ran == ["tests", "one"]
    assert 'name: "Speed.benchmark_one"' in capsys.readouterr().out
    with pytest.raises(SystemExit):
        benchmark.benchmarks_main(lambda: None, ["program", "--benchmarks=all"])
    assert sorted(ran) == ["one", "one", "tests", "two"]


def test_reports_go_to_a_file(registered, monkeypatch, tmp_path):
    monkeypatch.setenv("TEST_REPORT_FILE_PREFIX", str(tmp_path / "report_"))
    speed = registered[0]()
    speed.benchmark_one()
    data = (tmp_path / "report_Speed.benchmark_one").read_bytes()
    (entry,) = BenchmarkEntries.FromString(data).entry
    assert (entry.iters, entry.wall_time, entry.extras["a"].double_value) == (3, 0.5, 1)
    assert entry.extras["b"].string_value == "c" and entry.metrics[0].max_value.value == 3
    with pytest.raises(OSError):
        speed.benchmark_one()
    with pytest.raises(TypeError, match="metric must has a 'value' field"):
        speed.report_benchmark(name="x", metrics=[{"name": "m"}])
    with pytest.raises(TypeError, match="extras must be a dict"):
        speed.report_benchmark(name="x", extras=[1])


def test_operations_are_measured(registered, capsys):
    with tf.Graph().as_default(), tf.Session(config=tf.test.benchmark_config()) as session:
        value = tf.constant(1) + 1
        speed = registered[0]()
        found = speed.run_op_benchmark(session, value, min_iters=3, name="add", mbs=1)
        assert speed.evaluate(value) == 2
        with pytest.raises(tf.errors.UnimplementedError, match="store_trace"):
            speed.run_op_benchmark(session, value, store_trace=True)
    assert found["iters"] == 3 and found["throughput"] == 1 / found["wall_time"] > 0
    assert 'name: "Speed.add"' in capsys.readouterr().out
