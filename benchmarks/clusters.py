"""Clusters of separate processes on one machine: TensorFlow 1.15.5 and Stillflow, side by side.

    python -m benchmarks.clusters                        # every case, the table of docs/clusters.md
    python -m benchmarks.clusters mlp large --rounds 5

The implementations take turns, in every round; a ratio is taken within a round, and the table shows
the median with the lowest and the highest. Ranks of a Horovod program are compared with PyTorch's
gloo alone, with one rank, and with ranks that have nothing to do with each other. This file is also
the program of all tasks, so it runs on Python 3.7.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

if __package__ in (None, ""):
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from benchmarks.child import median
from benchmarks.peer import MODULES, PEERS, ROOT

STEADY, BYTES = "steady", 100_000_000
PATIENCE = 300.0


# ---- Tasks of TensorFlow and Stillflow --------------------------------------------------------


def tell(meanwhile: Callable[[], Any] | None = None, **found: float) -> None:
    """Print the results of a worker; the parent ends all of them, once each has printed."""
    print(json.dumps(found), flush=True)
    while meanwhile:
        meanwhile()
    sys.stdin.read()  # TensorFlow's workers look for a chief's session every 30 s
    os._exit(0)  # closing a session may wait for the threads of queues


def steps_per_second(run: Callable[[], Any], count: int, warm_up: int = 5) -> float:
    """Run steps; the parent notes the processor time between the two lines that are printed."""
    for _ in range(warm_up):
        run()
    print(STEADY, flush=True)
    start = time.perf_counter()
    for _ in range(count):
        run()
    return count / (time.perf_counter() - start)


def replica(tf: Any, spec: Any, index: int) -> Any:
    """Return the context that puts variables on the parameter server."""
    worker = f"/job:worker/task:{index}"
    return tf.device(tf.train.replica_device_setter(worker_device=worker, cluster=spec))


def perceptron(tf: Any) -> tuple[Any, dict[Any, Any]]:
    """Return the loss of a perceptron on digits, and a batch of 100."""
    generator = np.random.RandomState(0)
    x, y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int64, [None])
    logits = tf.layers.dense(tf.layers.dense(x, 128, tf.nn.relu), 10)
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    batch = {x: generator.rand(100, 784), y: generator.randint(0, 10, 100)}
    return loss, batch


def mlp(tf: Any, server: Any, spec: Any, index: int) -> None:
    """Train asynchronously, in two workers."""
    with replica(tf, spec, index):
        loss, batch = perceptron(tf)
        step = tf.train.get_or_create_global_step()
        train = tf.train.AdamOptimizer().minimize(loss, global_step=step)
    with tf.train.MonitoredTrainingSession(server.target, index == 0) as session:
        rate = steps_per_second(lambda: session.run(train, batch), 300, 30)
        tell(rate=rate, steps=300)


def synchronous(tf: Any, server: Any, spec: Any, index: int) -> None:
    """Train by SyncReplicasOptimizer, in two workers of a processor each."""
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[index % (os.cpu_count() or 1)]})
    with replica(tf, spec, index):
        loss, batch = perceptron(tf)
        step = tf.train.get_or_create_global_step()
    adam = tf.train.AdamOptimizer()
    optimizer = tf.train.SyncReplicasOptimizer(adam, spec.num_tasks("worker"))
    with tf.device(
        f"/job:worker/task:{index}"
    ):  # a local step of its own, or both workers may wait
        train = optimizer.minimize(loss, global_step=step)
    hooks = [optimizer.make_session_run_hook(index == 0)]
    with tf.train.MonitoredTrainingSession(server.target, index == 0, hooks=hooks) as session:
        print(STEADY, flush=True)
        sys.stdin.readline()  # a worker of TensorFlow may come 30 s after the chief
        rate = steps_per_second(lambda: session.run(train, batch), 200, 30)
        tell(lambda: session.run(train, batch), rate=rate)  # the other one needs its gradients


def large(tf: Any, server: Any, spec: Any, index: int) -> None:
    """Train a model of 25 million parameters."""
    with replica(tf, spec, index):
        x = tf.placeholder(tf.float32, [None, 5000])
        w = tf.get_variable("w", [5000, 5000], initializer=tf.zeros_initializer())
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) - 1.0))
        train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    batch = {x: np.full((4, 5000), 0.01, np.float32)}
    with tf.Session(server.target) as session:
        session.run(tf.global_variables_initializer())
        rate = steps_per_second(lambda: session.run(train, batch), 20)
        tell(rate=rate, steps=20)


def small_read(tf: Any, server: Any, spec: Any, index: int) -> None:
    """Read a small variable of the parameter server, as its client and as a worker."""

    def variable() -> Any:
        with tf.device("/job:ps/task:0"):
            return tf.get_variable("v", initializer=np.ones(4, np.float32))

    v = variable()
    with tf.device("/job:worker/task:0"):
        moved = v + 1.0
    address = "grpc://" + spec.as_dict()["ps"][0]
    with tf.Session(server.target) as session:
        session.run(v.initializer)
        worker = steps_per_second(lambda: session.run(moved), 1000, 100)
    config = tf.ConfigProto(device_filters=["/job:ps"])
    with tf.Graph().as_default(), tf.Session(address, config=config) as session:
        v = variable()
        tell(worker=worker, client=steps_per_second(lambda: session.run(v), 1000, 100))


def transfer(tf: Any, server: Any, spec: Any, index: int) -> None:
    """Move a tensor of 100 MB from the parameter server to a worker."""
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("v", [BYTES // 4], initializer=tf.zeros_initializer())
    with tf.device("/job:worker/task:0"):
        moved = tf.identity(v).op
    with tf.Session(server.target) as session:
        session.run(v.initializer)
        tell(megabytes=steps_per_second(lambda: session.run(moved), 20) * BYTES / 1e6)


def opening(tf: Any, server: Any, spec: Any, index: int) -> None:
    """Open the first session: the chief, and a worker that starts at the same time."""
    with replica(tf, spec, index):
        loss, batch = perceptron(tf)
        step = tf.train.get_or_create_global_step()
        train = tf.train.AdamOptimizer().minimize(loss, global_step=step)
    print(STEADY, flush=True)
    sys.stdin.readline()  # all of them begin at once
    start = time.perf_counter()
    with tf.train.MonitoredTrainingSession(server.target, index == 0) as session:
        seconds = time.perf_counter() - start
        session.run(train, batch)
        tell(**{"worker" if index else "chief": 1 / seconds})


# The program of the workers, how many there are, and their results: names, and rows of the table.
CASES = {
    "mlp": (mlp, 2, {"rate": "async MLP, steps/s of a worker", "work": "steps per s of processor"}),
    "large": (large, 1, {
        "rate": "25 million parameters, steps/s", "work": "steps per s of processor",
    }),
    "read": (small_read, 1, {
        "worker": "reads/s of a small variable, worker", "client": "the same, client",
    }),
    "transfer": (transfer, 1, {"megabytes": "ps to worker, MB/s"}),
    "start": (opening, 2, {"chief": "session starts/s, chief", "worker": "the same, worker"}),
    "sync": (synchronous, 2, {"rate": "SyncReplicas, steps/s"}),
}  # fmt: skip


def serve(implementation: str, case: str, job: str, index: str, cluster: str) -> None:
    """Be a task."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tf = importlib.import_module(MODULES[implementation])
    tf.logging.set_verbosity(tf.logging.ERROR)
    spec = tf.train.ClusterSpec(json.loads(cluster))
    server = tf.train.Server(spec, job_name=job, task_index=int(index))
    if job == "ps":
        server.join()
    CASES[case][0](tf, server, spec, int(index))


