"""Faults from outside of a cluster: stopped processes, abuse of the port, full disks."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import stillflow as tf
from stillflow import errors
from stillflow.runtime.cluster import tasks
from stillflow.runtime.interrupts import NEVER

SOURCE = Path(tf.__file__).parents[1]
SERVER = """
import sys
import tensorflow as tf
server = tf.train.Server({"ps": [sys.argv[1]]})
print("there", flush=True)
server.join()
"""
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind: int, flags: int, stream: int, content: bytes, length: int | None = None) -> bytes:
    """Return a frame of HTTP/2, which may lie about its length."""
    size = len(content) if length is None else length
    return struct.pack(">I", size)[1:] + struct.pack(">BBI", kind, flags, stream) + content


def address_of(target: str) -> tuple[str, int]:
    return "127.0.0.1", int(target.rpartition(":")[2])


def runs(target: str) -> bool:
    """Return True if a session on a server computes, as another process would see it."""
    port = address_of(target)[1]
    config = tf.ConfigProto(operation_timeout_in_ms=60_000)
    with tf.Graph().as_default(), tf.Session(f"grpc://127.0.0.1:{port}", config=config) as session:
        return bool(session.run(tf.constant(2.0) * 3.0) == 6.0)


@pytest.fixture
def target() -> str:
    return str(tf.train.Server.create_local_server().target)


@contextlib.contextmanager
def process(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield a process with a server, and the server's address."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{bound.getsockname()[1]}"
    (tmp_path / "server.py").write_text(SERVER)
    command = [sys.executable, "-m", "stillflow", str(tmp_path / "server.py"), address]
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "TF_CPP_MIN_LOG_LEVEL": "3"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as started:
        try:
            assert started.stdout is not None and started.stdout.readline() == "there\n"
            yield started, address
        finally:
            started.kill()


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be stopped here")
def test_a_stopped_task_holds_a_run_up_to_its_limit_and_goes_on(tmp_path: Path) -> None:
    with process(tmp_path) as (server, address), tf.Graph().as_default():
        v = tf.get_variable("v", initializer=1.0)
        add = tf.assign_add(v, 1.0)
        with tf.Session(f"grpc://{address}") as session:
            session.run(v.initializer)
            server.send_signal(signal.SIGSTOP)
            begun = time.monotonic()
            with pytest.raises(errors.DeadlineExceededError):
                session.run(add, options=tf.RunOptions(timeout_in_ms=500))
            assert time.monotonic() - begun < 60
            server.send_signal(signal.SIGCONT)
            # The step that was given up may have been done, or not.
            assert session.run(add) in (2.0, 3.0)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 4096,
        b"SFc1" + struct.pack("<I", 0xFFFFFFFF),  # a message of 4 GB
        b"SFc1" + struct.pack("<I", 100) + b"half",
        b"SFc9" + struct.pack("<I", 4) + b"next",  # another version
        PREFACE[:10],
        PREFACE + frame(4, 0, 0, b"", length=0xFFFFFF),
        PREFACE + frame(4, 0, 0, b"") + frame(1, 0, 1, b"\x82" * 64)
        + frame(9, 0, 1, b"\x82" * 1024) * 256,  # headers that never end
        PREFACE + frame(4, 0, 0, b"") + frame(3, 0, 1, b"\0\0\0\x08") * 1000,
        PREFACE + frame(4, 0, 0, b"") + frame(6, 0, 0, b"\0" * 8) * 1000,  # a flood of pings
        PREFACE + frame(4, 0, 0, b"") * 1000,
        PREFACE + frame(0, 0, 0, b"data of no stream"),
    ],
    ids=["nothing", "zeros", "huge", "half", "version", "half preface", "huge frame", "headers",
         "resets", "pings", "settings", "data"],
)  # fmt: skip
def test_abuse_of_the_port_harms_nobody(target: str, data: bytes) -> None:
    with socket.create_connection(address_of(target)) as held:
        with contextlib.suppress(OSError):  # the server may close at once
            held.sendall(data)
        assert runs(target)
    assert runs(target)


def test_a_thousand_idle_connections_leave_room_for_work(target: str) -> None:
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4096  # both ends are in this process
    if hard not in (-1, resource.RLIM_INFINITY) and hard < wanted:
        pytest.skip("too few files may be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    before = threading.active_count()
    try:
        with contextlib.ExitStack() as held:
            for number in range(1000):
                idle = held.enter_context(socket.create_connection(address_of(target), 60))
                if number % 20 == 0:
                    idle.sendall(PREFACE + frame(4, 0, 0, b""))
            assert runs(target)
        end = time.monotonic() + 60
        while threading.active_count() > before + 100 and time.monotonic() < end:
            time.sleep(0.05)
        assert threading.active_count() <= before + 100
        assert runs(target)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_full_disk_at_the_chief_is_named_and_leaves_the_last_checkpoint(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def session(steps: int) -> Any:
        hooks = [tf.train.StopAtStepHook(last_step=steps)]
        return tf.train.MonitoredTrainingSession(
            target, checkpoint_dir=str(tmp_path), save_checkpoint_steps=2, hooks=hooks,
            save_summaries_steps=None,
        )  # fmt: skip

    def build() -> Any:
        step = tf.train.get_or_create_global_step()
        v = tf.get_variable("v", shape=[100_000], initializer=tf.zeros_initializer())
        return tf.group(tf.assign_add(v, tf.ones([100_000])), tf.assign_add(step, 1))

    with tf.Graph().as_default():
        train = build()
        with session(4) as training:
            while not training.should_stop():
                training.run(train)
    saved = tf.train.latest_checkpoint(str(tmp_path))
    with full_disk(), tf.Graph().as_default():
        train = build()
        with pytest.raises(errors.ResourceExhaustedError, match=r"File too large|No space left"):
            with session(20) as training:
                while not training.should_stop():
                    training.run(train)
    assert tf.train.latest_checkpoint(str(tmp_path)) == saved
    with tf.Graph().as_default():
        train = build()
        with session(8) as training:
            while not training.should_stop():
                training.run(train)
        assert tf.train.latest_checkpoint(str(tmp_path)) != saved


@contextlib.contextmanager
def full_disk() -> Iterator[None]:
    """Yield while no file may grow above 100 kB; the system then says so as of a full disk."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_clock_that_jumps_moves_no_limit(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    jumps = itertools.cycle([4e9, 0.0, 2e9])
    monkeypatch.setattr(time, "time", lambda: next(jumps))
    port = address_of(target)[1]
    with tf.Graph().as_default(), tf.Session(f"grpc://127.0.0.1:{port}") as session:
        taken = tf.FIFOQueue(1, [tf.float32], shapes=[[]]).dequeue()
        begun = time.monotonic()
        with pytest.raises(errors.DeadlineExceededError):
            session.run(taken, options=tf.RunOptions(timeout_in_ms=300))
        assert 0.25 < time.monotonic() - begun < 60
        assert session.run(tf.constant(2.0)) == 2.0


