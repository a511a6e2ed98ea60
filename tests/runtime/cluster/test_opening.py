"""Sessions are opened in all tasks at once."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from stillflow import errors
from stillflow.runtime.cluster import opening
from stillflow.runtime.interrupts import time_limit

ADDRESSES = {("ps", 0): "ps0:2222", ("worker", 1): "w1:2222", ("worker", 2): "w2:2222"}


class Access:
    """An access that can be closed."""

    def __init__(self, task: Any) -> None:
        self.task = task
        self.closed = threading.Event()

    def close(self) -> None:
        self.closed.set()


def never() -> None:
    """Raise nothing."""


def test_tasks_are_asked_at_once_and_come_in_order() -> None:
    barrier = threading.Barrier(3, timeout=60)

    def open_one(task: Any, check: Any) -> Access:
        barrier.wait()
        return Access(task)

    found = opening.open_all(ADDRESSES, open_one, never)
    assert [*found] == [*ADDRESSES]
    assert all(access.task == task for task, access in found.items())


def test_the_missing_tasks_are_named(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.setattr(opening, "_TOLD_EVERY", 0.05)
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "0")
    told = threading.Event()
    line = "3 of 4 tasks are there, waiting for /job:worker/task:1 at w1:2222\n"

    def open_one(task: Any, check: Any) -> Access:
        if task == ("worker", 1):
            assert told.wait(60)
        return Access(task)

    def look() -> None:
        text, end = "", time.monotonic() + 60
        while line not in text and time.monotonic() < end:
            text += capfd.readouterr().err
            time.sleep(0.01)
        lines.append(line in text)
        told.set()

    lines: list[bool] = []
    looking = threading.Thread(target=look)
    looking.start()
    opening.open_all(ADDRESSES, open_one, never)
    looking.join()
    assert lines == [True]


def test_of_many_missing_tasks_a_few_are_named(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "0")
    opening._tell({("w", n): f"w{n}:1" for n in range(9)}, {("w", 0): None})
    assert capfd.readouterr().err == (
        "2 of 10 tasks are there, waiting for /job:w/task:1 at w1:1, /job:w/task:2 at w2:1, "
        "/job:w/task:3 at w3:1 and 5 more\n"
    )


def test_an_error_closes_what_is_open_and_what_opens_later() -> None:
    accesses: list[Access] = []
    failed = threading.Event()

    def open_one(task: Any, check: Any) -> Access:
        if task == ("worker", 1):
            while not accesses:
                time.sleep(0.001)
            raise errors.internal("no such task")
        if task == ("worker", 2):
            assert failed.wait(60)
        accesses.append(Access(task))
        return accesses[-1]

    with pytest.raises(errors.InternalError, match="no such task"):
        opening.open_all(ADDRESSES, open_one, never)
    failed.set()
    end = time.monotonic() + 60
    while len(accesses) < 2 and time.monotonic() < end:
        time.sleep(0.001)
    assert all(access.closed.wait(60) for access in accesses) and len(accesses) == 2


def test_the_limit_of_a_run_ends_the_waiting() -> None:
    stopped = threading.Event()

    def open_one(task: Any, check: Any) -> Access:
        try:
            while True:
                check()
                time.sleep(0.001)
        finally:
            stopped.set()

    with time_limit(50, "Deadline Exceeded"), pytest.raises(errors.DeadlineExceededError):
        opening.open_all(ADDRESSES, open_one, never)
    assert stopped.wait(60)
