"""Benchmarks in test files: `tf.test.Benchmark`, run by `--benchmarks=REGEX`."""

from __future__ import annotations

import functools
import inspect
import numbers
import os
import re
import statistics
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stillflow._export import export
from stillflow.platform import tf_logging

if TYPE_CHECKING:
    from stillflow.profiler.timeline import Timeline


GLOBAL_BENCHMARK_REGISTRY: set[type] = set()
TEST_REPORTER_TEST_ENV = "TEST_REPORT_FILE_PREFIX"


class Benchmark:
    """Base of classes whose methods `benchmark...` are benchmarks; each is registered."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not cls.is_abstract():
            GLOBAL_BENCHMARK_REGISTRY.add(cls)

    @classmethod
    def is_abstract(cls) -> bool:
        """Return whether this class only helps to define benchmarks."""
        return cls is Benchmark or "run_op_benchmark" in vars(cls)

    def _get_name(self, overwrite_name: str | None = None) -> str:
        """Return class and method of the outermost benchmark that is running."""
        for frame in reversed(inspect.stack(0)):
            owner = frame.frame.f_locals.get("self")
            if isinstance(owner, Benchmark):
                return f"{type(owner).__name__}.{overwrite_name or frame.function}"
        raise ValueError("Unable to determine calling Benchmark class.")

    def report_benchmark(
        self,
        iters: int | None = None,
        cpu_time: float | None = None,
        wall_time: float | None = None,
        throughput: float | None = None,
        extras: dict[str, Any] | None = None,
        name: str | None = None,
        metrics: list[dict[str, Any]] | None = None,
    ) -> None:
        """Print the measurements, or write them to a file where TEST_REPORT_FILE_PREFIX says so.

        Args:
          iters: how many times it was run.
          cpu_time: CPU seconds of a run.
          wall_time: seconds of a run.
          throughput: MB per second.
          extras: anything else, numbers or text.
          name: a name instead of the method's.
          metrics: dictionaries of name, value and perhaps min_value and max_value.

        Raises:
          TypeError: extras or metrics are not such.
          OSError: the file exists already.
        """
        measured = {
            "iters": iters,
            "cpu_time": cpu_time,
            "wall_time": wall_time,
            "throughput": throughput,
        }
        _report(self._get_name(name), measured, extras, metrics)


@export("test.Benchmark")
class TensorFlowBenchmark(Benchmark):
    """Base of classes whose methods `benchmark...` measure operations."""

    def run_op_benchmark(
        self,
        sess: Any,
        op_or_tensor: Any,
        feed_dict: Any = None,
        burn_iters: int = 2,
        min_iters: int = 10,
        store_trace: bool = False,
        store_memory_usage: bool = True,
        name: str | None = None,
        extras: dict[str, Any] | None = None,
        mbs: float = 0,
    ) -> dict[str, Any]:
        """Measure how long it takes to run something in a session, and report it.

        Args:
          sess: the session.
          op_or_tensor: what to run.
          feed_dict: the feeds.
          burn_iters: how many runs to make beforehand.
          min_iters: how many runs to measure.
          store_trace: whether to make another run for a trace, in Chrome's format; it is not
            reported, but returned among the extras as "full_trace_chrome_format".
          store_memory_usage: whether to make another run for the memory that each allocator gave
            at most, which is added to the extras.
          name: a name instead of the method's.
          extras: anything else to report.
          mbs: megabytes that a run moves.

        Returns:
          What was reported, and the trace.
        """
        for _ in range(burn_iters):
            sess.run(op_or_tensor, feed_dict=feed_dict)
        seconds = []
        for _ in range(min_iters):
            start = time.perf_counter()
            sess.run(op_or_tensor, feed_dict=feed_dict)
            seconds.append(time.perf_counter() - start)
        median = statistics.median(seconds) if seconds else -1
        extras = {} if extras is None else extras
        trace = {}
        if store_trace or store_memory_usage:
            timeline = _timeline(sess, op_or_tensor, feed_dict)
            if store_trace:
                trace["full_trace_chrome_format"] = timeline.generate_chrome_trace_format()
            if store_memory_usage:
                for key, most in timeline.analyze_step_stats().allocator_maximums.items():
                    extras[f"allocator_maximum_num_bytes_{key}"] = most.num_bytes
        values: dict[str, Any] = {
            "iters": min_iters,
            "wall_time": median,
            "extras": extras,
            "name": name,
            "throughput": mbs / median,
        }
        self.report_benchmark(**values)
        extras.update(trace)
        return values

    def evaluate(self, tensors: Any) -> Any:
        """Return the values of tensors in the default session."""
        from stillflow.graph.default_session import get_default_session

        return get_default_session().run(tensors)


def _timeline(session: Any, op_or_tensor: Any, feed_dict: Any) -> Timeline:
    """Return the timeline of a separate run."""
    from stillflow import protos
    from stillflow.profiler.timeline import Timeline

    options = protos.RunOptions(trace_level=protos.RunOptions.FULL_TRACE)
    metadata = protos.RunMetadata()
    session.run(op_or_tensor, feed_dict=feed_dict, options=options, run_metadata=metadata)
    return Timeline(metadata.step_stats)


@export("test.benchmark_config")
def benchmark_config() -> Any:
    """Return a ConfigProto for benchmarks: control dependencies stay as they are written."""
    from stillflow import protos

    config = protos.ConfigProto()
    config.graph_options.rewrite_options.dependency_optimization = protos.RewriterConfig.OFF
    return config


def benchmarks_main(true_main: Callable[[], Any], argv: list[str] | None = None) -> None:
    """Run the benchmarks that `--benchmarks=REGEX` asks for, without it the tests."""
    from stillflow.platform import app

    argv = sys.argv if argv is None else argv
    for argument in argv:
        option, _, regex = argument.partition("=")
        if option in ("--benchmarks", "-benchmarks"):
            argv.remove(argument)
            app.run(functools.partial(_run_benchmarks, regex), argv=argv)
            return
    true_main()


def _run_benchmarks(regex: str, left: list[str]) -> None:
    for kind in sorted(GLOBAL_BENCHMARK_REGISTRY, key=lambda kind: kind.__qualname__):
        instance = None
        for name in dir(kind):
            full = f"{kind.__module__}.{kind.__name__}.{name}"
            wanted = regex == "all" or re.search(regex, full)
            if wanted and name.startswith("benchmark") and callable(getattr(kind, name)):
                instance = instance or kind()
                getattr(instance, name)()


def _report(
    name: str,
    measured: dict[str, Any],
    extras: dict[str, Any] | None,
    metrics: list[dict[str, Any]] | None,
) -> None:
    from stillflow import protos

    tf_logging.info("Benchmark [%s] %s, extras: %s, metrics: %s", name, measured, extras, metrics)
    entries = protos.BenchmarkEntries()
    entry = entries.entry.add(
        name=name, **{key: value for key, value in measured.items() if value is not None}
    )
    if not isinstance(extras or {}, dict):
        raise TypeError("extras must be a dict")
    for key, value in (extras or {}).items():
        if isinstance(value, numbers.Number):
            entry.extras[key].double_value = value
        else:
            entry.extras[key].string_value = str(value)
    if not isinstance(metrics or [], list):
        raise TypeError("metrics must be a list")
    for metric in metrics or []:
        for key in ("name", "value"):
            if key not in metric:
                raise TypeError(f"metric must has a '{key}' field")
        added = entry.metrics.add(name=metric["name"], value=metric["value"])
        for key in ("min_value", "max_value"):
            if key in metric:
                getattr(added, key).value = metric[key]
    prefix = os.environ.get(TEST_REPORTER_TEST_ENV)
    if prefix is None:
        print(entries)
        return
    with open(prefix + name.replace("/", "__"), "xb") as file:
        file.write(entries.SerializeToString())