def test_many_sessions_leave_no_threads_and_no_state() -> None:
    (worker,), (ps,) = tf.test.create_local_cluster(1, 1)
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            v = tf.get_variable("v", initializer=1.0)
        with tf.device("/job:worker/task:0"):
            y = v * 2.0
        counts = []
        for _ in range(200):
            with tf.Session(worker.target) as session:
                session.run(v.initializer)
                assert session.run(y) == 2.0
            counts.append(threading.active_count())
    assert max(counts[100:]) <= max(counts[:100]) + 2  # threads that are free are used again
    found = [tasks._tasks[each.target] for each in (worker, ps)]
    end = time.monotonic() + 60
    while any(task._guests for task in found) and time.monotonic() < end:
        time.sleep(0.01)
    assert not any(task._guests or task.rendezvous._steps for task in found)


def test_many_steps_leave_no_feeds_behind() -> None:
    workers, _ = tf.test.create_local_cluster(1, 1)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None])
        with tf.device("/job:ps/task:0"):
            y = tf.reduce_sum(x)
        with tf.device("/job:worker/task:0"):
            z = y * 2.0
        with tf.Session(workers[0].target) as session:
            watched = (session._get_resources().interrupt, NEVER)
            session.run(z, {x: [1.0]})
            before = [len(each._waiting) for each in watched]
            for _ in range(20):
                assert session.run(z, {x: [1.0, 2.0]}) == 6.0
            assert [len(each._waiting) for each in watched] == before
