"""Fusions that meet: every pair and triple of fusable patterns gives the values of single calls."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import stillflow as tf
from stillflow.runtime.passes import pipeline
from stillflow.runtime.plan import in_place, placing

SHAPE = (4, 3, 2, 5)


def numbers(*shape, seed=0):
    return np.random.RandomState(seed).randn(*shape).astype("f")


def normalized(x, seed=8):
    return tf.nn.fused_batch_norm(x, numbers(5, seed=seed) + 2, numbers(5, seed=seed + 1))[0]


def normalized_by_constants(x, source):
    mean, variance = numbers(5, seed=3), np.abs(numbers(5, seed=4)) + 1
    scale, offset = numbers(5, seed=5), numbers(5, seed=6)
    return tf.nn.fused_batch_norm(x, scale, offset, mean, variance, is_training=False)[0]


def moving_average(x, source):
    """Return the image; its mean goes into a variable in the same step."""
    average = tf.Variable(tf.zeros([5]), use_resource=True)
    mean = tf.reduce_mean(x, [0, 1, 2])
    with tf.control_dependencies([tf.assign_sub(average, (average.value() - mean) * 0.1)]):
        return tf.identity(x)


# From an image, and the one that the network was given, to another of the same shape.
PATTERNS = {
    "norm": lambda x, source: normalized(x),
    "fixed norm": normalized_by_constants,
    "relu": lambda x, source: tf.nn.relu(x),
    "branch": lambda x, source: x + tf.square(source),
    "norm branch": lambda x, source: normalized(source, seed=10) + x,
    "vector": lambda x, source: x + numbers(5, seed=11),
    "bias": lambda x, source: tf.nn.bias_add(x, numbers(5, seed=12)),
    "convolution": lambda x, source: tf.nn.conv2d(x, numbers(1, 2, 5, 5, seed=13), 1, "SAME"),
    "pool": lambda x, source: tf.nn.max_pool(x, 2, 1, "SAME"),
    "dropout": lambda x, source: tf.nn.dropout(x, rate=0.4, seed=7),
    "no dropout": lambda x, source: tf.nn.dropout(x, rate=0.0),
    "identity": lambda x, source: tf.identity(x),
    "average": moving_average,
}
FUSABLE = ["norm", "relu", "branch", "norm branch", "vector", "bias", "convolution", "dropout"]


def chains():
    """All pairs of patterns, and all triples of those that another may change."""
    yield from itertools.product(PATTERNS, repeat=2)
    yield from itertools.product(FUSABLE, repeat=3)


def values(wanted, feeds):
    """Run in a session of its own: the same numbers are drawn, and no plan is found again."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(wanted, feeds)


def single_calls(monkeypatch, wanted, feeds):
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "PASSES", ())
        patch.setattr(placing, "reuse", lambda *args: None)
        return values(wanted, feeds)


def close(found, expected):
    # Three normalizations and three sums in a row: each loses some ulps of its largest number.
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5 * max(scale, 1))


@pytest.mark.parametrize("first", PATTERNS)
def test_chains_of_fusable_patterns_keep_their_values(first, monkeypatch):
    monkeypatch.setattr(in_place, "MIN_ELEMENTS", 1)
    for chain in chains():
        if chain[0] != first:
            continue
        with tf.Graph().as_default():
            tf.set_random_seed(1)
            x = tf.placeholder(tf.float32, SHAPE)
            out = tf.multiply(x, 1.5)
            for name in chain:
                out = PATTERNS[name](out, x)
            (grad,) = tf.gradients(out, x, numbers(*SHAPE, seed=1))
            feeds = {x: numbers(*SHAPE, seed=2)}
            expected = single_calls(monkeypatch, [out, grad], feeds)
            for places in ([0], [1], [0, 1]):
                found = values([[out, grad][place] for place in places], feeds)
                for place, value in zip(places, found, strict=True):
                    close(value, expected[place])
