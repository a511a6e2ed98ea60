"""Processes that are forked after sessions ran: their own sessions run, and do not hang."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import numpy as np
import pytest

import stillflow as tf

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]
_PATIENCE = 30  # seconds until a child that hangs is killed


def succeeds_in_child(work: Callable[[], bool]) -> bool:
    """Return True if a forked process finds the work done well."""
    child = os.fork()
    if child == 0:
        signal.alarm(_PATIENCE)
        good = False
        try:
            good = work()
        finally:
            os._exit(0 if good else 1)
    return os.waitpid(child, 0)[1] == 0


def test_kernels_that_used_several_threads_run_again() -> None:
    x = tf.constant(np.ones([400, 400], np.float32))
    total = tf.reduce_sum(tf.matmul(x, x))
    with tf.Session() as session:
        session.run(total)

        def work() -> bool:
            with tf.Session() as own:
                return bool(own.run(total) == 400**3 and session.run(total) == 400**3)

        assert succeeds_in_child(work)
        assert session.run(total) == 400**3


def test_queue_runners_of_a_new_session_run() -> None:
    with tf.Graph().as_default():
        numbers = tf.train.range_input_producer(20, shuffle=False).dequeue()
        batch = tf.train.batch([numbers], 5)

        def first() -> list[int]:
            with tf.Session() as session:
                coord = tf.train.Coordinator()
                threads = tf.train.start_queue_runners(session, coord)
                found: list[int] = session.run(batch).tolist()
                coord.request_stop()
                coord.join(threads)
            return found

        assert first() == [0, 1, 2, 3, 4]
        assert succeeds_in_child(lambda: first() == [0, 1, 2, 3, 4])
        assert first() == [0, 1, 2, 3, 4]
