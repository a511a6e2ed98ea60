"""Models of verified runs on disk: who uses them, what replaces them, and what they are not for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow import errors
from stillflow.graph import trust
from stillflow.runtime.engines import choice, stored, trial, use
from stillflow.runtime.engines.onnx_models import OnnxEngine, OnnxFunction, Opened
from stillflow.runtime.engines.region import OnnxModel, Region

ROOT = Path(__file__).resolve().parents[3]
ENGINE = "onnxruntime"


class Fake(OnnxEngine):
    """Engine whose only model is (x * 2 + 1) squared; its package is one that is always there."""

    def __init__(self) -> None:
        super().__init__("numpy", "onnx", self._opened)
        self.packages = ()
        self.opened_models = self.runs = 0
        self.change: Callable[[Any], Any] = lambda value: value

    def problem(self, graph: Any, step: Any) -> str:
        return "" if step.op.type in ("Mul", "AddV2", "Square") else "unknown"

    def function(self, region: Region) -> Any:
        model = OnnxModel(b"the model", {}, [])
        return OnnxFunction(self.name, model, self.opened(model, region.threads))

    def _opened(self, model: OnnxModel, threads: int) -> Opened:
        assert model.content == b"the model"
        assert threads > 0
        self.opened_models += 1

        def run(feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
            self.runs += 1
            return [self.change(np.square(feeds["input_0"] * np.float32(2) + np.float32(1)))]

        return Opened({"input_0"}, run)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the models, in a home of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("STILLFLOW_ENGINE_CACHE")
    return tmp_path / "stillflow"


@pytest.fixture
def engine(place: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Return the engine behind every name."""
    made = Fake()
    monkeypatch.setattr(choice, "_engine", lambda name: made)
    monkeypatch.setattr(choice, "_AUTOMATIC", (ENGINE,))
    trial.notice.cache_clear()
    return made


@pytest.fixture
def graph() -> Any:
    """Return a graph of (x * 2 + 1) squared, of vectors."""
    with tf.Graph().as_default() as made:
        x = tf.placeholder(tf.float32, [None], "x")
        tf.square(x * 2.0 + 1.0, name="y")
    return made


class Process:
    """A session as of another process."""

    def __init__(self, graph: Any, name: str = ENGINE) -> None:
        self.session = tf.Session(graph=graph, config=use(name))

    def run(self, value: Any = (1.0, 2.0), fetches: Any = "y:0", **options: Any) -> Any:
        return self.session.run(fetches, {"x:0": value}, **options)

    @property
    def has_plan(self) -> bool:
        """True if a plan was made, or state for one."""
        return self.session._resources is not None


@pytest.fixture
def process(graph: Any) -> Iterator[Callable[..., Process]]:
    """Yield a function that makes a session of the graph."""
    made: list[Process] = []

    def make(name: str = ENGINE, of: Any = graph) -> Process:
        made.append(Process(of, name))
        return made[-1]

    yield make
    for each in made:
        each.session.close()


def files(place: Path) -> list[str]:
    return sorted(path.suffix for path in place.iterdir()) if place.exists() else []


def test_a_later_process_needs_no_plan(engine: Fake, process: Any, place: Path) -> None:
    first = process()
    assert first.run().tolist() == [9, 25]
    assert first.has_plan
    assert files(place) == [".json", ".onnx"]
    assert place.stat().st_mode & 0o777 == 0o700 or os.name == "nt"
    later = process()
    for _ in range(20):
        found = later.run()
        assert (found.tolist(), found.dtype) == ([9, 25], np.float32)
    assert not later.has_plan
    assert engine.runs == 21


def test_another_shape_is_verified_by_itself_and_shares_the_model(
    engine: Fake, process: Any, place: Path
) -> None:
    process().run()
    later = process()
    assert later.run((1.0,)).tolist() == [9]
    assert later.has_plan
    assert files(place) == [".json", ".json", ".onnx"]


