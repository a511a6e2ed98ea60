"""The accuracy of a classifier, from one step or from five."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.math import row_extremes
from stillflow.runtime.devices.devices import gpu_count

pytestmark = pytest.mark.usefixtures("graph", "either_way")
RNG = np.random.RandomState(0)


def accuracy(logits, labels, swapped=False):
    pair = (labels, logits) if swapped else (logits, labels)
    return tf.reduce_mean(tf.cast(tf.equal(*pair), tf.float32))


def run(fetches, feeds):
    with tf.Session() as session:
        return session.run(fetches, feeds)


@pytest.fixture
def shares(monkeypatch):
    """Return the results of the native loop, if it was called."""
    found = []
    share = row_extremes.share

    def noting(*args):
        found.append(share(*args))
        return found[-1]

    monkeypatch.setattr(row_extremes, "share", noting)
    return found


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("number", [1, 7, 128, 3001])
def test_numbers_of_classes(either_way, shares, number, swapped):
    x, y = tf.placeholder(tf.float32, [None, 10]), tf.placeholder(tf.int64, [None])
    rows, labels = RNG.randn(number, 10).astype("f"), RNG.randint(0, 10, number)
    found = run(accuracy(tf.argmax(x, 1), y, swapped), {x: rows, y: labels})
    assert found == np.mean((rows.argmax(1) == labels).astype("f"))
    assert len(shares) == (either_way == "native" and gpu_count() == 0)


@pytest.mark.parametrize("swapped", [False, True])
def test_one_hot_labels(either_way, shares, swapped):
    x, y = (tf.placeholder(tf.float32, [None, 4]) for _ in range(2))
    rows, labels = RNG.randn(50, 4).astype("f"), np.eye(4, dtype="f")[RNG.randint(0, 4, 50)]
    found = run(accuracy(tf.argmax(x, -1), tf.argmax(y, 1), swapped), {x: rows, y: labels})
    assert found == np.mean((rows.argmax(1) == labels.argmax(1)).astype("f"))
    assert len(shares) == (either_way == "native" and gpu_count() == 0)


def test_what_has_no_loop_is_computed_step_by_step():
    x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.int32, [None])
    rows, labels = RNG.randn(50, 4).astype("f"), RNG.randint(0, 4, 50)
    found = run(accuracy(tf.argmax(x, 1, output_type=tf.int32), y), {x: rows, y: labels})
    assert found == np.mean((rows.argmax(1) == labels).astype("f"))
    rows = np.zeros([1 << 14, 4], "f")
    feeds = {x: rows, y: np.ones(len(rows))}
    assert run(accuracy(tf.argmax(x, 1, output_type=tf.int32), y), feeds) == 0


def test_nans_are_passed_over_and_the_first_of_equals_counts():
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int64, [None])
    rows = [[np.nan, 1, 2], [1, 1, 0], [np.nan] * 3, [-np.inf] * 3, [0, np.nan, np.inf]]
    assert run(accuracy(tf.argmax(x, 1), y), {x: rows, y: [2, 0, 0, 0, 2]}) == 1


def test_the_average_of_nothing_is_no_number():
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int64, [None])
    assert np.isnan(run(accuracy(tf.argmax(x, 1), y), {x: np.zeros([0, 3]), y: []}))


def test_a_label_for_all_rows():
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int64, [])
    assert run(accuracy(tf.argmax(x, 1), y), {x: np.eye(3), y: 2}) == np.float32(1 / 3)


def test_labels_that_do_not_fit_name_the_comparison():
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int64, [None])
    with pytest.raises(tf.errors.InvalidArgumentError) as e:
        run(accuracy(tf.argmax(x, 1), y), {x: np.eye(3), y: [1, 2]})
    assert e.value.op.type == "Equal"


def test_each_part_can_be_fetched():
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.int64, [None])
    places = tf.argmax(x, 1)
    right = tf.equal(places, y)
    mean = tf.reduce_mean(tf.cast(right, tf.float32))
    found = run([mean, right, places], {x: np.eye(3), y: [0, 0, 2]})
    assert found[0] == np.float32(2 / 3)
    assert (found[1].tolist(), found[2].tolist()) == ([True, False, True], [0, 1, 2])


def test_labels_in_a_variable_are_taken_before_it_changes():
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.Variable(np.zeros(3, np.int64))
    places = tf.argmax(x, 1)
    right = tf.equal(places, y)
    with tf.control_dependencies([right]):
        change = y.assign([0, 1, 2])
    with tf.control_dependencies([change]):
        mean = tf.reduce_mean(tf.cast(right, tf.float32))
    with tf.Session() as session:
        session.run(y.initializer)
        assert session.run(mean, {x: np.eye(3)}) == np.float32(1 / 3)
        assert session.run(mean, {x: np.eye(3)}) == 1
