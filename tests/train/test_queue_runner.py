"""Threads of queue runners."""

from __future__ import annotations

import os
import threading

import pytest

import stillflow as tf


def test_a_thread_without_a_coordinator_ends_with_its_error_alone(session, monkeypatch):
    ended = []
    monkeypatch.setattr(threading, "excepthook", ended.append)

    def fail():
        raise ZeroDivisionError("division by zero")

    queue = tf.FIFOQueue(1, tf.float32, [[]])
    value = tf.py_func(fail, [], tf.float32)
    value.set_shape([])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(value)])
    (thread,) = runner.create_threads(session, start=True)
    thread.join(60)
    (report,) = ended
    assert isinstance(report.exc_value, tf.errors.UnknownError)
    assert report.exc_value.__context__ is None and report.exc_value.__cause__ is None
    assert runner.exceptions_raised == [report.exc_value]
    assert not thread.is_alive()


def test_a_coordinator_raises_the_error_of_a_thread_without_the_frames_of_its_run(
    session,
):
    queue = tf.FIFOQueue(1, tf.float32, [[]])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1.0)])
    cancel = queue.close(cancel_pending_enqueues=True)
    coordinator = tf.train.Coordinator()
    threads = runner.create_threads(session, coord=coordinator, start=True)
    session.run(queue.dequeue())
    session.run(cancel)
    coordinator.wait_for_stop(60)
    with pytest.raises(tf.errors.CancelledError) as raised:
        coordinator.join(threads)
    assert raised.value.__context__ is None and raised.value.__cause__ is None
    places = {os.path.basename(str(entry.path)) for entry in raised.traceback}
    assert places == {"test_queue_runner.py", "coordinator.py"}
