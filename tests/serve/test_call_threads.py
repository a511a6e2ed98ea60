"""Threads that answer calls: how many there are, what is told of a call's end, how they stop."""

from __future__ import annotations

import threading

import pytest

from stillflow.serve.call_threads import CallThreads


@pytest.fixture
def threads():
    pool = CallThreads(3, "test-calls")
    yield pool
    pool.shutdown()


def test_calls_run_at_the_same_time_up_to_a_number(threads):
    meeting = threading.Barrier(4)
    most = [threads.submit(meeting.wait, 30) for _ in range(3)]
    ended = threading.Event()
    threads.submit(ended.set)  # waits for a thread, as there are no more
    assert not ended.wait(0.05)
    meeting.wait(30)
    assert ended.wait(30)
    assert len(most) == 3


def test_a_thread_that_waits_takes_the_next_call(threads):
    names = set()
    for _ in range(20):
        ended = threading.Event()

        def call(ended=ended):
            names.add(threading.current_thread().name)
            ended.set()

        told = threading.Event()
        threads.submit(call).add_done_callback(lambda _, told=told: told.set())
        assert ended.wait(30)
        assert told.wait(30)
    assert names <= {f"test-calls_{index}" for index in range(3)}


def test_the_end_is_told_once_before_or_after_it_is_asked_for(threads):
    told = []
    held, ended = threading.Lock(), threading.Event()
    held.acquire()
    early = threads.submit(lambda: held.acquire(timeout=30))
    early.add_done_callback(lambda call: (told.append(call), ended.set()))
    assert not told
    held.release()
    assert ended.wait(30)
    early.add_done_callback(told.append)
    assert told == [early, early]


def test_an_error_of_a_call_ends_no_thread(threads):
    def fail():
        raise ValueError("a fault of a handler")

    for _ in range(5):
        told = threading.Event()
        threads.submit(fail).add_done_callback(lambda _, told=told: told.set())
        assert told.wait(30)
    ended = threading.Event()
    threads.submit(ended.set)
    assert ended.wait(30)


def test_arguments_are_handed_on(threads):
    found, ended = [], threading.Event()

    def call(*args, **kwargs):
        found.append((args, kwargs))
        ended.set()

    threads.submit(call, 1, 2, self=3, call=4)
    assert ended.wait(30)
    assert found == [((1, 2), {"self": 3, "call": 4})]


def test_shutdown_waits_for_calls_that_are_there():
    pool = CallThreads(1, "test-calls")
    ended = []
    for index in range(3):
        pool.submit(ended.append, index)
    pool.shutdown()
    assert ended == [0, 1, 2]