# ---- Ranks of a Horovod program ---------------------------------------------------------------


def gloo() -> dict[str, float]:
    """Sum 100 MB by PyTorch's gloo alone."""
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    data = torch.ones(BYTES // 4)
    return {"sums/s": steps_per_second(lambda: dist.all_reduce(data), 10, 3)}


def allreduce() -> dict[str, float]:
    """Sum 100 MB by `hvd.allreduce`."""
    import horovod.tensorflow as hvd
    import tensorflow as tf

    hvd.init()
    v = tf.get_variable("v", initializer=np.ones(BYTES // 4, np.float32))
    total = hvd.allreduce(v, average=False)
    with tf.Session() as session:
        session.run(v.initializer)
        return {"sums/s": steps_per_second(lambda: session.run(total.op), 10, 3)}


def resnet() -> dict[str, float]:
    """Train ResNet-20, a batch of 32 for each rank."""
    import horovod.tensorflow as hvd
    import tensorflow as tf

    from benchmarks.programs import resnet20

    hvd.init()
    images, labels = (tf.constant(each) for each in resnet20.data())
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits
    loss = tf.reduce_mean(losses(labels=labels, logits=resnet20.model(tf, images)))
    optimizer = hvd.DistributedOptimizer(tf.train.MomentumOptimizer(0.1, 0.9))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = optimizer.minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(hvd.broadcast_global_variables(0))
        rate = steps_per_second(lambda: session.run(train), 20, 4)
    return {"examples/s": rate * resnet20.BATCH * hvd.size()}


RANKS = {"gloo": gloo, "allreduce": allreduce, "resnet": resnet}


def be_rank(program: str) -> None:
    """Be a rank, on a processor of its own; the first one prints."""
    rank = int(os.environ["RANK"]) + int(os.environ.get("FIRST_PROCESSOR", "0"))
    processors = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {processors[rank % len(processors)]})
    found = RANKS[program]()
    if os.environ["RANK"] == "0":
        print("RESULT " + json.dumps(found), flush=True)


def alone(program: str, count: int) -> float:
    """Return the sum of the results of programs of one rank that run at the same time."""
    with ThreadPoolExecutor(count) as pool:
        return sum(pool.map(lambda processor: ranks(program, 1, processor), range(count)))


def ranks(program: str, count: int, processor: int = 0) -> float:
    """Return the result of some ranks, on processors from the given one on."""
    command = [sys.executable, "-m", "stillflow", "launch", "-np", str(count)]
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "FIRST_PROCESSOR": str(processor)}
    output = subprocess.run(
        [*command, str(ROOT / "benchmarks" / "clusters.py"), "rank", program],
        cwd=ROOT, env=settings, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        timeout=PATIENCE, check=True, text=True,
    ).stdout  # fmt: skip
    line = next(line for line in output.splitlines() if "RESULT " in line)
    (value,) = json.loads(line.partition("RESULT ")[2]).values()
    return float(value)


# ---- The parent -------------------------------------------------------------------------------


def free_ports(count: int) -> list[int]:
    """Return ports that nothing listens on."""
    with contextlib.ExitStack() as stack:
        bound = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in bound:
            each.bind(("localhost", 0))
        return [each.getsockname()[1] for each in bound]


def processor_seconds(tasks: list[Any]) -> float:
    """Return the processor time that processes have used."""
    total = 0
    for task in tasks:
        with open(f"/proc/{task.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def cluster(implementation: str, case: str, workers: int) -> Iterator[list[Any]]:
    """Start the processes of a cluster; the parameter server is the first."""
    addresses = [f"localhost:{port}" for port in free_ports(1 + workers)]
    jobs = json.dumps({"ps": addresses[:1], "worker": addresses[1:]})
    envs = os.environ.get("STILLFLOW_ENVS", os.path.expanduser("~/.cache/stillflow-envs"))
    python = sys.executable if implementation == "stillflow" else f"{envs}/tf115/bin/python"
    settings = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    tasks = []
    for place in range(1 + workers):
        job = ["worker", str(place - 1)] if place else ["ps", "0"]
        tasks.append(subprocess.Popen(
            [python, "-m", "benchmarks.clusters", "task", implementation, case, *job, jobs],
            cwd=ROOT, env=settings, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ))  # fmt: skip
    try:
        yield tasks
    finally:
        for task in tasks:
            task.kill()
            task.communicate()


def measure(implementation: str, case: str) -> dict[str, float]:
    """Return the results of a case, the mean of its workers; "work" is steps per processor s."""
    _, count, _ = CASES[case]
    with cluster(implementation, case, count) as tasks:
        for worker in tasks[1:]:
            line = worker.stdout.readline()
            assert line.strip() == STEADY, f"{implementation} {case}: {line}"
        begun = processor_seconds(tasks)
        for worker in tasks[1:]:
            print(file=worker.stdin, flush=True)
        told = [json.loads(result(worker.stdout)) for worker in tasks[1:]]
        used = processor_seconds(tasks) - begun
    found = {name: 0.0 for each in told for name in each}
    for name in found:
        given = [each[name] for each in told if name in each]
        found[name] = sum(given) / len(given)
    if "steps" in found:
        found["work"] = found["steps"] * len(told) / used
    return found


def result(lines: Iterable[str]) -> str:
    """Return the first line that is not about a steady state."""
    return next(line for line in lines if line.strip() != STEADY)


def row(name: str, ratios: list[float], values: list[str]) -> None:
    """Print a row of the table."""
    low, high = min(ratios), max(ratios)
    print(f"| {name} | {values[0]} | {values[1]} | {median(ratios):.2f} ({low:.2f}-{high:.2f}) |")
    sys.stdout.flush()


def compare(case: str, rounds: int) -> None:
    """Print the rows of a case: Stillflow's rates, as multiples of TensorFlow's."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in PEERS}
    for _ in range(rounds):
        for name in PEERS:
            found[name].append(measure(name, case))
    for kind, text in CASES[case][2].items():
        theirs, ours = ([each[kind] for each in found[name]] for name in ("tf115", "stillflow"))
        ratios = [one / other for one, other in zip(ours, theirs)]
        row(text, ratios, [f"{median(v):.3g}" for v in (theirs, ours)])


def compare_ranks(
    name: str, before: Callable[[], float], after: Callable[[], float], rounds: int
) -> None:
    """Print the row of two programs of ranks: the second's rate as a multiple of the first's."""
    pairs = [(before(), after()) for _ in range(rounds)]
    values = [f"{median(list(each)):.3g}" for each in zip(*pairs)]
    row(name, [after / before for before, after in pairs], values)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", nargs="*", help=f"any of {', '.join(CASES)}, allreduce, resnet")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(argv)
    chosen = options.cases or [*CASES, "allreduce", "resnet"]
    print("| | TF 1.15.5, gloo, or one rank | Stillflow | ratio (more is better) |")
    print("|---|---:|---:|---:|")
    for case in chosen:
        if case in CASES:
            compare(case, options.rounds)
    rows = {
        "allreduce": ("sums/s of 100 MB, 2 ranks; gloo alone", partial(ranks, "gloo", 2)),
        "resnet": ("ResNet-20, examples/s, 2 ranks; one rank", partial(ranks, "resnet", 1)),
        "resnet ": ("the same; 2 ranks that work alone", partial(alone, "resnet", 2)),
    }
    for case, (text, before) in rows.items():
        if case.strip() in chosen:
            compare_ranks(text, before, partial(ranks, case.strip(), 2), options.rounds)
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["task"]:
        serve(*sys.argv[2:7])
    elif sys.argv[1:2] == ["rank"]:
        be_rank(sys.argv[2])
    else:
        sys.exit(main(sys.argv[1:]))
