"""Growth of times with the size of a program, under TensorFlow 1.15.5 and Stillflow.

    python -m benchmarks.scaling                    # all cases, the table of docs/speed.md
    python -m benchmarks.scaling depth variables

One size after the other; the implementations take turns, each in a process of its own. The fastest
of many steps counts, and the only construction. Times are those of the processor: other programs
on the machine do not count.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

if __package__ in (None, ""):
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from benchmarks.peer import PEERS, Peer

ROUNDS, SECONDS, PATIENCE = 3, 0.3, 280.0


def batch(tf: Any, size: int) -> Callable[[], Any]:
    """Train a perceptron of three layers by batches of a size."""
    x, y = tf.placeholder(tf.float32, [None, 32]), tf.placeholder(tf.int32, [None])
    hidden = tf.layers.dense(tf.layers.dense(x, 64, tf.nn.relu), 64, tf.nn.relu)
    logits = tf.layers.dense(hidden, 10)
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    step = tf.train.AdamOptimizer().minimize(loss)
    feed = {x: np.ones((size, 32), np.float32), y: np.zeros(size, np.int32)}
    return _running(tf, [step, loss], feed)


def depth(tf: Any, size: int) -> Callable[[], Any]:
    """Run a chain of `size` operations on 16 numbers, and its gradient."""
    x = y = tf.placeholder(tf.float32, [16])
    for number in range(size):
        y = tf.tanh(y) if number % 2 else y * 0.9
    return _running(tf, [y, tf.gradients(y, x)], {x: np.ones(16, np.float32)})


def sequence(tf: Any, size: int) -> Callable[[], Any]:
    """Train `dynamic_rnn` with GRU cells with dropout over sequences of a length."""
    x = tf.placeholder(tf.float32, [4, None, 8])
    cell = tf.nn.rnn_cell.DropoutWrapper(tf.nn.rnn_cell.GRUCell(16), output_keep_prob=0.9)
    outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    step = tf.train.GradientDescentOptimizer(1e-3).minimize(tf.reduce_mean(outputs))
    return _running(tf, [step], {x: np.ones((4, size, 8), np.float32)})


def variables(tf: Any, size: int) -> Callable[[], Any]:
    """Update variables of 4 numbers each."""
    made = [tf.Variable(tf.zeros([4]), name=f"v{number}") for number in range(size)]
    loss = tf.add_n([tf.reduce_sum(variable) for variable in made])
    return _running(tf, [tf.train.GradientDescentOptimizer(0.1).minimize(loss)])


def nodes(tf: Any, size: int) -> Callable[[], Any]:
    """Build `size` nodes, and run none."""
    x = tf.constant(1.0)
    for _ in range(size // 2):  # with a constant each
        x = x + 1.0
    return lambda: None


def saver(tf: Any, size: int) -> Callable[[], Any]:
    """Save variables of 4 numbers each."""
    for number in range(size):
        tf.get_variable(f"v{number}", initializer=np.zeros(4, np.float32))
    saver, session = tf.train.Saver(max_to_keep=1), tf.Session()
    session.run(tf.global_variables_initializer())
    folder = tempfile.TemporaryDirectory()
    return lambda: (saver.save(session, folder.name + "/model", write_meta_graph=False), folder)


CASES = {
    "batch": (batch, (1, 10, 100, 1_000, 10_000)),
    "depth": (depth, (10, 100, 1_000, 10_000)),
    "sequence": (sequence, (10, 100, 1_000, 10_000)),
    "variables": (variables, (10, 100, 1_000, 10_000)),
    "nodes": (nodes, (100, 1_000, 10_000, 100_000)),
    "saver": (saver, (10, 100, 1_000, 10_000, 100_000)),
}


def _running(tf: Any, fetches: Any, feed: Any = None) -> Callable[[], Any]:
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return lambda: session.run(fetches, feed)


_step: list[Callable[[], Any]] = []


def answer(tf: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Build a case, or run its step several times."""
    start = time.process_time()
    if request["build"]:
        with tf.Graph().as_default():
            _step[:] = [CASES[request["case"]][0](tf, request["size"])]
        built = time.process_time() - start
        _step[0]()
        return {"build": built, "first": time.process_time() - start - built}
    best, end = float("inf"), time.perf_counter() + SECONDS
    for number in itertools.count():
        if number and time.perf_counter() > end:
            return {"step": best}
        start = time.process_time()
        _step[0]()
        best = min(best, time.process_time() - start)
    raise AssertionError


def measure(peers: dict[str, Peer], case: str, size: int) -> dict[str, dict[str, float]]:
    """Return the times of each implementation, in seconds."""
    times = {name: peer.ask(case=case, size=size, build=True) for name, peer in peers.items()}
    for _, (name, peer) in itertools.product(range(ROUNDS), peers.items()):
        found = peer.ask(case=case, size=size, build=False)
        before = times[name].get("step", float("inf"))
        times[name].update(found, step=min(before, found.get("step", float("inf"))))
    return times


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", nargs="*", help=f"any of {', '.join(CASES)}")
    peers = {name: Peer(name, "benchmarks.scaling", PATIENCE) for name in PEERS}
    print("| | size | step, ms: TF 1.15.5 | Stillflow | construction, ms: TF 1.15.5 | Stillflow |")
    print("|---|---:|---:|---:|---:|---:|")
    for case in parser.parse_args(argv).cases or CASES:
        for size in CASES[case][1]:
            times = measure(peers, case, size)
            cells = [f"{case} | {size:,}"]
            for kind in ("step", "build"):
                cells += [f"{times[name].get(kind, np.nan) * 1e3:,.3g}" for name in PEERS]
            errors = [times[name]["error"] for name in PEERS if "error" in times[name]]
            print("|", " | ".join([*cells, *errors]), "|", flush=True)
    for peer in peers.values():
        peer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
