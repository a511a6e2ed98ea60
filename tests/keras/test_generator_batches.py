"""Batches of generators that are made ahead by one thread."""

from __future__ import annotations

import multiprocessing.pool
import threading

import pytest

import stillflow as tf


def batches(source, workers=1):
    enqueuer = tf.keras.utils.GeneratorEnqueuer(source)
    enqueuer.start(workers=workers, max_queue_size=3)
    found = enqueuer.get()
    return enqueuer, found


def test_one_worker_makes_them_in_order_without_a_pool(monkeypatch):
    def refuse(*_):
        raise AssertionError("a pool")

    monkeypatch.setattr(multiprocessing.pool, "ThreadPool", refuse)
    _, found = batches(iter(range(20)))
    assert list(found) == list(range(20))


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_comes_behind_the_batches_before_it(workers):
    def source():
        yield 1
        raise LookupError("no second one")

    _, found = batches(source(), workers)
    assert next(found) == 1
    with pytest.raises(LookupError, match="no second one"):
        next(found)


def test_no_more_than_asked_for_are_made_ahead():
    made = []
    enough = threading.Event()

    def source():
        for number in range(100):
            made.append(number)
            if number == 4:
                enough.set()
            yield number

    enqueuer, found = batches(source())
    assert next(found) == 0
    assert enough.wait(5)  # three wait, one is on its way in
    assert not enqueuer.run_thread.join(0.2)
    assert len(made) == 5
    enqueuer.stop()
    assert not enqueuer.run_thread.is_alive()
