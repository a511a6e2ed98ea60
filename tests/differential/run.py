"""Run random programs, with our interpreter or with the one that has TensorFlow 1.15.5.

    python -m tests.differential.run KIND --seed 1 --count 100 --out OURS
    TF1PYTHON -m tests.differential.run KIND --cases OURS --out THEIRS --module tensorflow

KIND is operations, graphs, pipelines, calls, layers, cells, estimators or state. The first makes
the cases, runs them and writes both; the second runs what the first wrote, so both sides answer
for the same cases.
"""

from __future__ import annotations

import argparse
import collections
import functools
import importlib
import itertools
import os
import pickle
import shutil
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from .outcomes import failed

KINDS = (
    "operations",
    "graphs",
    "pipelines",
    "calls",
    "eager_calls",
    "layers",
    "cells",
    "estimators",
    "state",
)
GROUP = 25  # cases for one child: a crash loses no more than itself, a fork costs little
LIMIT = 20  # seconds of the processor for one case, unless its kind has a limit of its own
PATIENCE = 6  # times as long by the clock, for a busy machine
PROTOCOL = 4  # the newest that Python 3.7 reads
_LENGTH = 8
_AT_ONCE = 1000  # cases run before those of names that have enough are left out


def main(argv: list[str]) -> int:
    """Run the cases asked for and write them with their outcomes."""
    options = _parse(argv)
    kind = importlib.import_module(__package__ + "." + options.kind)
    tf = load_module(options.module)
    work = functools.partial(run_apart, lambda case: kind.run(tf, case))
    limit = getattr(kind, "LIMIT", None)
    if options.cases:
        with open(options.cases, "rb") as file:
            cases = pickle.load(file)["cases"]
    else:
        cases = list(itertools.islice(kind.cases(options.seed, options.names), options.count))
    if options.valid:
        cases, found = valid(lambda some: list(work(some, limit)), cases, options.valid)
    else:
        found = list(work(cases, limit))
    with open(options.out, "wb") as file:
        written = {"kind": options.kind, "cases": cases, "outcomes": found}
        pickle.dump(written, file, PROTOCOL)
    print(f"{len(cases)} cases of {options.kind} under {options.module}")
    return 0


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("names", nargs="*", help="operations, or functions, to keep to")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument(
        "--valid", type=int, metavar="MOST", help="keep those that run to the end, MOST of a name"
    )
    parser.add_argument("--cases", help="a file that a run wrote, whose cases to run instead")
    parser.add_argument("--out", required=True)
    parser.add_argument("--module", default="stillflow", choices=("stillflow", "tensorflow"))
    return parser.parse_args(argv)


def load_module(name: str) -> Any:
    """Return the module under test, ready to be run in forked children."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    warnings.simplefilter("ignore")
    tf = importlib.import_module(name)
    logging = tf.compat.v1.logging
    logging.set_verbosity(logging.ERROR)
    if name == "tensorflow":
        if tf.__version__ != "1.15.5":
            raise SystemExit("TensorFlow 1.15.5 is compared with, not " + tf.__version__)
        tf.contrib.framework  # noqa: B018  # lazy: imported once, and not in every child
    else:
        # Threads do not survive a fork, and PyTorch's are started by its first kernel.
        importlib.import_module("torch").set_num_threads(1)
        importlib.import_module("stillflow.graph.card").load_all()
    return tf


def valid(
    work: Callable[[list[Any]], list[Any]], cases: list[Any], most: int
) -> tuple[list[Any], list[Any]]:
    """Return the cases that run to the end, and their outcomes, no more than `most` of a name."""
    kept: list[tuple[Any, Any]] = []
    counts: collections.Counter[str] = collections.Counter()
    for at in range(0, len(cases), _AT_ONCE):
        wanted = [case for case in cases[at : at + _AT_ONCE] if counts[case["name"]] < most]
        for case, outcome in zip(wanted, work(wanted)):
            if outcome["stage"] == "done" and counts[case["name"]] < most:
                counts[case["name"]] += 1
                kept.append((case, outcome))
    return [case for case, _ in kept], [outcome for _, outcome in kept]


def run_apart(
    run: Callable[[Any], Any], cases: list[Any], limit: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the outcome of every case, run in children: crashes and hangs are outcomes as well."""
    timed = functools.partial(_timed, run, limit or LIMIT)
    folder = tempfile.mkdtemp()
    at = 0
    try:
        while at < len(cases):
            group = cases[at : at + GROUP]
            found, ended = _run_group(timed, group, folder)
            if len(found) < len(group):
                found.append(_abnormal(ended))
            yield from found
            at += len(found)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _abnormal(ended: int) -> dict[str, Any]:
    stage = "hang" if ended & 127 in (signal.SIGALRM, signal.SIGPROF) else "crash"
    return {"stage": stage, "error": (stage, f"status {ended}")}


def _run_group(run: Callable[[Any], Any], cases: list[Any], folder: str) -> tuple[list[Any], int]:
    """Return a child's results before its end, and its exit status."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # From 3.12 on, Python warns of threads: the parent's are idle, and the child needs none.
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        child = os.fork()
    if not child:
        os.close(reading)
        _work(run, cases, folder, writing)
    os.close(writing)
    found = []
    with os.fdopen(reading, "rb") as pipe:
        while True:
            length = pipe.read(_LENGTH)
            if len(length) < _LENGTH:
                break
            found.append(pickle.loads(pipe.read(int.from_bytes(length, "little"))))
    return found, os.waitpid(child, 0)[1]


def _work(run: Callable[[Any], Any], cases: list[Any], folder: str, writing: int) -> None:
    """Run cases quietly in a child process in its own folder; never return."""
    status = 1
    try:
        os.chdir(folder)  # some calls write files
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        with os.fdopen(writing, "wb") as pipe:
            for case in cases:
                text = _pickled(run, case)
                pipe.write(len(text).to_bytes(_LENGTH, "little") + text)
                pipe.flush()
        status = 0
    finally:
        os._exit(status)


def _timed(run: Callable[[Any], Any], limit: int, case: Any) -> Any:
    signal.setitimer(signal.ITIMER_PROF, limit)
    signal.setitimer(signal.ITIMER_REAL, limit * PATIENCE)
    return run(case)


def _pickled(run: Callable[[Any], Any], case: Any) -> bytes:
    try:
        return pickle.dumps(run(case), PROTOCOL)
    except Exception as error:  # the tool's own, or an outcome that is no plain data
        return pickle.dumps(failed("tool", error), PROTOCOL)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
