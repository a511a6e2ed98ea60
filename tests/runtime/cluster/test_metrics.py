"""Metrics of tasks for Prometheus."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from typing import Any

import pytest

import stillflow as tf
from stillflow import errors
from stillflow.runtime.cluster import metrics
from stillflow.train.server import Server


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> Any:
    """Return a function that gives the port of the metrics of servers that have started."""
    monkeypatch.setattr(metrics, "shown", None)
    monkeypatch.setenv("STILLFLOW_METRICS_PORT", "0")
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "0")

    def found() -> int:
        match = re.search(r"Metrics are at http://127.0.0.1:(\d+)/metrics", capfd.readouterr().err)
        assert match is not None
        return int(match[1])

    return found


def page(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    lines = (line.rpartition(" ") for line in text.splitlines() if line[0] != "#")
    return {name: float(value) for name, _, value in lines}


def test_steps_bytes_and_queues_of_each_task(port: Any) -> None:
    (worker,), _ = tf.test.create_local_cluster(1, 1)
    ps_name, worker_name = (
        f"/job:{job}/replica:0/task:0" for job in ("ps", "worker")
    )  # fmt: skip
    with tf.Graph().as_default(), tf.Session(worker.target) as session:
        with tf.device("/job:ps/task:0"):
            v = tf.get_variable("v", initializer=tf.zeros([1000]))
            queue = tf.FIFOQueue(4, [tf.float32], shapes=[[]], shared_name="letters")
            put = queue.enqueue(1.0)
        with tf.device("/job:worker/task:0"):
            y = tf.reduce_sum(v)
            bad = tf.check_numerics(y / 0.0, "not finite")
        session.run([v.initializer, put])
        session.run(put)
        assert session.run(y) == 0.0
        with pytest.raises(errors.InvalidArgumentError):
            session.run(bad)
        found = page(port())
    prefix = "stillflow_cluster_"
    assert found[f'{prefix}steps_total{{task="{worker_name}",status="ok"}}'] >= 1
    assert found[f'{prefix}steps_total{{task="{worker_name}",status="InvalidArgumentError"}}'] == 1
    assert found[f'{prefix}step_seconds_count{{task="{ps_name}"}}'] >= 3
    assert found[f"{prefix}sent_bytes_total"] == found[f"{prefix}received_bytes_total"] >= 8000
    assert found[f'{prefix}queue_length{{task="{ps_name}",queue="letters"}}'] == 2
    assert found[f'{prefix}sessions{{task="{ps_name}"}}'] == 1
    assert found[f'{prefix}running_steps{{task="{ps_name}"}}'] == 0


def test_steps_that_need_no_other_task_count(port: Any) -> None:
    server = tf.train.Server.create_local_server()
    with tf.Graph().as_default(), tf.Session(server.target) as session:
        for _ in range(3):
            session.run(tf.constant(1.0))
    found = page(port())
    name = 'stillflow_cluster_steps_total{task="/job:local/replica:0/task:0",status="ok"}'
    assert found[name] == 3


def test_other_pages_are_not_there(port: Any) -> None:
    tf.train.Server.create_local_server()
    with pytest.raises(urllib.error.HTTPError, match="404") as caught:
        urllib.request.urlopen(f"http://127.0.0.1:{port()}/", timeout=60)
    caught.value.close()  # Python 3.15 warns of a body that nobody has closed


def test_a_port_that_is_none_or_taken_ends_the_server(port: Any, monkeypatch: Any) -> None:
    Server({"a": ["localhost:0"]})
    taken = port()
    for value, kind in ((taken, errors.UnknownError), ("many", errors.InvalidArgumentError)):
        monkeypatch.setattr(metrics, "shown", None)
        monkeypatch.setenv("STILLFLOW_METRICS_PORT", str(value))
        with pytest.raises(kind):
            Server({"a": ["localhost:0"]})
