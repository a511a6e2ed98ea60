"""Clusters whose tasks are processes of their own: the programs that people wrote for them."""

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

import numpy as np
import pytest

import stillflow as tf

_LIMIT = 90  # seconds; slower processes are stopped

PROGRAM = """
import json, os, sys
import numpy as np
import tensorflow as tf

cluster, job, index = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
server = tf.train.Server(tf.train.ClusterSpec(cluster), job_name=job, task_index=index)
if job == "ps":
    server.join()
workers = len(cluster["worker"])
device = tf.train.replica_device_setter(
    worker_device="/job:worker/task:%d" % index, cluster=cluster)
with tf.device(device):
    x = tf.placeholder(tf.float64, [None, 3])
    w = tf.get_variable("w", initializer=np.array([[1.0], [2.0], [3.0]]))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
    step = tf.train.get_or_create_global_step()
    optimizer = tf.train.SyncReplicasOptimizer(tf.train.GradientDescentOptimizer(0.1), workers)
    train = optimizer.minimize(loss, global_step=step)
    hook = optimizer.make_session_run_hook(index == 0, num_tokens=0)
with tf.device("/job:ps/task:0"):  # where all of them wait for each other
    done = [tf.FIFOQueue(workers, tf.int32, shared_name="done%d" % i) for i in range(workers)]
    finish = [queue.enqueue(1) for queue in done]
    finished = done[index].dequeue()
losses = []


class Worker(tf.train.SessionCreator):  # that of tf.train looks after its chief twice a minute
    def create_session(self):
        scaffold = tf.train.Scaffold().finalize()
        manager = tf.train.SessionManager(
            local_init_op=scaffold.local_init_op, ready_op=scaffold.ready_op,
            ready_for_local_init_op=scaffold.ready_for_local_init_op, recovery_wait_secs=0.1)
        return manager.wait_for_session(server.target)


creator = Worker() if index else tf.train.ChiefSessionCreator(master=server.target)
with tf.train.MonitoredSession(creator, hooks=[hook]) as session:
    batch = np.full([2, 3], 0.1 + index)
    for _ in range(4):
        losses.append(float(session.run([loss, train], {x: batch})[0]))
        session.run(finish)  # else a fast worker may take another's token, and its place
        for _ in range(workers):
            session.run(finished)
    print(json.dumps(losses), flush=True)
    os._exit(0)  # the chief would wait for the thread that ends steps
"""

# What TensorFlow 1.15 prints for the two workers of this program.
LOSSES = [
    [0.36000001430511475, 0.14470413327217102, 0.058164697140455246, 0.023379648104310036],
    [43.56000518798828, 17.509199142456055, 7.037929058074951, 2.8289377689361572],
]


def free_addresses(count):
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("localhost", 0))
        return [f"localhost:{each.getsockname()[1]}" for each in sockets]


class Task:
    """A program that runs as a process; one that takes long is ended."""

    def __init__(self, folder, program, arguments):
        folder.mkdir()
        (folder / "program.py").write_text(program)
        self._out, self._err = folder / "out", folder / "err"
        words = [
            sys.executable,
            "-X",
            "faulthandler",
            "-m",
            "stillflow",
            str(folder / "program.py"),
        ]
        with self._out.open("w") as out, self._err.open("w") as err:
            self.process = subprocess.Popen(
                [*words, *map(str, arguments)],
                stdout=out,
                stderr=err,
                env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "1"},
            )
        self._timer = threading.Timer(_LIMIT, self.process.send_signal, [signal.SIGABRT])
        self._timer.daemon = True
        self._timer.start()

    def wait(self):
        """Wait for its end; give what it has printed, and its last complaints."""
        self.process.wait()
        return self._out.read_text(), self._err.read_text()[-4000:]

    def end(self):
        self._timer.cancel()
        self.process.kill()
        self.process.wait()


@pytest.fixture
def start(tmp_path):
    """Start programs with arguments; ends them at the end."""
    started = []

    def start(program, *arguments):
        started.append(Task(tmp_path / f"{len(started)}", program, arguments))
        return started[-1]

    yield start
    for task in started:
        task.end()


