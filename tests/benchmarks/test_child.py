"""Measurements of one process: alternating steps, and the slowdown of changing ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks import child, job


class Clock:
    """Time that passes as steps say."""

    def __init__(self) -> None:
        self.now = 0.0
        self.last: int | None = None

    def step(self, name: int, seconds: float, when_new: float) -> Callable[[], float]:
        def run() -> float:
            self.now += seconds if self.last == name else when_new
            self.last = name
            return 0.0

        return run


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(child.time, "perf_counter", lambda: clock.now)
    return clock


def test_steps_take_turns() -> None:
    seen: list[int] = []
    step = child.in_turn([lambda: seen.append(1), lambda: seen.append(2)])
    for _ in range(3):
        step()
    assert seen == [1, 2, 1]


def test_the_worst_step_says_how_much_change_costs(clock: Clock) -> None:
    steps = [clock.step(n, 1.0, 2.0 if n == 20 else 1.25) for n in range(40)]
    assert child.slowdown(steps, samples=10) == 2.0
    assert child.slowdown(steps[:20], samples=10) == 1.25


def test_memory_is_that_of_this_process() -> None:
    assert 0 < child.memory("VmRSS") <= child.memory("VmHWM") == child.peak_memory()


def test_every_feed_has_its_step() -> None:
    import stillflow as tf

    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        changing = job.Job([x * 2.0], {x: 1.0}, [tf.no_op()], [{x: 3.0}, {x: 4.0}])
        assert [step() for step in job.session_steps(tf, changing)] == [6.0, 8.0]
        steady = job.Job([x * 2.0], {x: 1.0}, [])
        assert [step() for step in job.session_steps(tf, steady)] == [2.0]


def test_torch_compile_runs_the_step_of_pytorch() -> None:
    names = [child.module_of("mlp_adam", name) for name in ("tf115", "torch", "compile", "jax")]
    assert names == ["mlp_adam", "mlp_adam_torch", "mlp_adam_torch", "mlp_adam_jax"]
