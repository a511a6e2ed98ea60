"""Normalizations of frozen graphs, folded into convolutions."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.nn import batch_norm

IMAGES = np.random.RandomState(0).randn(2, 7, 6, 4).astype("f")


def normalized(form, depthwise=False, variance=(0.5, 2.0), later=tf.nn.relu, bias=False):
    """(images, what a convolution gives, normalized images) of a frozen graph."""
    rng = np.random.RandomState(1)
    channels = 8
    x = tf.placeholder(tf.float32, IMAGES.shape if form == "NHWC" else (2, 4, 7, 6))
    weights = tf.constant(rng.randn(3, 3, 4, 2 if depthwise else channels), tf.float32)
    if depthwise:
        y = tf.nn.depthwise_conv2d_native(x, weights, [1, 1, 1, 1], "SAME")
    else:
        y = tf.nn.conv2d(x, weights, 1, "SAME", data_format=form)
    if bias:
        y = tf.nn.bias_add(y, tf.constant(rng.randn(channels), tf.float32), data_format=form)
    z, *_ = tf.nn.fused_batch_norm(
        y, *(tf.constant(rng.randn(channels), tf.float32) for _ in range(2)),
        mean=tf.constant(rng.randn(channels), tf.float32),
        variance=tf.constant(rng.uniform(*variance, channels), tf.float32),
        is_training=False, data_format=form,
    )  # fmt: skip
    return x, y, later(z)


@pytest.fixture
def calls(monkeypatch):
    """Return the number of runs of a separate normalization."""
    found = []
    infer = batch_norm.infer
    monkeypatch.setattr(batch_norm, "infer", lambda *given: found.append(1) or infer(*given))
    return found


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("form, depthwise", [("NHWC", False), ("NCHW", False), ("NHWC", True)])
def test_constants_of_a_normalization_go_into_the_convolution(calls, form, depthwise, bias, cpu):
    images = IMAGES if form == "NHWC" else IMAGES.transpose(0, 3, 1, 2)
    with tf.Graph().as_default(), tf.Session() as session:
        x, y, z = normalized(form, depthwise, bias=bias)
        folded = session.run(z, {x: images})
        assert not calls
        _, apart = session.run([y, z], {x: images})  # fetched values stay unchanged
        assert calls
    np.testing.assert_allclose(folded, apart, rtol=1e-5, atol=1e-5)


def test_what_is_not_constant_or_not_finite_stays_apart(calls, cpu):
    with tf.Graph().as_default(), tf.Session() as session:
        x, _, z = normalized("NHWC", variance=(-3.0, -2.0), later=tf.identity)
        assert np.isnan(session.run(z, {x: IMAGES})).all()
        assert len(calls) == 1
        x, _, z = normalized("NHWC")
        mean = z.op.inputs[0].op.inputs[3]
        plain = session.run(z, {x: IMAGES})
        assert len(calls) == 1
        fed = session.run(z, {x: IMAGES, mean: np.zeros(8, "f")})
        assert len(calls) == 2 and np.abs(plain - fed).max() > 0.1
