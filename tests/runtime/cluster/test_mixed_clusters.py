"""Clusters of TensorFlow's and Stillflow's tasks.

Where no TensorFlow is installed, Stillflow's own tasks are taken for TensorFlow's: then the master
calls WorkerService, and values are asked for.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.runtime.cluster import rpc_programs, test_several_tasks
from tests.runtime.cluster.test_several_tasks import OTHER, PS, WORKER, on

import stillflow as tf
from stillflow import errors
from stillflow.runtime.cluster import access, peers
from stillflow.runtime.cluster.links import IsTensorFlow
from stillflow.runtime.cluster.rendezvous import Rendezvous

grpc = pytest.importorskip("grpc")


@pytest.fixture(scope="module")
def cluster() -> tuple[str, ...]:
    workers, (ps,) = tf.test.create_local_cluster(2, 1)
    return workers[0].target, workers[1].target, ps.target


@pytest.fixture
def target(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield a worker for which all other tasks are TensorFlow's."""
    tf.Session.reset(cluster[0])

    def is_tensorflow(*arguments: Any, **fields: Any) -> Any:
        raise IsTensorFlow

    monkeypatch.setattr(access, "ask_when_there", is_tensorflow)
    monkeypatch.setattr(peers, "ask_when_there", is_tensorflow)
    with tf.Graph().as_default():
        yield cluster[0]


# As between Stillflow's tasks.
test_values_of_all_types = test_several_tasks.test_values_of_all_types_go_from_task_to_task
test_strings = test_several_tasks.test_strings_keep_zeros_at_their_ends_from_task_to_task
test_training = (
    test_several_tasks.test_training_with_a_parameter_server_gives_the_numbers_of_training_alone
)
test_branches = test_several_tasks.test_branches_reach_over_tasks
test_loops = test_several_tasks.test_loops_take_values_of_other_tasks_and_have_gradients


def test_an_error_names_its_operation_and_its_task(target: str) -> None:
    with tf.device(PS):
        x = tf.placeholder(tf.float32, [], name="x")
        bad = tf.check_numerics(1.0 / x, "not finite", name="check")
    with tf.device(WORKER):
        y = bad + 1.0
    with tf.Session(target) as session:
        begin = time.monotonic()
        with pytest.raises(tf.errors.InvalidArgumentError, match="From /job:ps") as caught:
            session.run(y, {x: 0.0})
        assert caught.value.op is bad.op and time.monotonic() - begin < 30
        assert session.run(y, {x: 1.0}) == 2.0


def test_a_step_that_waits_ends_at_its_limit(target: str) -> None:
    with tf.device(PS):
        taken = tf.FIFOQueue(2, [tf.float32], shapes=[[]]).dequeue()
    with tf.device(WORKER):
        y = taken + 1.0
    with tf.Session(target) as session, pytest.raises(tf.errors.DeadlineExceededError):
        session.run(y, options=tf.RunOptions(timeout_in_ms=300))


def test_traces_have_a_row_for_each_task(target: str) -> None:
    v = on(PS, 1.0, name="v")
    with tf.device(OTHER):
        y = v + 1.0
    trace = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session(target) as session:
        session.run(v.initializer)
        assert session.run(y, options=options, run_metadata=trace) == 2.0
    tasks = {stats.device.rpartition("/device:")[0] for stats in trace.step_stats.dev_stats}
    assert len(tasks) == 2


def test_steps_leave_nothing_behind(target: str, cluster: Any) -> None:
    from stillflow.runtime.cluster import tasks

    v = on(PS, [1.0], name="v")
    with tf.device(OTHER):
        y = v + 1.0
    with tf.device(WORKER):
        z = y + v
    with tf.Session(target) as session:
        session.run(v.initializer)
        for _ in range(20):
            session.run(z)
        found = [tasks._tasks[each] for each in cluster]
        assert all(task._guests for task in found)
    for task in found:
        wait_until(lambda task=task: not task._guests)
        assert not task.rendezvous._steps


def test_a_step_that_fails_leaves_nothing_behind(target: str, cluster: Any) -> None:
    from stillflow.runtime.cluster import tasks

    with tf.device(WORKER):
        x = tf.placeholder(tf.float32, [], name="x")
        sent = x * 2.0
        bad = tf.check_numerics(1.0 / x, "not finite")
    with tf.device(PS):
        y = sent + bad
    with tf.Session(target) as session:
        for _ in range(5):
            with pytest.raises(tf.errors.InvalidArgumentError, match="From /job:worker"):
                session.run(y, {x: 0.0})
    for each in cluster:
        task = tasks._tasks[each]
        wait_until(lambda task=task: not task.rendezvous._steps)


def wait_until(is_so: Any) -> None:
    end = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


# ---- Values that are asked for ----------------------------------------------------------------


def test_a_value_may_be_asked_for_before_it_is_there() -> None:
    there = Rendezvous()
    threading.Timer(0.1, there.put, (7, "key", b"3")).start()
    assert there.take(7, "key") == b"3"
    there.put(7, "key", b"4")
    assert there.take(7, "key") == b"4"