def test_scalars_are_numpy_scalars(engine: Fake, process: Any) -> None:
    with tf.Graph().as_default() as graph:
        tf.square(tf.placeholder(tf.float32, [], "x") * 2.0 + 1.0, name="y")
    kinds = [type(process(of=graph).run(3.0)) for _ in range(2)]
    assert kinds == [np.float32, np.float32]
    assert engine.opened_models == 2


@pytest.mark.parametrize("value", [[[1.0]], 1.0, ["a"], [1 + 2j], {}, [[1.0], [2.0, 3.0]]])
def test_wrong_feeds_have_the_errors_of_the_plan(engine: Fake, process: Any, value: Any) -> None:
    process().run()
    texts = []
    for name in ("plan", ENGINE):
        session = process(name)
        session.run()
        with pytest.raises((TypeError, ValueError)) as error:
            session.run(value)
        texts.append((error.type, str(error.value)))
    assert texts[0] == texts[1]


def test_a_failure_leaves_this_and_later_runs_to_the_plan(engine: Fake, process: Any) -> None:
    process().run()
    later = process()
    later.run()

    def fail(value: Any) -> Any:
        raise RuntimeError("out of order")

    engine.change = fail
    assert later.run().tolist() == [9, 25]
    assert later.has_plan
    assert later.run((3.0, 4.0)).tolist() == [49, 81]


def test_wrong_answers_are_not_kept(engine: Fake, process: Any, place: Path) -> None:
    engine.change = lambda value: value * np.float32(1.01)
    assert process().run().tolist() == [9, 25]
    assert not files(place)


@pytest.mark.parametrize("kind", ["options", "metadata", "callable", "fetches", "operation"])
def test_unusual_runs_have_a_plan(engine: Fake, process: Any, graph: Any, kind: str) -> None:
    process().run()
    later = process()
    if kind == "options":
        later.run(options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
                  run_metadata=tf.RunMetadata())  # fmt: skip
    elif kind == "metadata":
        later.run(run_metadata=tf.RunMetadata())
    elif kind == "callable":
        assert later.session.make_callable("y:0", ["x:0"])([1.0, 2.0]).tolist() == [9, 25]
        assert not later.has_plan  # it is the same run
        return
    elif kind == "fetches":
        later.run(fetches=["y:0", "x:0"])
    else:
        later.run(fetches=[graph.get_operation_by_name("y"), "y:0"])
    assert later.has_plan


def test_a_changed_graph_has_a_plan(engine: Fake, process: Any, graph: Any) -> None:
    process().run()
    later = process()
    later.run()
    with graph.as_default():
        tf.constant(1.0, name="more")
    assert later.run().tolist() == [9, 25]
    assert later.has_plan


def test_a_graph_that_changes_again_and_again_is_not_followed(
    engine: Fake, process: Any, place: Path, graph: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "_MOST", 2)
    growing = process()
    for count in (1, 2, 2):
        with graph.as_default():
            tf.constant(1.0)
        growing.run()
        assert files(place).count(".json") == count


@pytest.mark.parametrize("kind", ["variable", "random", "limited"])
def test_graphs_with_state_or_limits_have_plans(
    engine: Fake, process: Any, place: Path, graph: Any, kind: str
) -> None:
    process().run()
    with graph.as_default():
        if kind == "variable":
            tf.get_variable("v", initializer=2.0)
        elif kind == "random":
            tf.random_uniform([])
    if kind == "limited":
        trust.limit(graph, "pure")
    count = len(files(place))
    for _ in range(2):
        later = process()
        assert later.run().tolist() == [9, 25]
        assert later.has_plan
    assert len(files(place)) == count


def test_a_constant_or_a_feed_that_is_fetched_is_not_kept(
    engine: Fake, process: Any, place: Path, graph: Any
) -> None:
    with graph.as_default():
        tf.constant(5.0, name="five")
    for fetches in (["y:0", "five:0"], ["y:0", "x:0"]):
        process().run(fetches=fetches)
    assert not files(place)


def model_of(place: Path) -> Path:
    return next(place.glob("*.onnx"))


def verdict_of(place: Path) -> Path:
    return next(place.glob("*.json"))


