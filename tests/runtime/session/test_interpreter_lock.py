"""Runs concurrent with other threads of the program: feeds of one moment, slots for the threads."""

from __future__ import annotations

import sys
import threading
import time

import numpy as np
import pytest

import stillflow as tf
from stillflow.runtime.session import interpreter_lock
from stillflow.runtime.session.fetches import Fetches
from stillflow.runtime.session.interpreter_lock import Turns, in_turns


@pytest.fixture
def other_thread():
    """Yield a thread of the program that waits."""
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    yield
    done.set()
    thread.join()


@pytest.fixture
def sleeps(monkeypatch):
    """Return a clock that sleeping sets forward, by the length or by what `sleeps` says next."""
    found, now = [], [100.0]

    def sleep(seconds):
        now[0] += found.pop() if found else seconds

    monkeypatch.setattr(interpreter_lock, "sleep", sleep)
    monkeypatch.setattr(interpreter_lock, "perf_counter", lambda: now[0])
    return found, now


def test_what_is_written_into_a_feed_during_a_run_is_not_seen(graph, other_thread):
    x = tf.placeholder(tf.float32, [3])
    array = np.zeros(3, np.float32)

    def write(value):
        array[:] = 7
        return value

    with tf.control_dependencies([tf.py_func(write, [1.0], tf.float32)]):
        y = tf.identity(x)
    with tf.Session() as session:
        assert session.run(y + 0, {x: array}).tolist() == [0, 0, 0]
        assert array.tolist() == [7, 7, 7]
        assert session.run([x, y], {x: array})[0].tolist() == [7, 7, 7]


def test_a_sleep_that_a_program_replaces_is_its_own(other_thread, monkeypatch):
    slept = []
    monkeypatch.setattr(time, "sleep", slept.append)
    x = tf.constant(1.0) + 2
    with tf.Session() as session:
        for _ in range(50):
            assert session.run(x) == 3
    assert slept == []


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3), np.ones([]), np.array([b"a", b"bc"], object),
        np.ones([4, 4])[:, 1:], np.ones([30, 40], np.float16), np.ones([900, 1], bool),
        np.zeros([0, 2]), np.ones([3], np.complex64), np.ones(2, bool),
    ],
)  # fmt: skip
def test_feeds_are_copied_whatever_they_hold(array, graph, other_thread):
    x = tf.placeholder(tf.float32, name="x")
    (given,) = in_turns(lambda value: [value], Fetches(graph, []), {x: array})
    assert (given.dtype, given.shape) == (array.dtype, array.shape)
    assert given.tolist() == array.tolist()
    assert not np.shares_memory(given, array)


def test_turns_that_nobody_takes_are_further_and_further_apart(sleeps):
    _, now = sleeps
    turns, given = Turns(), []
    for _ in range(50_000):
        before = now[0]
        turns.give()
        given += [before] if now[0] > before else []
        now[0] += 1e-5
    gaps = np.diff(given)
    interval = sys.getswitchinterval()
    assert (np.diff(gaps) > -1e-4).all()
    assert interval <= gaps[0] < 1.1 * interval < gaps[-1] < 0.025


def test_after_a_turn_that_was_taken_this_thread_has_as_long(sleeps):
    found, now = sleeps
    turns = Turns()
    found.append(0.05)
    turns.give()
    ended = now[0]
    now[0] += 0.04
    turns.give()
    assert now[0] == ended + 0.04
    now[0] += 0.02
    turns.give()
    assert now[0] > ended + 0.06


def test_a_thread_that_computes_gets_on_while_runs_follow_each_other(graph):
    steps, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            steps[0] += 1

    thread = threading.Thread(target=count)
    y = tf.constant(1.0) + tf.placeholder_with_default(1.0, [])
    with tf.Session() as session:
        session.run(y)
        thread.start()
        try:
            ended = time.monotonic() + 60
            first = steps[0]
            while steps[0] < first + 1000:
                session.run(y)
                assert time.monotonic() < ended
        finally:
            stop.set()
            thread.join()
