"""Threads of a parallel map's calls: the consumer's thread, or others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow.data import threadpool
from stillflow.ops.data.background import Parallel
from stillflow.ops.data.pipeline import Context
from stillflow.ops.data.walk import Walk
from stillflow.runtime.interrupts import Interrupt, Waits


class Numbers(Walk):
    """0 to 39."""

    inputs = ()

    def __init__(self) -> None:
        self.rest = iter(range(40))

    def __next__(self) -> Any:
        return (next(self.rest),)


@pytest.fixture
def context() -> Iterator[Context]:
    made = Context(Waits(Interrupt()))
    yield made
    made.close()


def callers(seconds: float, seen: list[str]) -> Callable[[Any], Any]:
    """Return a function that works for a while and notes which thread calls it."""

    def call(element: Any) -> Any:
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass
        seen.append(threading.current_thread().name)
        return (element[0] * 2,)

    return call


def test_short_calls_without_effects_are_made_where_results_are_taken(context: Context) -> None:
    seen: list[str] = []
    results = list(Parallel(context, Numbers(), callers(0, seen), 2, pure=True))
    assert results == [(2 * number,) for number in range(40)]
    assert set(seen) == {threading.current_thread().name}


def test_calls_with_effects_are_made_by_other_threads(context: Context) -> None:
    seen: list[str] = []
    results = list(Parallel(context, Numbers(), callers(0, seen), 2))
    assert results == [(2 * number,) for number in range(40)]
    assert set(seen) == {"tf_data_parallel"}


def test_long_calls_are_soon_made_by_other_threads(context: Context) -> None:
    seen: list[str] = []
    results = list(Parallel(context, Numbers(), callers(0.001, seen), 2, pure=True))
    assert results == [(2 * number,) for number in range(40)]
    assert set(seen[:8]) == {threading.current_thread().name}
    assert set(seen[8:]) == {"tf_data_parallel"}


def test_the_end_that_a_short_call_finds_stays_the_end(context: Context) -> None:
    def call(element: Any) -> Any:
        if element[0] == 3:
            raise StopIteration
        return element

    calls = Parallel(context, Numbers(), call, 2, pure=True)
    assert list(calls) == [(0,), (1,), (2,)]
    assert list(calls) == []


def test_after_a_mistake_the_next_element_follows(context: Context) -> None:
    def call(element: Any) -> Any:
        if element[0] == 1:
            raise ValueError("one")
        return element

    calls = Parallel(context, Numbers(), call, 2, pure=True)
    assert next(calls) == (0,)
    with pytest.raises(ValueError, match="one"):
        next(calls)
    assert next(calls) == (2,)


def test_an_interrupted_run_loses_no_element(context: Context) -> None:
    class Interrupted(Numbers):
        """Ctrl-C before the eleventh number."""

        pressed = False

        def __next__(self) -> Any:
            (number,) = super().__next__()
            if number == 9 and not self.pressed:
                self.pressed = True
                self.rest = iter(range(9, 40))
                raise KeyboardInterrupt
            return (number,)

    def together(elements: Any) -> Any:
        return [(2 * number,) for (number,) in elements]

    calls = Parallel(context, Interrupted(), callers(0, []), 2, pure=True, together=together)
    found: list[Any] = []
    with pytest.raises(KeyboardInterrupt):
        found.extend(calls)
    found += calls
    assert found == [(2 * number,) for number in range(40)]


@pytest.mark.parametrize("threads", [1, 2])
def test_a_pool_limits_the_threads_that_call(threads):
    with tf.Graph().as_default(), tf.Session() as session:

        def caller(_):
            time.sleep(0.002)
            return np.int64(threading.get_ident())

        dataset = tf.data.Dataset.range(40).map(
            lambda x: tf.py_func(caller, [x], tf.int64), num_parallel_calls=8
        )
        pool = threadpool.PrivateThreadPool(threads, display_name="few")
        dataset = threadpool.override_threadpool(dataset, pool)
        iterator = tf.compat.v1.data.make_initializable_iterator(dataset)
        session.run(iterator.initializer)
        element = iterator.get_next()
        assert len({int(session.run(element)) for _ in range(40)}) == threads
