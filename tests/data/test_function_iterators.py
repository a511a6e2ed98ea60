"""Iterators of datasets in the bodies of functions."""

from __future__ import annotations

import pytest

import stillflow as tf


@pytest.fixture(autouse=True)
def session():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


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
