"""Rows of a batch that are read and mapped together: the same as those that are taken singly."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.data import background, mapping
from stillflow.ops.data.files import Records
from stillflow.ops.data.pipeline import Context
from stillflow.ops.data.walk import Walk
from stillflow.ops.queues.elements import Stacked, joined
from stillflow.runtime.functions.callables import CompiledFunction
from stillflow.runtime.interrupts import Interrupt, Waits

Dataset = tf.data.Dataset
MANY = 30  # results are asked for
# What is wrong in some of them: a missing field, a word for a number, quotes in a field.
LINES = [
    "1,2.5,one", '2,.5,"t,wo"', "3,,three", "4,x,four", '5,1e3,"f""ive"', "6,7,six", '"7","8","9"',
    '8,8,ei"ght', "9,1,", "10,2,ten", "", "11,3,a,b", "12,4,twelve", "13,5,last",
]  # fmt: skip


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Two files of lines, and the name of one that is missing."""
    monkeypatch.chdir(tmp_path)
    for name, lines in (("a.csv", LINES), ("b.csv", LINES[::-1])):
        with open(name, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
    return ["a.csv", "missing.csv", "b.csv"]


def columns(line: Any) -> Any:
    return tf.decode_csv(line, [[0], [0.0], [""]])


def csv_dataset(names: Any) -> Any:
    return tf.data.experimental.CsvDataset(names, [tf.int32, [1.5], tf.string])


PIPELINES: dict[str, Callable[[Any], Any]] = {
    "lines": lambda names: tf.data.TextLineDataset(names).batch(4),
    "lines, again": lambda names: tf.data.TextLineDataset(names[::2]).repeat(3).batch(5),
    "mapped lines": lambda names: tf.data.TextLineDataset(names).map(columns).batch(4),
    "mapped twice": lambda names: (
        tf.data.TextLineDataset(names).map(columns).map(lambda a, b, c: (c, a + 1)).batch(3)
    ),
    "without what is wrong": lambda names: (
        tf.data.TextLineDataset(names).map(columns)
        .apply(tf.data.experimental.ignore_errors()).batch(4)
    ),
    "csv": lambda names: csv_dataset(names).batch(4),
    "csv, again": lambda names: csv_dataset(names[::2]).repeat(2).batch(4, drop_remainder=True),
    "csv, singly": csv_dataset,
    "mapped csv": lambda names: csv_dataset(names).map(lambda a, b, c: (c, b)).repeat(2).batch(7),
    "prefetched": lambda names: csv_dataset(names).prefetch(3).batch(4),
    "prefetched, again": lambda names: (
        csv_dataset(names[::2]).prefetch(2).repeat(2).prefetch(1).batch(5)
    ),
    "one file after the other": lambda names: (
        Dataset.from_tensor_slices(names).interleave(csv_dataset, cycle_length=1).batch(4)
    ),
    "in turn": lambda names: (
        Dataset.from_tensor_slices(names).interleave(csv_dataset, cycle_length=2).batch(4)
    ),
    "read ahead": lambda names: (
        Dataset.from_tensor_slices(names)
        .apply(tf.data.experimental.parallel_interleave(csv_dataset, cycle_length=1)).batch(4)
    ),
    "numbers": lambda names: Dataset.range(20).map(lambda x: (x, x * 2, x)).batch(8),
    "padded": lambda names: Dataset.range(20).map(lambda x: x + 1).padded_batch(8, []),
    "shapes": lambda names: (
        Dataset.range(9).map(lambda x: tf.range(x // 4)).map(lambda x: x + 1).batch(4)
    ),
    "shared": lambda names: Dataset.range(9).map(lambda x: (x, tf.constant(3.5))).batch(4),
    "checked": lambda names: (
        Dataset.range(20).map(lambda x: tf.check_numerics(1 / tf.cast(x % 7, tf.float32), "bad"))
        .batch(4)
    ),
}  # fmt: skip


def events(make: Callable[[Any], Any], names: Any) -> list[Any]:
    """Batches and errors that one gets, one after the other."""
    found: list[Any] = []
    with tf.Graph().as_default(), tf.Session() as session:
        element = tf.data.make_one_shot_iterator(make(names)).get_next()
        for _ in range(MANY):
            try:
                values = session.run(element)
            except tf.errors.OutOfRangeError:
                break
            except tf.errors.OpError as error:
                found.append((type(error).__name__, error.message.split("\n")[0]))
                continue
            values = values if isinstance(values, tuple) else (values,)
            found.append([(type(value), np.asarray(value).tolist()) for value in values])
    return found


@pytest.mark.parametrize("name", PIPELINES)
def test_batches_and_errors_are_those_of_single_elements(name, files, either_way, monkeypatch):
    together = events(PIPELINES[name], files)
    monkeypatch.setattr(mapping, "bound_rows", lambda *_: None)
    monkeypatch.setattr(Records, "take", Walk.take)
    singly = events(PIPELINES[name], files)
    assert together == singly
    assert len(together) > 2


@pytest.mark.parametrize("name", ["mapped csv", "numbers", "padded", "shared"])
def test_they_are_mapped_together(name, files, monkeypatch):
    taken: list[int] = []
    on_rows = CompiledFunction.on_rows

    def noted(function: Any, elements: Any, captured: Any = ()) -> Any:
        found = on_rows(function, elements, captured)
        taken.append(0 if found is None else len(elements))
        return found

    monkeypatch.setattr(CompiledFunction, "on_rows", noted)
    events(PIPELINES[name], files)
    assert max(taken) > 1


def test_elements_that_are_soon_made_are_fetched_some_at_a_time():
    made = background.Prefetching(Context(Waits(Interrupt())), Numbers(), 1)
    made.source.early = True
    assert [number for (number,) in made] == list(range(300))
    assert max(made.source.asked) > 8
    made = background.Prefetching(Context(Waits(Interrupt())), Numbers(), 1)
    assert made.take(7) == ([(number,) for number in range(7)], None)
    assert [number for (number,) in made] == list(range(7, 300))
    assert set(made.source.asked) == {1}


class Numbers(Walk):
    """0 to 299; notes for how many of them it was asked."""

    inputs = ()

    def __init__(self) -> None:
        self.rest = iter(range(300))
        self.asked: list[int] = []

    def __next__(self) -> Any:
        return (next(self.rest),)

    def take(self, count: int) -> Any:
        self.asked.append(count)
        return super().take(count)


def test_functions_with_effects_are_called_in_turn():
    seen: list[Any] = []

    def note(kind: str, number: Any) -> Any:
        seen.append((kind, int(number)))
        return number

    def noted(kind: str) -> Any:
        return lambda x: tf.py_func(lambda n: note(kind, n), [x], tf.int64)

    def make(_: Any) -> Any:
        source = Dataset.range(6).map(noted("source"))
        return source.map(lambda x: x * 2).map(noted("map")).batch(3)

    events(make, ())
    expected = itertools.chain(*[(("source", n), ("map", 2 * n)) for n in range(6)])
    assert seen == list(expected)


def test_random_numbers_come_in_their_order():
    def batches(size: int) -> list[float]:
        with tf.Graph().as_default(), tf.Session() as session:
            tf.set_random_seed(3)
            drawn = Dataset.range(12).map(
                lambda x: tf.random_uniform([], seed=5) + tf.cast(x, tf.float32)
            )
            element = tf.data.make_one_shot_iterator(drawn.batch(size)).get_next()
            return [number for _ in range(12 // size) for number in session.run(element).tolist()]

    assert batches(4) == batches(1)


@pytest.mark.parametrize("kind", ["csv", "mapped lines", "mapped csv", "prefetched"])
def test_saved_after_an_error_it_goes_on_with_what_follows(kind, files):
    before, after = [], []
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = tf.data.make_initializable_iterator(PIPELINES[kind](files))
        element, path = iterator.get_next(), os.path.abspath("place")
        saveable = tf.data.experimental.make_saveable_from_iterator(iterator)
        tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, saveable)
        saver = tf.train.Saver()
        session.run(iterator.initializer)

        def step(found: list[Any]) -> None:
            try:
                found.append([np.asarray(value).tolist() for value in session.run(element)])
            except tf.errors.OpError as error:
                found.append((type(error).__name__, error.message.split("\n")[0]))

        while not before or isinstance(before[-1], list):
            step(before)
        assert before[-1][0] != "OutOfRangeError"
        saver.save(session, path)
        for _ in range(4):
            step(after)
        again: list[Any] = []
        session.run(iterator.initializer)
        saver.restore(session, path)
        for _ in range(4):
            step(again)
    assert again == after


def test_stacked_elements_are_taken_apart_and_joined():
    first = Stacked((np.array([b"a", b"b"], object), np.arange(2)))
    assert [text.item() for text, _ in first] == [b"a", b"b"]
    assert first[1][0].item() == b"b"
    more = joined([first, first])
    assert isinstance(more, Stacked)
    assert len(more) == 4
    assert not isinstance(joined([first, list(first)]), Stacked)
    assert len(joined([])) == 0