def changed(**fields: Any) -> Callable[[Path], None]:
    """Return a function that changes fields of the verdict."""

    def change(place: Path) -> None:
        path = verdict_of(place)
        path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))

    return change


def linked(place: Path) -> None:
    target = place.parent / "elsewhere"
    model_of(place).rename(target)
    (place / f"{json.loads(verdict_of(place).read_text())['model']}.onnx").symlink_to(target)


def piped(place: Path) -> None:
    path = model_of(place)
    path.unlink()
    os.mkfifo(path)


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "model cut": lambda place: model_of(place).write_bytes(b"the mod"),
    "model of another": lambda place: model_of(place).write_bytes(b"another one"),
    "model gone": lambda place: model_of(place).unlink(),
    "verdict cut": lambda place: verdict_of(place).write_bytes(verdict_of(place).read_bytes()[:40]),
    "verdict empty": lambda place: verdict_of(place).write_bytes(b""),
    "verdict of bytes": lambda place: verdict_of(place).write_bytes(b"\xff\x80\x03."),
    "verdict a list": lambda place: verdict_of(place).write_text("[[[1]]]"),
    "verdict deep": lambda place: verdict_of(place).write_text("[" * 100_000),
    "another key": changed(key="0"),
    "another engine": changed(engine="pickle"),
    "another version": changed(version="0"),
    "a path": changed(model="../elsewhere"),
    "no such input": changed(inputs=[1]),
    "an odd input": changed(inputs=["0"]),
    "no inputs": changed(inputs=None),
    "no such output": changed(outputs=[7]),
    "too many outputs": changed(outputs=[0, 0]),
    "odd threads": changed(threads="all"),
    "odd guards": changed(guards=[1]),
}  # fmt: skip
if hasattr(os, "mkfifo"):
    DAMAGES |= {"model a link": linked, "model a pipe": piped}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_files_are_ignored_and_replaced(
    engine: Fake, process: Any, place: Path, damage: str
) -> None:
    process().run()
    DAMAGES[damage](place)
    later = process()
    assert later.run().tolist() == [9, 25]
    assert later.has_plan
    again = process()
    assert again.run().tolist() == [9, 25]
    assert not again.has_plan


def test_a_folder_of_others_is_not_used(
    engine: Fake, process: Any, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process().run()
    assert stored.folder() == str(place)
    if hasattr(os, "getuid"):
        place.chmod(0o755)
        assert stored.folder() is None
        place.chmod(0o700)
        own = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: own + 1)
        assert stored.folder() is None
        later = process()
        assert later.run().tolist() == [9, 25]
        assert later.has_plan
        monkeypatch.undo()


@pytest.mark.parametrize("kind", ["file", "link", "unwritable"])
def test_a_place_that_cannot_be_the_folder_is_left_alone(
    engine: Fake, process: Any, place: Path, kind: str
) -> None:
    if kind == "file":
        place.write_text("mine")
    elif kind == "link":
        (place.parent / "other").mkdir(mode=0o700)
        place.symlink_to(place.parent / "other")
    else:
        place.parent.rmdir()
        place.parent.write_text("no folder")
    for _ in range(2):
        assert process().run().tolist() == [9, 25]
    if kind == "link":
        assert not any(place.iterdir())
    elif kind == "file":
        assert place.read_text() == "mine"


