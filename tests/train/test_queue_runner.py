"""Threads of queue runners."""

from __future__ import annotations

import threading

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
    assert report.exc_value.__suppress_context__ and report.exc_value.__cause__ is None
    assert runner.exceptions_raised == [report.exc_value]
    assert not thread.is_alive()