def test_who_asks_for_a_value_of_a_step_that_ends_gets_an_error() -> None:
    there = Rendezvous()
    threading.Timer(0.1, there.end, (7,)).start()
    with pytest.raises(errors.AbortedError):
        there.take(7, "key")
    there.put(7, "key", b"3")  # is dropped
    with pytest.raises(errors.AbortedError):
        there.take(7, "key")


# ---- Real tasks of TensorFlow -----------------------------------------------------------------

ROOT = Path(tf.__file__).parents[2]
RECORDED = Path(__file__).parent / "recorded"


def start(made_of: str, arguments: list[str], **variables: str) -> subprocess.Popen[bytes]:
    """Start a program of this folder as a task of TensorFlow ("tf") or Stillflow ("sf")."""
    program = str(Path(rpc_programs.__file__).with_name(arguments[0]))
    settings = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3", **variables}
    settings.pop("PYTHONPATH", None)
    python = [rpc_programs.tensorflow_python()]
    if made_of == "sf":
        settings["PYTHONPATH"] = str(ROOT / "src")
        python = [sys.executable, "-m", "stillflow"]
    return subprocess.Popen(
        [*python, program, *arguments[1:]], stdout=subprocess.PIPE, env=settings,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip


def stop(tasks: list[subprocess.Popen[bytes]]) -> None:
    """Kill processes that may have ended."""
    for each in tasks:
        with contextlib.suppress(OSError):
            each.send_signal(signal.SIGKILL)
        each.communicate()


class Cluster:
    """Processes of a cluster, of TensorFlow ("tf") or Stillflow ("sf")."""

    def __init__(self, ps: str, workers: list[str], kind: str) -> None:
        addresses = [f"localhost:{free_port()}" for _ in (ps, *workers)]
        text = json.dumps({"ps": addresses[:1], "worker": addresses[1:]})
        self.tasks = []
        for place, made_of in enumerate((ps, *workers)):
            job = ("ps", "0") if place == 0 else ("worker", str(place - 1))
            self.tasks.append(start(made_of, ["mixed_training.py", *job, text, kind]))

    def losses(self) -> list[list[float]]:
        """Return the losses of each worker."""
        found = []
        for worker in self.tasks[1:]:
            assert worker.stdout is not None
            line = worker.stdout.readline()
            found.append(json.loads(line))
        return found

    def stop(self) -> None:
        stop(self.tasks)


def free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("localhost", 0))
        return int(bound.getsockname()[1])


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("kind", "ps", "workers"),
    [
        ("async", "tf", ["sf"]),
        ("async", "sf", ["tf"]),
        ("sync", "tf", ["tf", "sf"]),
        ("sync", "sf", ["sf", "tf"]),
        ("sync", "tf", ["sf", "tf"]),
    ],
)
def test_mixed_clusters_train_as_tensorflow_alone(kind: str, ps: str, workers: list[str]) -> None:
    """All workers have the same batches, so that the mean of their gradients is that of one.

    A worker that waits for the processor between its gradient and its token may lose the token to
    the other one, which then makes a step more: such a run says nothing about losses.
    """
    expected = np.array(LOSSES)
    for _ in range(3):
        cluster = Cluster(ps, workers, kind)
        try:
            losses = [np.array(found) for found in cluster.losses()]
        finally:
            cluster.stop()
        if len({len(found) for found in losses}) == 1:
            break
    for found in losses:
        assert len(found) == len(expected)
        error = len(found) * np.finfo(np.float32).eps * expected.max()
        np.testing.assert_allclose(found, expected, rtol=0, atol=error)


@pytest.mark.oracle
@pytest.mark.parametrize(("ps", "worker"), [("tf", "sf"), ("sf", "tf")])
def test_iterators_of_the_other_kind_of_task_are_read(ps: str, worker: str) -> None:
    cluster = Cluster(ps, [worker], "data")
    try:
        assert cluster.losses() == [json.loads((RECORDED / "mixed_data.json").read_text())]
    finally:
        cluster.stop()


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("ps", "chief", "evaluator"), [("tf", "sf", "tf"), ("sf", "tf", "sf"), ("tf", "sf", "sf")]
)
def test_estimators_train_and_evaluate_as_tensorflow_alone(
    ps: str, chief: str, evaluator: str, tmp_path: Path
) -> None:
    cluster = {"ps": [f"localhost:{free_port()}"], "chief": [f"localhost:{free_port()}"]}
    started = []
    try:
        for job, made_of in (("ps", ps), ("chief", chief), ("evaluator", evaluator)):
            config = {"cluster": cluster, "task": {"type": job, "index": 0}}
            arguments = ["mixed_estimator.py", str(tmp_path / "model")]
            started.append(start(made_of, arguments, TF_CONFIG=json.dumps(config)))
        output, _ = started[2].communicate(timeout=240)
        found = json.loads(output.splitlines()[-1])
        assert started[1].wait(60) == 0
    finally:
        stop(started)
    expected = json.loads((RECORDED / "mixed_estimator.json").read_text())
    assert found.keys() == expected.keys() and found["global_step"] == 30
    for name, value in found.items():  # 30 steps of rounding
        assert abs(value - expected[name]) <= 30 * np.finfo(np.float32).eps * 4, name


LOSSES = json.loads((RECORDED / "mixed_losses.json").read_text())
