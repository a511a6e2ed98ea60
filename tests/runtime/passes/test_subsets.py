"""Any subset of the passes gives the values that all of them give, in random networks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.runtime.passes.test_fusions import PATTERNS, SHAPE, close, numbers

import stillflow as tf
from stillflow.runtime.passes import pipeline

NAMES = sorted({each.name for each in pipeline.PASSES})


@st.composite
def networks(draw):
    """Draw a network: for each layer a pattern, and the earlier values that it takes."""
    size = draw(st.integers(3, 6))
    earlier = [draw(st.tuples(st.integers(0, n), st.integers(0, n))) for n in range(size)]
    return [(draw(st.sampled_from(sorted(PATTERNS))), *places) for places in earlier]


def trained(network, passes, monkeypatch):
    """Return outputs, gradients and variables after two steps of training."""
    with monkeypatch.context() as patch, tf.Graph().as_default():
        patch.setattr(pipeline, "PASSES", passes)
        tf.set_random_seed(1)
        x = tf.placeholder(tf.float32, SHAPE)
        scale = tf.Variable(numbers(SHAPE[-1], seed=20) + 2, use_resource=True)
        made = [x * scale]
        for name, first, second in network:
            made.append(PATTERNS[name](made[first], made[second]))
        out = tf.reduce_mean(tf.square(made[-1]))
        train = tf.train.AdamOptimizer(0.1).minimize(out)
        (grad,) = tf.gradients(out, x)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            feeds = {x: numbers(*SHAPE, seed=2)}
            first, second = (session.run([out, grad, train], feeds)[:2] for _ in range(2))
            return [*first, *second, *session.run(tf.trainable_variables())]


@given(networks(), st.sets(st.sampled_from(NAMES)))
@settings(
    max_examples=25, deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)  # fmt: skip
@pytest.mark.usefixtures("cpu")
def test_any_subset_of_the_passes_gives_the_same_values(monkeypatch, network, left_out):
    some = tuple(each for each in pipeline.PASSES if each.name not in left_out)
    expected = trained(network, (), monkeypatch)
    for found, value in zip(trained(network, some, monkeypatch), expected, strict=True):
        close(np.asarray(found), np.asarray(value))
