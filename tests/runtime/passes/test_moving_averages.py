"""Moving averages are updated together, and to the values that single operations give."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.training import groups

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


@pytest.fixture
def updates(monkeypatch):
    """Return a list of the number of variables of each update."""
    counts = []
    rule, gradient = groups.GROUP_RULES["MovingAverage"]

    def counting(states, values, **rate):
        counts.append(len(values))
        rule(states, values, **rate)

    monkeypatch.setitem(groups.GROUP_RULES, "MovingAverage", (counting, gradient))
    return counts


def run(fetches, feeds=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds), session.run(tf.global_variables())


def subtract(variable, value, rate=0.25):
    return tf.assign_sub(variable, (variable - value) * rate)


@pytest.mark.parametrize("use_resource", [False, True])
def test_averages_of_one_rate_take_one_update(updates, use_resource):
    starts = [np.float32([1, 2]), np.float32([[3], [5]]), np.float32(7)]
    variables = [tf.Variable(start, use_resource=use_resource) for start in starts]
    changes = [
        subtract(variable, tf.zeros_like(start))
        for variable, start in zip(variables, starts, strict=True)
    ]
    _, found = run(tf.group(*changes))
    for value, start in zip(found, starts, strict=True):
        np.testing.assert_array_equal(value, start * 0.75)
    assert updates == [3]


def test_batch_normalization_updates_mean_and_variance_together(updates):
    x = np.random.RandomState(0).randn(4, 3, 3, 2).astype("f")
    tf.layers.batch_normalization(tf.constant(x), momentum=0.9, training=True)
    _, found = run(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
    np.testing.assert_allclose(found[2], 0.1 * x.mean((0, 1, 2)), rtol=1e-5)
    np.testing.assert_allclose(found[3], 0.9 + 0.1 * x.var((0, 1, 2), ddof=1), rtol=1e-5)
    assert updates == [2]


def test_a_difference_from_before_another_change_is_kept(updates):
    variable = tf.Variable([8.0], use_resource=True)
    difference = variable.read_value() - [4.0]
    with tf.control_dependencies([difference]):
        other = variable.assign([100.0])
    with tf.control_dependencies([other]):
        change = variable.assign_sub(difference * 0.25)
    _, found = run(change.op)
    assert found[0].tolist() == [99.0]
    assert not updates


def test_what_is_asked_for_besides_is_still_computed(updates):
    variable = tf.Variable([8.0])
    difference = variable - [4.0]
    change = tf.assign_sub(variable, difference * 0.25)
    (asked, _), found = run([difference, change])
    assert asked.tolist() == [4.0]
    assert found[0].tolist() == [7.0]
    assert not updates


def test_a_value_that_is_spread_is_not_taken_for_an_average(updates):
    variable = tf.Variable([8.0, 4.0])
    _, found = run(subtract(variable, tf.constant([4.0])))
    assert found[0].tolist() == [7.0, 4.0]
    assert not updates


def test_the_value_may_be_another_average():
    first, second = tf.Variable([8.0]), tf.Variable([4.0])
    change = subtract(first, 0.0 * second)
    with tf.control_dependencies([change]):
        after = subtract(second, tf.identity(first))
    _, found = run(after)
    assert [value.tolist() for value in found] == [[6.0], [4.5]]


def test_an_average_of_a_variable_that_changed_meanwhile_takes_what_it_was(updates):
    average, value = tf.Variable([4.0]), tf.Variable([0.0])
    difference = average - value
    with tf.control_dependencies([difference]):
        change = tf.assign(value, [100.0])
    with tf.control_dependencies([change]):
        update = tf.assign_sub(average, difference * 0.25)
    _, (found, _) = run(update)
    np.testing.assert_array_equal(found, [3.0])
    assert updates == []