def test_it_can_be_switched_off(
    engine: Fake, process: Any, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STILLFLOW_ENGINE_CACHE", "0")
    process().run()
    assert not place.exists()


def test_the_files_used_least_recently_are_dropped(
    engine: Fake, process: Any, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process().run((1.0,))
    oldest = verdict_of(place)
    os.utime(oldest, (1, 1))
    other = place / "notes.txt"  # not of ours
    other.write_text("x" * 5000)
    (place / "left.onnx.tempstate1").write_text("x" * 5000)
    os.utime(place / "left.onnx.tempstate1", (2, 2))
    monkeypatch.setattr(stored, "_MOST", 700)
    process().run((1.0, 2.0))
    assert not oldest.exists()
    assert files(place) == [".json", ".onnx", ".txt"]


def test_a_model_that_is_too_large_is_not_kept(
    engine: Fake, process: Any, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "_LARGEST", 3)
    process().run()
    assert not files(place)


def test_a_full_disk_is_no_error(
    engine: Fake, process: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: str, content: bytes, sync: bool) -> None:
        raise errors.resource_exhausted(f"{path}; No space left on device")

    monkeypatch.setattr(stored, "write_file", fail)
    assert process().run().tolist() == [9, 25]


def test_auto_runs_what_is_not_timed_yet_a_few_times(engine: Fake, process: Any) -> None:
    process("auto").run()
    later = process("auto")
    for _ in range(stored._UNTIMED):
        assert later.run().tolist() == [9, 25]
    assert not later.has_plan
    later.run()
    assert later.has_plan


@pytest.mark.parametrize("slow", [True, False])
def test_auto_keeps_the_model_that_was_faster(
    engine: Fake, process: Any, place: Path, monkeypatch: pytest.MonkeyPatch, slow: bool
) -> None:
    now = [0.0]
    monkeypatch.setattr(trial.time, "perf_counter", lambda: now[0])
    real: Any = vars(trial.Trial)["plain"].fget

    def plain(self: Any) -> Any:
        def function(*arrays: Any) -> Any:
            now[0] += 1.0
            return real(self)(*arrays)

        return function

    def change(value: Any) -> Any:
        now[0] += 2.0 if slow else 0.0
        return value

    monkeypatch.setattr(trial.Trial, "plain", property(plain))
    engine.change = change
    first = process("auto")
    for _ in range(1 + 2 * trial._ROUNDS):
        first.run()
    assert (".json" in files(place)) == (not slow)
    later = process("auto")
    for _ in range(stored._UNTIMED + 4):
        later.run()
    assert later.has_plan == slow


def test_a_forked_process_leaves_runs_to_the_plan(engine: Fake, process: Any) -> None:
    process().run()
    later = process()
    later.run()
    (plan,) = [plan for cache in later.session._plans._caches.values()
               for plan in cache._plans.values()]  # fmt: skip
    assert plan.chosen == "stored"
    plan.after_fork()
    assert later.run().tolist() == [9, 25]
    assert later.has_plan


def test_a_closed_or_reset_session_does_not_run(engine: Fake, process: Any) -> None:
    process().run()
    later = process()
    later.run()
    later.session.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        later.run()


_PROGRAM = """
import sys
import numpy as np
import stillflow as tf

rng = np.random.default_rng(0)
x = tf.placeholder(tf.float32, [None, 8, 8, 3], "x")
rows = tf.placeholder(tf.int32, [None], "rows")
y = tf.nn.relu(tf.nn.conv2d(x, rng.normal(size=(3, 3, 3, 4)).astype("f"), 2, "SAME"))
z = tf.gather(tf.reduce_sum(y, [1, 2]), rows) * 2.0
sess = tf.Session()
found = sess.run([y, z], {x: np.ones([2, 8, 8, 3]), rows: [1]})
print("torch" in sys.modules, [float(each.sum()) for each in found])
try:
    sess.run([y, z], {x: np.ones([2, 8, 8, 3]), rows: [2]})
except tf.errors.InvalidArgumentError as error:
    print(error.message.splitlines()[0])
"""


@pytest.mark.parametrize("name", ["onnxruntime", "openvino"])
def test_a_new_process_does_not_import_torch(name: str, place: Path) -> None:
    pytest.importorskip("onnx")
    pytest.importorskip(name)
    env = {**os.environ, "STILLFLOW_ENGINE": name, "CUDA_VISIBLE_DEVICES": ""}
    texts = [
        subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, env=env,
                       check=True, timeout=300, cwd=ROOT).stdout.split("\n")
        for _ in range(2)
    ]  # fmt: skip
    first, second = texts
    assert (first[0].split()[0], second[0].split()[0]) == ("True", "False")
    values = [np.array(json.loads(text[0].partition(" ")[2])) for text in texts]
    np.testing.assert_allclose(values[0], values[1], rtol=1e-5)
    assert first[1:] == second[1:]
    assert "indices[0] = 2 is not in [0, 2)" in first[1]
