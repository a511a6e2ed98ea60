"""The choice of engines, the regions that they get, and what becomes of wrong or slow answers."""

from __future__ import annotations

import concurrent.futures
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow import errors
from stillflow.runtime.engines import choice, trial, use
from stillflow.runtime.engines.region import Region, Unfit
from stillflow.runtime.ir.steps import in_order


class Fake:
    """Engine that runs a region's own kernels, and does to the answers what a test asks for."""

    name, extra, any_sizes = "onnxruntime", "onnx", False
    packages: tuple[str, ...] = ()

    def __init__(self) -> None:
        self.change: Callable[[Any], Any] = lambda values: values
        self.regions: list[Region] = []
        self.rejected: tuple[str, ...] = ()
        self.runs = 0

    def problem(self, graph: Any, step: Any) -> str:
        return f"{step.op.type} is unknown" if step.op.type in self.rejected else ""

    def function(self, region: Region) -> Callable[..., Any]:
        if not region.steps:
            raise Unfit("nothing")
        self.regions.append(region)
        inputs = list(dict.fromkeys(name for step in region.steps for name in step.inputs
                                    if name in dict(region.inputs)))  # fmt: skip
        outputs = [name for name, _ in region.outputs]
        run = in_order(region.steps, inputs, outputs, region.graph.constants)
        places = [[name for name, _ in region.inputs].index(name) for name in inputs]

        def function(*values: Any) -> Any:
            self.runs += 1
            found = self.change(run(*[values[place] for place in places]))
            return found[0] if len(found) == 1 else found

        function.engine = self.name  # type: ignore[attr-defined]
        return function


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Return the engine behind every name."""
    made = Fake()
    monkeypatch.setattr(choice, "_engine", lambda name: made)
    return made


@pytest.fixture
def notices(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what is said about engines."""
    found: list[str] = []
    trial.notice.cache_clear()
    monkeypatch.setattr(trial.logging, "warning", found.append)
    return found


