"""Run one benchmark program with one implementation and print its measurements, as JSON.

Called by ``run.py`` in a fresh process of the implementation's own interpreter (Python 3.7 for
TF 1.15): ``python -m benchmarks.child <program> <implementation> <share of the steps>``.
"""

from __future__ import annotations

import importlib
import itertools
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

MARK = "BENCHMARK "
WARM_UP = 3


def import_implementation(name: str) -> Any:
    """Return the module that programs of this implementation are built with."""
    if name == "tf2":
        tf = importlib.import_module("tensorflow.compat.v1")
        tf.disable_eager_execution()
        return tf
    if name == "jax":
        importlib.import_module("jax.numpy")
        importlib.import_module("jax").config.update("jax_default_matmul_precision", "float32")
    module = importlib.import_module({"tf115": "tensorflow", "compile": "torch"}.get(name, name))
    if module.__name__ == "torch" and module.cuda.is_available():
        module.set_default_device("cuda")
        module.backends.cudnn.allow_tf32 = False  # all of them compute in float32
    return module


def module_of(program: str, implementation: str) -> str:
    """Return the name of the module that has a program for an implementation."""
    suffix = {"torch": "_torch", "compile": "_torch", "jax": "_jax"}.get(implementation, "")
    return program + suffix


def measure(program: str, implementation: str, share: float) -> dict[str, Any]:
    """Return time in seconds and peak memory in bytes of one program."""
    started = time.perf_counter()
    module = import_implementation(implementation)
    imported = time.perf_counter()
    described = importlib.import_module("benchmarks.programs." + program)
    source = importlib.import_module("benchmarks.programs." + module_of(program, implementation))
    result: dict[str, Any] = {"import": imported - started, "version": version_of(module)}
    start = time.perf_counter()
    built = source.build(module)
    if implementation == "compile":
        built = module.compile(built)
    result["build"] = time.perf_counter() - start
    start = time.perf_counter()
    steps = [built] if callable(built) else open_session(module, built)
    step = in_turn(steps)
    result["initialise"] = time.perf_counter() - start
    before = memory("VmRSS")
    start = time.perf_counter()
    losses = [step()]
    result["first_step"] = time.perf_counter() - start
    result["start"] = sum(result[k] for k in ("import", "build", "initialise", "first_step"))
    count = max(5, int(described.STEPS * share))
    times = repeat(step, losses, count, getattr(described, "PAUSE", 0.0))
    result.update(step=median(times), fastest_step=min(times), losses=losses[:4])
    result["peak_memory"] = peak_memory()
    result["steps_memory"] = max(0, peak_memory() - before)
    if len(steps) > 1:
        result["slowdown"] = slowdown(steps)
    return result


def open_session(tf: Any, job: Any) -> list[Callable[[], float]]:
    """Functions that run a step of a TF1 program, one for each of its feeds."""
    from .job import session_steps

    return session_steps(tf, job)


def in_turn(steps: list[Callable[[], float]]) -> Callable[[], float]:
    """Return a function that runs another step every time."""
    turns = itertools.cycle(steps)
    return lambda: next(turns)()


def slowdown(steps: list[Callable[[], float]], samples: int = 10) -> float:
    """Return the slowdown of a step among others, relative to repeated steps, at the worst.

    Of three visits the fastest one counts, and of twenty repetitions the last five.
    """
    chosen = steps[:: max(1, len(steps) // samples)]
    visits = [[timed(step) for step in chosen] for _ in range(3)]
    steady = [median([timed(step) for _ in range(20)][-5:]) for step in chosen]
    return max(min(taken) / usual for *taken, usual in zip(*visits, steady))


def timed(step: Callable[[], float]) -> float:
    """Seconds that a step takes."""
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def repeat(step: Callable[[], float], losses: list[float], count: int, pause: float) -> list[float]:
    """Durations of ``count`` steps, after a few that are not timed; ``pause`` seconds between."""
    for _ in range(WARM_UP):
        losses.append(step())
    times = []
    for _ in range(count):
        time.sleep(pause)
        start = time.perf_counter()
        losses.append(step())
        times.append(time.perf_counter() - start)
    return times


def median(values: list[float]) -> float:
    """Return the middle value."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def peak_memory() -> int:
    """Most resident memory this process ever had, in bytes."""
    return memory("VmHWM")


def memory(field: str) -> int:
    """`VmRSS`, the resident memory of this process in bytes, or `VmHWM`, the most it ever had."""
    if os.path.exists("/proc/self/status"):  # getrusage would count the parent's as well
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return usage if sys.platform == "darwin" else usage * 1024


def version_of(module: Any) -> str:
    """Return the implementation's own version."""
    return str(getattr(module, "__stillflow_version__", None) or module.__version__)


if __name__ == "__main__":
    print(MARK + json.dumps(measure(sys.argv[1], sys.argv[2], float(sys.argv[3]))))
