"""The batch scheduler, on models that are functions."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from stillflow import errors
from stillflow.serve.batching import Batcher, parameters
from stillflow.serve.messages import BatchingParameters
from stillflow.serve.metrics import Metrics


class Model:
    """Stands for a servable: doubles its input, records the sizes of batches."""

    name, version = "model", 1

    def __init__(self, run: Any = None) -> None:
        self.sizes: list[int] = []
        self._run = run or (lambda feeds: [feeds["x"] * 2])

    def run(self, feeds: Any, fetches: Any) -> Any:
        self.sizes.append(len(feeds["x"]))
        return self._run(feeds)


@pytest.fixture
def batcher() -> Iterator[Callable[..., Batcher]]:
    made = []

    def make(**values: Any) -> Batcher:
        message = BatchingParameters()
        for name, value in values.items():
            if name == "allowed_batch_sizes":
                message.allowed_batch_sizes.extend(value)
            elif name == "pad_variable_length_inputs":
                message.pad_variable_length_inputs = value
            else:
                getattr(message, name).value = value
        made.append(Batcher(parameters(message), Metrics()))
        return made[-1]

    yield make
    for each in made:
        each.stop()


def x(*values: float, width: int = 1) -> dict[str, Any]:
    return {"x": np.float32([[value] * width for value in values])}


def run_all(batcher: Batcher, model: Any, requests: list[Any], deadline: Any = None) -> list[Any]:
    """Run requests at a time; an error stands in the place of its answer."""

    def one(feeds: Any) -> Any:
        try:
            return batcher.run(model, feeds, ["y"], deadline)[0]
        except errors.OpError as error:
            return error

    with ThreadPoolExecutor(len(requests)) as pool:
        return list(pool.map(one, requests))


def test_requests_that_come_together_run_together(batcher: Any) -> None:
    model = Model()
    scheduler = batcher(max_batch_size=6, batch_timeout_micros=30_000_000, num_batch_threads=1)
    found = run_all(scheduler, model, [x(1), x(2, 3), x(4, 5, 6)])
    assert [each.tolist() for each in found] == [[[2]], [[4], [6]], [[8], [10], [12]]]
    assert model.sizes == [6]


def test_a_batch_that_is_not_full_runs_after_the_timeout(batcher: Any) -> None:
    model = Model()
    scheduler = batcher(max_batch_size=100, batch_timeout_micros=50_000)
    started = time.monotonic()
    assert run_all(scheduler, model, [x(1), x(2)])[1].tolist() == [[4]]
    assert time.monotonic() - started >= 0.05


def test_sizes_that_are_allowed(batcher: Any) -> None:
    model = Model()
    scheduler = batcher(max_batch_size=8, allowed_batch_sizes=[2, 4, 8], num_batch_threads=1)
    assert run_all(scheduler, model, [x(1, 2, 3)])[0].tolist() == [[2], [4], [6]]
    assert model.sizes == [4]


def test_inputs_of_different_lengths(batcher: Any) -> None:
    settings = {"max_batch_size": 2, "batch_timeout_micros": 30_000_000, "num_batch_threads": 1}
    model = Model(lambda feeds: [feeds["x"].sum(1)])
    scheduler = batcher(**settings, pad_variable_length_inputs=True)
    found = run_all(scheduler, model, [x(1, width=2), x(1, width=5)])
    assert [each.tolist() for each in found] == [[2], [5]] and model.sizes == [2]
    # Without padding each request still gets its own answer.
    model.sizes.clear()
    found = run_all(batcher(**settings), model, [x(1, width=2), x(1, width=5)])
    assert [each.tolist() for each in found] == [[2], [5]] and model.sizes == [1, 1]


def test_strings_are_padded_with_empty_ones(batcher: Any) -> None:
    model = Model(lambda feeds: [np.array([[b"|".join(row)] for row in feeds["x"]], object)])
    scheduler = batcher(
        max_batch_size=2, batch_timeout_micros=30_000_000, pad_variable_length_inputs=True
    )
    requests = [{"x": np.array([[b"a"]], object)}, {"x": np.array([[b"b", b"c"]], object)}]
    assert [each.item() for each in run_all(scheduler, model, requests)] == [b"a|", b"b|c"]


def test_a_bad_request_fails_alone(batcher: Any) -> None:
    def run(feeds: Any) -> Any:
        if (feeds["x"] < 0).any():
            raise errors.invalid_argument("negative")
        return [feeds["x"] * 2]

    scheduler = batcher(max_batch_size=3, batch_timeout_micros=30_000_000, num_batch_threads=1)
    first, bad, last = run_all(scheduler, Model(run), [x(1), x(-1), x(3)])
    assert (first.tolist(), last.tolist()) == ([[2]], [[6]])
    assert isinstance(bad, errors.InvalidArgumentError) and bad.message == "negative"


def test_outputs_without_the_batch_dimension(batcher: Any) -> None:
    scheduler = batcher()
    found = run_all(scheduler, Model(lambda feeds: [feeds["x"].sum()]), [x(1)])[0]
    assert found.message == "Batched output tensor has 0 dimensions"
    found = run_all(scheduler, Model(lambda feeds: [feeds["x"][:1]]), [x(1, 2)])[0]
    assert isinstance(found, errors.FailedPreconditionError)


def test_inputs_that_cannot_be_batched(batcher: Any) -> None:
    scheduler, model = batcher(max_batch_size=2), Model()
    for feeds, message in (
        ({"x": np.float32(1)}, "at least one dimension"),
        ({"x": np.zeros(1), "z": np.zeros(2)}, "equal 0th-dimension size"),
        (x(1, 2, 3), "Task size 3 is larger than maximum input batch size 2"),
    ):
        with pytest.raises(errors.InvalidArgumentError, match=message):
            scheduler.run(model, feeds, ["y"], None)
    assert scheduler.run(model, {"x": np.zeros([0, 1], np.float32)}, ["y"], None)[0].size == 0


def test_large_requests_are_split(batcher: Any) -> None:
    model = Model()
    scheduler = batcher(
        max_batch_size=100, max_execution_batch_size=2, enable_large_batch_splitting=True
    )
    assert run_all(scheduler, model, [x(1, 2, 3, 4, 5)])[0].tolist() == [[2], [4], [6], [8], [10]]
    assert sorted(model.sizes) == [1, 2, 2]


def held() -> tuple[Model, threading.Event, threading.Event]:
    """Return a model that waits, the event of its beginning, and the event that lets it go on."""
    began, go_on = threading.Event(), threading.Event()

    def run(feeds: Any) -> Any:
        began.set()
        assert go_on.wait(30)
        return [feeds["x"] * 2]

    return Model(run), began, go_on


def test_a_batch_takes_a_smaller_size_where_much_would_be_filled_up(batcher: Any) -> None:
    model, began, go_on = held()
    scheduler = batcher(max_batch_size=16, allowed_batch_sizes=[1, 2, 4, 16], num_batch_threads=1)
    with ThreadPoolExecutor(7) as pool:
        running = [pool.submit(scheduler.run, model, x(0), ["y"], None)]
        assert began.wait(30)
        for number in range(1, 7):
            running.append(pool.submit(scheduler.run, model, x(number), ["y"], None))
            while scheduler.waiting() < number:
                time.sleep(0.001)
        go_on.set()
        assert [each.result()[0].item() for each in running] == [2 * n for n in range(7)]
    assert model.sizes == [1, 4, 2]


def test_a_full_queue_turns_requests_away(batcher: Any) -> None:
    model, began, go_on = held()
    scheduler = batcher(max_batch_size=1, num_batch_threads=1, max_enqueued_batches=1)
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(scheduler.run, model, x(1), ["y"], None)
        assert began.wait(30)
        waiting = pool.submit(scheduler.run, model, x(2), ["y"], None)
        while not scheduler.waiting():
            time.sleep(0.001)
        with pytest.raises(
            errors.UnavailableError, match="queue to which this task was submitted is full"
        ):
            scheduler.run(model, x(3), ["y"], None)
        go_on.set()
        assert [running.result()[0].item(), waiting.result()[0].item()] == [2, 4]


def test_a_deadline_in_a_batch_is_of_its_request_alone(batcher: Any) -> None:
    model, began, go_on = held()
    scheduler = batcher(max_batch_size=2, num_batch_threads=1, batch_timeout_micros=0)
    with ThreadPoolExecutor(2) as pool:
        running = pool.submit(scheduler.run, model, x(1), ["y"], None)
        assert began.wait(30)
        patient = pool.submit(scheduler.run, model, x(2), ["y"], None)
        with pytest.raises(errors.DeadlineExceededError):
            scheduler.run(model, x(3), ["y"], time.monotonic() + 0.05)
        go_on.set()
        assert [running.result()[0].item(), patient.result()[0].item()] == [2, 4]
    assert model.sizes == [1, 1]  # the request whose caller has left does not run


def test_stopping_answers_the_requests_that_wait(batcher: Any) -> None:
    scheduler = batcher(max_batch_size=100, batch_timeout_micros=30_000_000)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(scheduler.run, Model(), x(1), ["y"], None)
        while not scheduler.waiting():
            time.sleep(0.001)
        scheduler.stop()
        assert waiting.result()[0].item() == 2
    with pytest.raises(errors.UnavailableError, match="stops"):
        scheduler.run(Model(), x(1), ["y"], None)


@pytest.mark.parametrize("threads", [1, 4])
def test_every_request_gets_its_own_answer(batcher: Any, threads: int) -> None:
    model = Model(lambda feeds: [feeds["x"] * 3 + 1])
    scheduler = batcher(
        max_batch_size=16, batch_timeout_micros=500, num_batch_threads=threads,
        max_enqueued_batches=1000, pad_variable_length_inputs=True,
    )  # fmt: skip
    requests = [x(*range(n, n + n % 3 + 1), width=n % 4 + 1) for n in range(300)]
    with ThreadPoolExecutor(32) as pool:
        found = list(pool.map(lambda feeds: scheduler.run(model, feeds, ["y"], None)[0], requests))
    for feeds, got in zip(requests, found):
        width = feeds["x"].shape[1]
        np.testing.assert_array_equal(got[:, :width], feeds["x"] * 3 + 1)
    assert sum(model.sizes) >= sum(len(feeds["x"]) for feeds in requests)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_batch_size { value: 0 }", "max_batch_size must be at least 1"),
        ("batch_timeout_micros { value: -1 }", "batch_timeout_micros must be at least 0"),
        ("num_batch_threads { value: 0 }", "num_batch_threads must be at least 1"),
        ("allowed_batch_sizes: [4, 2]", "monotonically increasing"),
        ("max_batch_size { value: 8 } allowed_batch_sizes: [2, 4]", "must match max_batch_size"),
    ],
)
def test_wrong_parameters(text: str, message: str) -> None:
    from google.protobuf import text_format

    with pytest.raises(errors.InvalidArgumentError, match=message):
        parameters(text_format.Parse(text, BatchingParameters()))