@pytest.fixture
def run(engine: Fake) -> Iterator[Callable[..., Any]]:
    """Yield a function that runs (x * 2 + 1) squared, by a session with the engine."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], "x")
        y = tf.square(x * 2.0 + 1.0)
    sessions: dict[str, Any] = {}

    def call(name: str = "onnxruntime", value: Any = (1.0, 2.0)) -> Any:
        if name not in sessions:
            sessions[name] = tf.Session(graph=graph, config=use(name))
        return sessions[name].run(y, {x: value}).tolist()

    yield call
    for session in sessions.values():
        session.close()


def test_the_plan_is_the_default(engine: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STILLFLOW_ENGINE", raising=False)
    assert choice.engines_of(None) is None
    assert choice.engines_of(tf.ConfigProto()) is None


def test_an_option_of_a_session_precedes_the_environment(
    engine: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STILLFLOW_ENGINE", "onnxruntime")
    found = choice.engines_of(tf.ConfigProto())
    assert found is not None
    assert (found.engines, found.timed) == ((engine,), False)
    assert choice.engines_of(use("plan", tf.ConfigProto())) is None
    config = use("auto", use("plan"))
    assert len(config.graph_options.rewrite_options.custom_optimizers) == 1
    found = choice.engines_of(config)
    assert found is not None
    assert found.timed


def test_an_unknown_engine_is_an_error_that_lists_the_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="auto, plan, onnxruntime"):
        use("tensorrt")
    monkeypatch.setenv("STILLFLOW_ENGINE", "fast")
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(errors.InvalidArgumentError, match="no engine 'fast'"):
            session.run(tf.constant(1.0))


def test_an_engine_that_is_not_installed_is_an_error_that_names_the_extra(engine: Fake) -> None:
    engine.packages = ("a_package_that_nobody_has",)
    with tf.Graph().as_default(), tf.Session(config=use("onnxruntime")) as session:
        with pytest.raises(
            errors.FailedPreconditionError, match=r"pip install 'stillflow\[onnx\]'"
        ):
            session.run(tf.constant(1.0))
    assert choice.engines_of(use("auto")) is None


@pytest.mark.parametrize(("name", "extra"), [("onnxruntime", "onnx"), ("openvino", "openvino")])
def test_each_engine_names_its_extra(
    name: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice.importlib.util, "find_spec", lambda package: None)
    with pytest.raises(errors.FailedPreconditionError, match=rf"'stillflow\[{extra}\]'"):
        choice.engines_of(use(name))


def test_an_engine_runs_a_pure_graph(
    engine: Fake, run: Callable[..., Any], notices: list[str]
) -> None:
    for count in (1, 2, 3):
        assert run() == [9, 25]
        assert engine.runs == count
    (region,) = engine.regions
    assert [step.op.type for step in region.steps if step.op] == ["Mul", "AddV2", "Square"]
    assert not notices


def test_steps_of_other_kinds_stay_with_the_plan(engine: Fake) -> None:
    engine.rejected = ("Neg",)
    with tf.Graph().as_default(), tf.Session(config=use("onnxruntime")) as session:
        x = tf.placeholder(tf.float32, [2], "x")
        y = tf.exp(tf.sqrt(-(x * 2.0 + 1.0)) * 3.0)
        assert session.run([y, x * 5.0], {x: [-1.0, -2.5]})[1].tolist() == [-5, -12.5]
        text = session.explain(y, {x: [-1.0, -2.5]})
    assert "onnxruntime runs 5 of 6 steps; the plan keeps the others: Neg is unknown" in text
    assert "onnxruntime: Mul + Add" in text


@pytest.mark.parametrize("kind", ["variable", "random", "write", "python"])
def test_runs_with_state_or_effects_stay_with_the_plan(engine: Fake, kind: str) -> None:
    with tf.Graph().as_default(), tf.Session(config=use("onnxruntime")) as session:
        v = tf.get_variable("v", initializer=2.0)
        session.run(v.initializer)
        value = {
            "variable": lambda: v.value(), "random": lambda: tf.random_uniform([]),
            "write": lambda: tf.assign_add(v, 1.0),
            "python": lambda: tf.py_func(lambda: np.float32(1), [], tf.float32),
        }[kind]()  # fmt: skip
        session.run(tf.square(value * 2.0 + 1.0) - 3.0)
        text = session.explain(tf.square(value * 2.0 + 1.0))
    assert not engine.regions
    wanted = "reads variables" if kind == "variable" else "state or an effect"
    assert wanted in text or "reads variables" in text


def test_training_stays_with_the_plan(engine: Fake) -> None:
    with tf.Graph().as_default(), tf.Session(config=use("auto")) as session:
        x = tf.placeholder(tf.float32, [3, 4])
        loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 2)))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run([train, loss], {x: np.ones((3, 4))})
    assert not engine.regions


def test_loops_are_compared_once_and_stay_with_the_plan(engine: Fake) -> None:
    with tf.Graph().as_default(), tf.Session(config=use("onnxruntime")) as session:
        x = tf.placeholder(tf.float32, [], "x")
        looped = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, 1.0])[1]
        y = tf.square(looped * 2.0 + 1.0)
        assert session.run(y, {x: 2.0}) == 289
        assert session.run(y, {x: 1.0}) == 9
    assert engine.runs == 2


def test_draws_in_a_loop_are_an_effect(engine: Fake) -> None:
    with tf.Graph().as_default(), tf.Session(config=use("onnxruntime")) as session:
        x = tf.placeholder(tf.int32, [], "x")
        body = lambda i, y: (i + 1, y + tf.random_uniform([]))
        y = tf.while_loop(lambda i, y: i < x, body, [0, 1.0])[1] * 2.0 + 1.0
        session.run(y, {x: 2})
    assert not engine.regions


def test_an_engine_with_other_answers_is_dropped_with_one_notice(
    engine: Fake, run: Callable[..., Any], notices: list[str]
) -> None:
    engine.change = lambda values: [value * 1.01 for value in values]
    assert [run() for _ in range(3)] == [[9, 25]] * 3
    assert engine.runs == 1
    (notice,) = notices
    assert "is not used for this run: answer 0 is 0.25" in notice


def test_an_engine_that_fails_at_first_is_dropped(
    engine: Fake, run: Callable[..., Any], notices: list[str]
) -> None:
    def fail(values: Any) -> Any:
        raise RuntimeError("no kernel")

    engine.change = fail
    assert [run() for _ in range(2)] == [[9, 25]] * 2
    assert engine.runs == 1
    assert len(notices) == 1
    assert "no kernel" in notices[0]


def test_an_engine_that_fails_later_gives_way_to_the_plan(
    engine: Fake, run: Callable[..., Any], notices: list[str]
) -> None:
    assert run() == [9, 25]

    def fail(values: Any) -> Any:
        raise RuntimeError("out of order")

    engine.change = fail
    assert [run() for _ in range(3)] == [[9, 25]] * 3
    assert engine.runs == 2
    assert len(notices) == 1
    assert "out of order" in notices[0]


@pytest.mark.parametrize("slow", [True, False])
def test_auto_keeps_what_is_faster(
    engine: Fake, run: Callable[..., Any], notices: list[str], monkeypatch: pytest.MonkeyPatch,
    slow: bool,
) -> None:  # fmt: skip
    clock = iter(range(10**6))
    now = [0.0]
    monkeypatch.setattr(trial.time, "perf_counter", lambda: now[0] + next(clock) * 1e-9)

    def change(values: Any) -> Any:
        now[0] += 2.0 if slow else 0.0
        return values

    engine.change = change
    # Each time another run is faster: the plan takes one second, the engine two, or none.
    real: Any = vars(trial.Trial)["plain"].fget

    def plain(self: Any) -> Any:
        def function(*arrays: Any) -> Any:
            now[0] += 1.0
            return real(self)(*arrays)

        return function

    monkeypatch.setattr(trial.Trial, "plain", property(plain))
    for _ in range(1 + 2 * trial._ROUNDS):
        assert run("auto") == [9, 25]
    runs = engine.runs
    assert runs == 1 + trial._ROUNDS
    for _ in range(5):
        assert run("auto") == [9, 25]
    assert engine.runs == (runs if slow else runs + 5)
    assert not notices


def test_an_error_of_values_comes_from_the_plan(engine: Fake, notices: list[str]) -> None:
    with tf.Graph().as_default(), tf.Session(config=use("onnxruntime")) as session:
        x = tf.placeholder(tf.int32, [None], "x")
        y = 7 // (x * 2 + 2)
        assert session.run(y, {x: [0]}).tolist() == [3]
        for _ in range(2):
            with pytest.raises(errors.InvalidArgumentError, match="division by zero"):
                session.run(y, {x: [-1]})
        assert session.run(y, {x: [0]}).tolist() == [3]
    assert engine.runs == 4
    assert not notices


@pytest.mark.parametrize(
    ("wanted", "found", "text"),
    [
        ([1.0, 2.0], [1.0, 2.0001], ""),
        ([1.0, 2.0], [1.0, 2.001], "0.001 from"),
        ([1e-9], [2e-9], "1e-09 from"),
        ([np.nan, np.inf, 1.0], [np.nan, np.inf, 1.0], ""),
        ([np.nan, 1.0], [1.0, 1.0], "NaNs"),
        ([1.0], [np.nan], "nan from"),
        ([], [], ""),
    ],
)
def test_answers_agree_within_rounding_of_the_largest_value(
    wanted: list[float], found: list[float], text: str
) -> None:
    problem = trial.difference([np.array(wanted, "f")], [np.array(found, "f")])
    assert (text in problem) if text else not problem


def test_integers_and_shapes_have_to_be_equal() -> None:
    assert trial.difference([np.array([1])], [np.array([2])])
    assert trial.difference([np.array([1.0])], [np.array([[1.0]])])
    assert trial.difference([np.array([1.0])], [np.array([1.0], "f")])
    assert not trial.difference([np.array([True])], [np.array([True])])


def test_threads_decide_once(engine: Fake, run: Callable[..., Any]) -> None:
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: run("auto"), range(40)))
    assert found == [[9, 25]] * 40


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_runs_the_plan(engine: Fake, run: Callable[..., Any]) -> None:
    for _ in range(3):
        assert run() == [9, 25]
    assert engine.runs == 3

    def fail(values: Any) -> Any:
        raise AssertionError("an engine ran in a forked process")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of threads of this process
        child = os.fork()
    if not child:
        engine.change = fail
        code = 1
        try:
            code = 0 if run() == run() == [9, 25] and engine.runs == 3 else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert run() == [9, 25]
    assert engine.runs == 4
