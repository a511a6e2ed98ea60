"""Sessions that wait until another process has made their variables ready."""

from __future__ import annotations

import threading
import time

import pytest

import stillflow as tf


def manager(**options: float) -> tf.train.SessionManager:
    return tf.train.SessionManager(ready_op=tf.report_uninitialized_variables(), **options)


def test_a_worker_that_starts_with_its_chief_does_not_sleep_for_half_a_minute() -> None:
    target = tf.train.Server.create_local_server().target
    v = tf.get_variable("v", initializer=1.0)
    waiting, chief = manager(), tf.Session(target)
    timer = threading.Timer(0.4, chief.run, (v.initializer,))
    timer.start()
    began = time.monotonic()
    with waiting.wait_for_session(target) as session:
        assert session.run(v) == 1.0
    assert time.monotonic() - began < 20
    timer.join()
    chief.close()


def test_pauses_between_two_looks_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    tf.get_variable("v", initializer=1.0)
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 6:
            raise KeyboardInterrupt

    waiting = manager(recovery_wait_secs=1)
    monkeypatch.setattr(time, "sleep", sleep)
    with pytest.raises(KeyboardInterrupt):
        waiting.wait_for_session("")
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1, 1]


def test_a_session_that_does_not_become_ready_is_an_error() -> None:
    tf.get_variable("v", initializer=1.0)
    with pytest.raises(tf.errors.DeadlineExceededError, match="not ready after waiting 1 secs"):
        manager(recovery_wait_secs=0.2).wait_for_session("", max_wait_secs=1)
