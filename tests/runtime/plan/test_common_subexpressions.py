"""Operations that repeat what another has computed: run once, and where they must run again."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.runtime.plan import emit

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


@pytest.fixture
def ran(monkeypatch):
    """Return steps of the plans that are made during a test, by the name of their operation."""
    steps = {}
    function = emit.Emitter.function

    def record(self, *args):
        steps.update((step.op.name, step) for step in self.steps if step.op is not None)
        return function(self, *args)

    monkeypatch.setattr(emit.Emitter, "function", record)
    return steps


@pytest.fixture
def x():
    return tf.placeholder(tf.int32, [3], name="x")


def run(fetches, feed):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed)


def test_equal_operations_run_once(ran, x, cpu):
    first = tf.multiply(x, 2, name="first")
    second = tf.multiply(x, 2, name="second")
    found = run([first, second, first + second], {x: [1, 2, 3]})
    assert [each.tolist() for each in found] == [[2, 4, 6], [2, 4, 6], [4, 8, 12]]
    assert "second" not in ran
    assert [op.name for op in ran["first"].joined] == ["second"]


def test_what_repeats_repeated_results_runs_once_too(ran, x, cpu):
    sums = [tf.reduce_sum(tf.abs(x, name=f"abs{i}"), name=f"sum{i}") for i in range(3)]
    assert run(sums, {x: [-1, 2, -3]}) == [6, 6, 6]
    assert {"abs0", "sum0"} <= set(ran) and not {"abs1", "sum1", "sum2"} & set(ran)


def test_attributes_and_constants_tell_operations_apart(ran, x):
    y = tf.reshape(x, [1, 3])
    low = tf.argmin(y, 1, output_type=tf.int32, name="a")
    high = tf.argmin(y, 1, output_type=tf.int64, name="b")
    one, two = tf.add(x, 1, name="one"), tf.add(x, 2, name="two")
    found = run([low, high, one, two], {x: [5, 4, 6]})
    assert [each.dtype for each in found[:2]] == [np.int32, np.int64]
    assert [each.tolist() for each in found[2:]] == [[6, 5, 7], [7, 6, 8]]
    assert {"a", "b", "one", "two"} <= set(ran)


def test_random_numbers_are_drawn_each_time(x):
    tf.set_random_seed(1)
    shape = tf.abs(x)
    first, second = run([tf.random_uniform(shape), tf.random_uniform(shape)], {x: [2, 3, 4]})
    assert first.shape == second.shape == (2, 3, 4)
    assert not np.array_equal(first, second)


def test_large_activations_are_computed_again(ran):
    x = tf.placeholder(tf.float32, [200, 200])
    y = tf.sin(x, name="first"), tf.sin(x, name="second")
    run(y, {x: np.zeros([200, 200])})
    assert {"first", "second"} <= set(ran)


@pytest.mark.parametrize("use_resource", [True, False])
def test_what_is_computed_of_a_variable_before_and_after_an_update_differs(use_resource):
    v = tf.get_variable("v", [2], tf.int32, tf.ones_initializer(), use_resource=use_resource)
    before = tf.add(v.read_value(), 1)
    with tf.control_dependencies([before]):
        update = tf.assign_add(v, [10, 20])
    with tf.control_dependencies([update]):
        after = tf.add(v.read_value(), 1)
    found = run([before, after], {})
    assert [each.tolist() for each in found] == [[2, 2], [12, 22]]


def test_a_reference_that_was_read_shows_what_is_written_later():
    v = tf.get_variable("v", [2], tf.int32, tf.ones_initializer(), use_resource=False)
    seen = tf.identity(v._ref())
    before = tf.add(seen, 1)
    with tf.control_dependencies([before]):
        update = tf.assign_add(v, [10, 20])
    with tf.control_dependencies([update]):
        after = tf.add(seen, 1)
    found = run([before, after], {})
    assert [each.tolist() for each in found] == [[2, 2], [12, 22]]


def test_what_is_fed_for_a_result_stands_for_that_one_alone(x):
    first, second = tf.add(x, 1), tf.add(x, 1)
    fed = {x: [1, 2, 3], first: [0, 0, 0]}
    with tf.Session() as session:
        found = session.run([first * 2, second * 2], fed)
    assert [each.tolist() for each in found] == [[0, 0, 0], [4, 6, 8]]


def test_branches_compute_for_themselves(ran, x):
    wanted = tf.placeholder(tf.bool, [])
    y = tf.cond(
        wanted,
        lambda: tf.multiply(x, 3, name="triple"),
        lambda: tf.multiply(x, 3, name="triple") + 1,
    )
    with tf.Session() as session:
        assert session.run(y, {x: [1, 2, 3], wanted: True}).tolist() == [3, 6, 9]
        assert session.run(y, {x: [1, 2, 3], wanted: False}).tolist() == [4, 7, 10]


def test_a_trace_tells_of_what_was_not_run_again(x):
    first, second = tf.add(x, 1, name="first"), tf.add(x, 1, name="second")
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run([first * second], {x: [1, 2, 3]}, options, metadata)
    named = {node.node_name for stats in metadata.step_stats.dev_stats for node in stats.node_stats}
    assert {"first", "second"} <= named
