"""tf.test.Benchmark."""

from __future__ import annotations

import json

import pytest

import stillflow as tf
from stillflow.protos import BenchmarkEntries
from stillflow.runtime.devices.devices import gpu_count
from stillflow.testing import benchmark


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
        matrix = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
        session.run(matrix.initializer)
        value = tf.matmul(matrix, matrix)
        speed = registered[0]()
        found = speed.run_op_benchmark(session, value, min_iters=3, name="product", mbs=1)
        assert found["iters"] == 3 and found["throughput"] == 1 / found["wall_time"] > 0
        memory = "GPU_0_bfc" if gpu_count() else "cpu"
        assert found["extras"] == {f"allocator_maximum_num_bytes_{memory}": 32}
        assert 'name: "Speed.product"' in capsys.readouterr().out
        extras = {"a": 1}
        found = speed.run_op_benchmark(
            session, value, store_memory_usage=False, store_trace=True, extras=extras, name="x"
        )
        assert found["extras"] is extras and set(extras) == {"a", "full_trace_chrome_format"}
        events = json.loads(extras["full_trace_chrome_format"])["traceEvents"]
        assert "MatMul" in {event["name"] for event in events}
        assert "full_trace" not in capsys.readouterr().out
        assert (speed.evaluate(value) == [[7, 10], [15, 22]]).all()