SERVER = """
import json, sys
import tensorflow as tf
cluster, job, index = json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])
tf.train.Server(cluster, job_name=job, task_index=index).join()
"""


def joint_losses():
    """Return the workers' losses, where one process trains on the batches of both."""
    with tf.Graph().as_default(), tf.Session() as session:
        halves = [tf.constant(np.full([2, 3], 0.1 + index)) for index in range(2)]
        w = tf.get_variable("w", initializer=np.array([[1.0], [2.0], [3.0]]))
        losses = [tf.reduce_mean(tf.square(tf.matmul(x, w))) for x in halves]
        joint = tf.reduce_mean(tf.square(tf.matmul(tf.concat(halves, 0), w)))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(joint)
        session.run(tf.global_variables_initializer())
        found = []
        for _ in range(4):
            found.append(session.run(losses))
            session.run(train)
    return np.transpose(found).tolist()


def test_replicas_in_step_have_the_losses_of_one_process_and_of_tensorflow(start):
    ps, *workers = free_addresses(3)
    cluster = json.dumps({"ps": [ps], "worker": workers})
    start(PROGRAM, cluster, "ps", 0)
    tasks = [start(PROGRAM, cluster, "worker", index) for index in (0, 1)]
    said = [task.wait() for task in tasks]
    assert all(out for out, _ in said), said
    losses = [json.loads(out) for out, _ in said]
    assert losses == [pytest.approx(expected, rel=1e-5) for expected in LOSSES]  # single precision
    assert losses == [pytest.approx(expected, rel=1e-12) for expected in joint_losses()]


def test_a_session_waits_for_tasks_and_learns_of_their_death(start):
    ps, worker = free_addresses(2)
    cluster = {"ps": [ps], "worker": [worker]}
    server = tf.train.Server(cluster, job_name="worker", task_index=0)
    with tf.Graph().as_default():
        with tf.device("/job:ps"):
            v = tf.get_variable("v", initializer=1.0)
            waits = tf.FIFOQueue(1, tf.int32).dequeue()
        with tf.device("/job:worker"):
            doubled = v * 2
        limited = tf.ConfigProto(operation_timeout_in_ms=200)
        with tf.Session(server.target, config=limited) as session:
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(v.initializer)  # there is no such task yet
        task = start(SERVER, json.dumps(cluster), "ps", 0)
        with tf.Session(server.target) as session:
            session.run(v.initializer)
            assert session.run(doubled) == 2.0
            killed = threading.Timer(0.3, task.process.kill)
            killed.start()
            with pytest.raises(tf.errors.UnavailableError):
                session.run(waits)
            with pytest.raises(tf.errors.UnavailableError):
                session.run(doubled)
        start(SERVER, json.dumps(cluster), "ps", 0)  # as a scheduler would
        with tf.Session(server.target) as session:
            with pytest.raises(tf.errors.FailedPreconditionError):
                session.run(doubled)
            session.run(v.initializer)
            assert session.run(doubled) == 2.0


def test_sessions_of_other_processes_share_what_a_server_keeps(start):
    (address,) = free_addresses(1)
    process = start(SERVER, json.dumps({"local": [address]}), "local", 0).process
    target = f"grpc://{address}"
    with tf.Graph().as_default():
        v = tf.get_variable("v", initializer=[1.0, 2.0])
        x = tf.placeholder(tf.float32, [2])
        with tf.Session(target) as session:
            names = [device.name for device in session.list_devices()]
            assert names[0] == "/job:local/replica:0/task:0/device:CPU:0"
            session.run(v.initializer)
            session.run(v.assign_add(x), {x: [10.0, 20.0]})
        with tf.Session(target) as session:
            assert session.run(v).tolist() == [11.0, 22.0]
        tf.Session.reset(target)
        with tf.Session(target) as session, pytest.raises(tf.errors.FailedPreconditionError):
            session.run(v)
    process.send_signal(signal.SIGINT)
    deadline = time.monotonic() + 20
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    assert process.poll() is not None, "Ctrl-C ends a server that joins"
