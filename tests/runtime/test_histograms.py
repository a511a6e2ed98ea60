"""Histograms that are counted together."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.summary import numbers

pytestmark = pytest.mark.usefixtures("graph", "either_way")


@pytest.fixture
def together(monkeypatch):
    """The names of histograms that one step counts."""
    found = []
    summarize = numbers.summarize_histograms

    def noting(names, *arguments):
        found.append(list(names))
        return summarize(names, *arguments)

    monkeypatch.setattr(numbers, "summarize_histograms", noting)
    return found


def run(fetches, feeds=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def histograms(content):
    return {value.tag: value.histo for value in tf.Summary.FromString(content).value}


def test_histograms_of_variables_are_one_step(either_way, together):
    starts = [np.arange(size, dtype=np.float32) for size in (3, 70000, 0, 17)]
    for number, start in enumerate(starts):
        tf.summary.histogram(f"h{number}", tf.Variable(start))
    found = histograms(run(tf.summary.merge_all()))
    assert [found[f"h{number}"].num for number in range(4)] == [3, 70000, 0, 17]
    assert [found[f"h{number}"].sum for number in range(4)] == [start.sum() for start in starts]
    assert together == ([["h0", "h1", "h2", "h3"]] if either_way == "native" else [])


def test_each_is_as_it_is_alone():
    x = tf.placeholder(tf.float32, [None])
    summaries = [tf.summary.histogram("a", x), tf.summary.histogram("b", tf.cast(x, tf.half))]
    feeds = {x: np.random.RandomState(0).randn(5000)}
    assert run(summaries, feeds) == [run(summary, feeds) for summary in summaries]


def test_none_is_put_off_until_a_variable_has_changed():
    w = tf.Variable(np.zeros(4, np.float32))
    before = tf.summary.histogram("before", w)
    with tf.control_dependencies([before]):
        change = w.assign_add(tf.ones(4))
    with tf.control_dependencies([change]):
        after = tf.summary.histogram("after", w.read_value())
    first, second = run([before, after])
    assert histograms(first)["before"].max == 0 and histograms(second)["after"].max == 1


def test_the_one_that_is_not_finite_is_named():
    x, y = (tf.placeholder(tf.float32, [2]) for _ in range(2))
    tf.summary.histogram("good", x)
    bad = tf.summary.histogram("bad", y)
    feeds = {x: [1, 2], y: [3, np.nan]}
    with pytest.raises(tf.errors.InvalidArgumentError, match="histogram for: bad") as e:
        run(tf.summary.merge_all(), feeds)
    assert e.value.op is bad.op
