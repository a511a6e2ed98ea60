"""Any schedule that the dependencies of a plan's steps allow gives the same values."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.runtime.passes.test_fusions import close
from tests.runtime.passes.test_subsets import networks, trained

import stillflow as tf
from stillflow.runtime.ir.verify import verify
from stillflow.runtime.passes import pipeline
from stillflow.runtime.schedule.dependencies import dependencies, schedule
from stillflow.runtime.schedule.steps import StepAccesses

pytestmark = pytest.mark.usefixtures("cpu")
SETTINGS = settings(
    max_examples=20, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip


def shuffled(seed, moved=None):
    """Return the passes, and one more that schedules the steps by random priorities."""

    def shuffle(graph):
        steps = graph.steps
        accesses = StepAccesses(steps, graph.values, graph.constants, graph.memory)
        keys = [random.Random(seed).random() for seed in range(seed, seed + len(steps))]
        order = schedule(dependencies(map(accesses.of, steps)), keys)
        graph.reorder([steps[number] for number in order])
        verify(graph, "shuffle")
        if moved is not None:
            moved.append(order != [*range(len(steps))])

    return (*pipeline.PASSES, pipeline.Pass("shuffle", shuffle))


@given(networks(), st.integers(0, 1 << 20))
@SETTINGS
def test_any_schedule_of_a_training_step_gives_the_same_values(monkeypatch, network, seed):
    expected = trained(network, pipeline.PASSES, monkeypatch)
    for found, value in zip(
        trained(network, shuffled(seed), monkeypatch), expected, strict=True
    ):  # fmt: skip
        close(np.asarray(found), np.asarray(value))


def stateful(use_resource):
    """Return fetches that depend on the order of accesses to variables, and of effects."""
    seen = []

    def note(value):
        seen.append(float(value))
        return np.float32(len(seen))

    x = tf.placeholder(tf.float32, [4])
    v = tf.Variable([1.0, 2, 3, 4], use_resource=use_resource, name="v")
    w = tf.Variable(0.5, use_resource=use_resource, name="w")
    early = v * 2.0
    with tf.control_dependencies([early]):
        add = v.assign_add(x)
    with tf.control_dependencies([add]):
        after = tf.identity(v.read_value()) + w
        noted = tf.py_func(note, [tf.reduce_sum(v.read_value())], tf.float32, stateful=True)
    with tf.control_dependencies([noted]):
        again = tf.py_func(note, [w.read_value() * 3.0], tf.float32, stateful=True)
        scale = w.assign(tf.reduce_max(x))
    chosen = tf.cond(x[0] > 1.0, lambda: tf.reduce_sum(after), lambda: early[1] - noted)
    with tf.control_dependencies([scale, chosen]):
        last = v.scatter_update(tf.IndexedSlices([chosen], [2])) + 0.0
    count, rows = tf.while_loop(
        lambda i, _: i < 3, lambda i, rows: (i + 1, rows.write(i, after * w)),
        [0, tf.TensorArray(tf.float32, 3)],
    )  # fmt: skip
    noise = tf.random_uniform([3], seed=5) + tf.random_normal([3], seed=6)
    fetches = [early, after, again, chosen, last, count, rows.stack(), noise, v.op, scale.op]
    return x, fetches, seen


@given(st.integers(0, 1 << 20), st.booleans())
@SETTINGS
def test_any_schedule_keeps_the_order_of_variables_and_effects(monkeypatch, seed, use_resource):
    def run(passes):
        with monkeypatch.context() as patch, tf.Graph().as_default():
            patch.setattr(pipeline, "PASSES", passes)
            tf.set_random_seed(1)
            x, fetches, seen = stateful(use_resource)
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                found = []
                for number in range(3):
                    feed = {x: np.float32([number, 1, 2, 5])}
                    found += [each for each in session.run(fetches, feed) if each is not None]
                return [*found, *session.run(tf.global_variables()), np.array(seen)]

    moved: list[bool] = []
    for found, value in zip(run(shuffled(seed, moved)), run(pipeline.PASSES), strict=True):
        np.testing.assert_array_equal(found, value)
    assert any(moved)
