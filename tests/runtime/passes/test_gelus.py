"""Gaussian error linear units as one step, with the values of their formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow.runtime.explain import recorded
from stillflow.runtime.passes import elements

pytestmark = pytest.mark.usefixtures("graph", "cpu")


def of_bert(x):
    scale = np.sqrt(2 / np.pi)
    return x * (0.5 * (1.0 + tf.tanh(scale * (x + 0.044715 * tf.pow(x, 3)))))


def of_gpt2(x):
    return 0.5 * x * (1 + tf.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * tf.pow(x, 3))))


def by_erf(x):
    return x * (0.5 * (1.0 + tf.erf(x / tf.sqrt(2.0))))


def by_erf_of_product(x):
    return 0.5 * x * (1.0 + tf.math.erf(math.sqrt(0.5) * x))


FORMS = [of_bert, of_gpt2, by_erf, by_erf_of_product]


def exact(x, form):
    x = x.astype("d")
    if form in (of_bert, of_gpt2):
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * (1 + torch.erf(torch.from_numpy(x / np.sqrt(2))).numpy())


def numbers(*shape, seed=0):
    return 3 * np.random.RandomState(seed).randn(*shape).astype("f")


def run(fetches, feeds):
    """Return the values, and the types of operations of each step."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        with recorded() as plans:
            found = session.run(fetches, feeds)
    plan = plans[-1]
    return found, [line.label for line in plan.lines]


def close(found, x, form, error=0.0):
    # 1 + tanh is rounded to 2**-24, as are its few arguments; x * 0.5 scales that. An error of x
    # itself passes, times a slope below 1.2.
    bound = 8 * np.abs(x) * 2.0**-24 + 1.2 * error + 1e-30
    assert (np.abs(found - exact(x, form)) <= bound).all()


@pytest.mark.parametrize("form", FORMS)
def test_a_formula_is_one_step(form):
    x = tf.placeholder(tf.float32, [None, 8])
    feed = numbers(50, 8)
    found, steps = run(form(x), {x: feed})
    close(found, feed, form)
    assert len(steps) == 1


@pytest.mark.parametrize("form", FORMS)
def test_a_dense_layer_and_its_activation_are_one_step(form):
    x = tf.placeholder(tf.float32, [None, 16])
    out = tf.layers.dense(x, 5, form, bias_initializer=tf.constant_initializer(0.5))
    kernel, bias = tf.trainable_variables()
    feed = numbers(50, 16)
    (found, w, b), steps = run([out, kernel, bias], {x: feed})
    made = feed.astype("d") @ w + b
    # A sum of 16 products and a bias, each rounded.
    error = 17 * 2.0**-24 * (np.abs(feed) @ np.abs(w) + np.abs(b))
    assert (np.abs(found - exact(made, form)) <= 8 * np.abs(made) * 2.0**-24 + 1.2 * error).all()
    (fused,) = (step for step in steps if "Tanh" in step or "Erf" in step)
    assert fused.startswith("MatMul + BiasAdd")


def test_parts_that_are_needed_elsewhere_stay():
    x = tf.placeholder(tf.float32, [None, 8])
    y = of_bert(x)
    feed = numbers(20, 8)
    (found, grad), _ = run([y, tf.gradients(y, x)[0]], {x: feed})
    close(found, feed, of_bert)
    step = 1e-6 * np.ones_like(feed, "d")
    slope = (exact(feed + step, of_bert) - exact(feed - step, of_bert)) / 2e-6
    np.testing.assert_allclose(grad, slope, atol=1e-5)  # each term at most 4, rounded to 2**-22


@pytest.mark.parametrize(
    "other",
    [
        lambda x: x * (0.5 * (1.0 + tf.tanh(0.7 * (x + 0.044715 * tf.pow(x, 3))))),
        lambda x: x * (0.5 * (2.0 + tf.erf(x / tf.sqrt(2.0)))),
        lambda x: (x + 1.0) * (0.5 * (1.0 + tf.erf(x / tf.sqrt(2.0)))),
        lambda x: x * (0.5 * (1.0 + tf.tanh(0.7978846 * (x + 0.044715 * tf.pow(x, 2))))),
    ],
)
def test_other_formulas_stay(monkeypatch, other):
    monkeypatch.setattr(elements, "_LEAST", 1 << 30)
    x = tf.placeholder(tf.float32, [4])
    _, steps = run(other(x), {x: numbers(4)})
    assert len(steps) > 3
