"""Iterators of datasets in the bodies of functions."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.eager.immediate import ImmediateGraph

pytestmark = pytest.mark.usefixtures("session")


def test_each_call_begins_anew(session):
    @tf.function
    def f():
        iterator = iter(tf.data.Dataset.range(3))
        return next(iterator), next(iterator)

    y = f()
    assert session.run(y) == (0, 1)
    assert session.run(y) == (0, 1)


def test_an_iterator_is_deleted_where_the_function_forgets_it():
    @tf.function
    def f():
        return next(iter(tf.data.Dataset.range(3)))

    body = f.get_concrete_function().graph
    assert [op.type for op in body.get_operations()].count("DeleteIterator") == 1


def test_the_end_is_an_error(session):
    @tf.function
    def f():
        iterator = iter(tf.data.Dataset.range(1))
        return next(iterator), next(iterator)

    with pytest.raises(tf.errors.OutOfRangeError):
        session.run(f())


def test_a_loop_ends_with_the_dataset(session):
    @tf.function
    def f(n):
        total = tf.constant(0, tf.int64)
        for x in iter(tf.data.Dataset.range(n)):
            if x > 3:
                total += x
        return total

    n = tf.placeholder(tf.int64, [])
    y = f(n)
    assert [session.run(y, {n: size}) for size in (0, 5, 7)] == [0, 4, 15]


def test_outside_of_functions_there_are_other_iterators():
    with pytest.raises(RuntimeError, match=r"only supported inside of tf.function"):
        iter(tf.data.Dataset.range(3))


def test_a_trace_serves_datasets_of_one_type_of_elements(session):
    traces = []

    @tf.function
    def total(dataset):
        traces.append(dataset.element_spec)
        return dataset.reduce(tf.constant(0, tf.int64), lambda a, b: a + tf.reduce_sum(b))

    ranges = [tf.data.Dataset.range(n) for n in (3, 4)]
    assert [session.run(total(dataset)) for dataset in ranges] == [3, 6]
    assert session.run(total(ranges[0].batch(2))) == 3
    assert len(traces) == 2


def test_eager_tensors_from_outside_are_elements_too():
    with ImmediateGraph().as_default():
        outside = tf.constant(37.0)
        dataset = tf.data.Dataset.range(2).map(lambda _: {"a": outside})
        assert [element["a"].numpy() for element in dataset] == [37.0, 37.0]


def test_functions_are_traced_once_for_iterators_of_one_type():
    traces = []

    @tf.function
    def step(iterator):
        traces.append(1)
        return next(iterator)

    with ImmediateGraph().as_default():
        dataset = tf.data.Dataset.range(5)
        for _ in range(3):
            iterator = iter(dataset)
            assert [step(iterator).numpy() for _ in range(2)] == [0, 1]
            assert next(iterator).numpy() == 2
        assert len(traces) == 1
        step(iter(dataset.batch(2)))
    assert len(traces) == 2
