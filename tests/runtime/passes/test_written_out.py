"""GELUs and layer normalizations with their gradients in two calls give what their steps give."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.runtime.passes import written_out

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def taken(monkeypatch):
    """Return a list of the kernels that replace steps."""
    kernels = []
    put = written_out._put
    monkeypatch.setattr(
        written_out, "_put",
        lambda graph, steps, at, part, *rest: (
            kernels.append(part.kernel.__name__), put(graph, steps, at, part, *rest)
        ),
    )  # fmt: skip
    return kernels


def gpt_gelu(x):
    return 0.5 * x * (1 + tf.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * tf.pow(x, 3))))


def bert_gelu(x):
    cdf = 0.5 * (1.0 + tf.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * tf.pow(x, 3))))
    return x * cdf


def normalized(x):
    width, dtype = x.shape[-1], x.dtype
    scale = tf.get_variable("scale", [width], dtype, tf.random_uniform_initializer(0.5, 2, seed=1))
    offset = tf.get_variable("offset", [width], dtype, tf.random_normal_initializer(seed=2))
    mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
    return tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-5)


def residual(x):
    return x + normalized(x)


FUNCTIONS = {
    "gpt_gelu": gpt_gelu, "bert_gelu": bert_gelu, "norm": normalized, "residual": residual,
    "contrib norm": lambda x: tf.contrib.layers.layer_norm(x, begin_norm_axis=-1),
}  # fmt: skip
GELU, NORM = ["_gelu", "_gelu_gradient"], ["_layer_norm", "_layer_norm_gradient"]


def network(function, shape, dtype=tf.float32):
    """Return the placeholder, the result, and the loss with all gradients."""
    x = tf.placeholder(dtype, shape)
    y = function(x * 1.5)
    loss = tf.reduce_sum(tf.sin(y) * tf.cast(tf.range(shape[-1]), dtype))
    return x, y, [loss, *tf.gradients(loss, [x, *tf.trainable_variables()])]


def both(monkeypatch, fetches, feed):
    """Return the values with steps fused, and by each step."""
    runs = []
    for table in (written_out.WRITTEN_OUT, ()):
        with monkeypatch.context() as patch, tf.Session() as session:
            patch.setattr(written_out, "WRITTEN_OUT", table)
            session.run(tf.global_variables_initializer())
            runs.append(session.run(fetches, feed))
    return runs


def check(monkeypatch, fetches, feed, rtol=1e-5):
    # A sum of up to 60 numbers, of up to 10, in another order: 60 roundings at most.
    for mine, other in zip(*both(monkeypatch, fetches, feed), strict=True):
        np.testing.assert_allclose(mine, other, rtol=rtol, atol=rtol * 10)


def given(shape, seed=0):
    return np.random.RandomState(seed).randn(*shape) * 2


@pytest.mark.parametrize("shape", [(6, 10), (2, 3, 10), (0, 10)])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_are_those_of_the_steps(monkeypatch, taken, name, shape):
    x, y, fetches = network(FUNCTIONS[name], shape)
    check(monkeypatch, [y, *fetches], {x: given(shape)})
    if shape[0] or "gelu" in name:  # sizes of nothing are folded
        assert taken == (GELU if "gelu" in name else NORM)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numbers_that_are_none(monkeypatch, taken, name):
    x, y, fetches = network(FUNCTIONS[name], (4, 3))
    values = given((4, 3))
    # Squares overflow, but for those of a variance.
    values[:, 1] = [np.inf, -np.inf, np.nan, 1e20 if "gelu" in name else 1e15]
    fused, plain = both(monkeypatch, [y, *fetches], {x: values})
    for mine, other in zip(fused, plain, strict=True):
        np.testing.assert_array_equal(np.isfinite(mine), np.isfinite(other))
    assert taken


def test_a_variance_that_overflows_concerns_its_row_alone(monkeypatch, taken):
    x, y, fetches = network(normalized, (4, 3))
    values = given((4, 3))
    values[1, 0] = 1e20
    fused, plain = both(monkeypatch, [y, *fetches], {x: values})
    assert taken == NORM
    assert np.isnan(fused[0][1]).all()
    np.testing.assert_allclose(fused[0][[0, 2, 3]], plain[0][[0, 2, 3]], rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_double_precision_keeps_the_steps(monkeypatch, taken, name):
    x, y, fetches = network(FUNCTIONS[name], (4, 3), tf.float64)
    check(monkeypatch, [y, *fetches], {x: given((4, 3))}, rtol=0)
    assert not taken


@pytest.mark.parametrize(("name", "kind"), [("gpt_gelu", "Tanh"), ("norm", "Rsqrt"),
                                            ("norm", "SquaredDifference")])  # fmt: skip
def test_values_between_that_are_fetched(monkeypatch, taken, name, kind):
    x, _, fetches = network(FUNCTIONS[name], (4, 3))
    operations = tf.get_default_graph().get_operations()
    between = next(op for op in operations if op.type == kind).outputs[0]
    check(monkeypatch, [between, *fetches], {x: given((4, 3))})
    assert taken == (NORM if kind == "Rsqrt" else [])  # the kernel has it, too


def test_inference_keeps_the_steps(monkeypatch, taken):
    x, y, _ = network(normalized, (4, 3))
    check(monkeypatch, [y], {x: given((4, 3))})
    assert not taken


@pytest.mark.parametrize("change", [
    lambda x: tf.nn.batch_normalization(x, *tf.nn.moments(x, [0], keep_dims=True), *x_like(x)),
    lambda x: 0.5 * x * (1 + tf.tanh(0.8 * (x + 0.044715 * tf.pow(x, 3)))),
    lambda x: 0.5 * x * (1 + tf.tanh(np.sqrt(2 / np.pi) * (x + 0.05 * tf.pow(x, 3)))),
    lambda x: 0.5 * x * (1 + tf.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * tf.pow(x, 2)))),
])  # fmt: skip
def test_other_axes_and_numbers_keep_the_steps(monkeypatch, taken, change):
    x, y, fetches = network(change, (4, 4))
    check(monkeypatch, [y, *fetches], {x: given((4, 4))})
    assert not taken


def x_like(x):
    ones = [tf.get_variable(name, [x.shape[-1]], initializer=tf.ones_initializer())
            for name in ("offset", "scale")]  # fmt: skip
    return *ones, 1e-3


def test_second_gradients(monkeypatch):
    x, _, (_, of_x, *_) = network(gpt_gelu, (4, 3))
    again = tf.gradients(tf.reduce_sum(of_x * of_x), x)
    check(monkeypatch, [of_x, *again], {x: given((4, 3))}, rtol=1e-4)  # of third powers


def test_training_a_network(monkeypatch, taken):
    x = tf.placeholder(tf.float32, [8, 6])
    h = x
    for layer in range(2):
        with tf.variable_scope(f"layer{layer}"):
            initializer = tf.random_normal_initializer(stddev=0.4, seed=layer)
            inner = bert_gelu(tf.layers.dense(residual(h), 6, kernel_initializer=initializer))
            h = h + inner
    loss = tf.reduce_mean(tf.square(h - x[::-1]))
    step = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
    runs = []
    for table in (written_out.WRITTEN_OUT, ()):
        with monkeypatch.context() as patch, tf.Session() as session:
            patch.setattr(written_out, "WRITTEN_OUT", table)
            session.run(tf.global_variables_initializer())
            losses = [session.run([loss, step], {x: given((8, 6))})[0] for _ in range(5)]
            runs.append([*losses, *(np.sum(v) for v in session.run(tf.trainable_variables()))])
    assert sorted(taken) == sorted([*GELU, *GELU, *NORM])  # no gradient goes to x itself
    assert runs[0][4] < runs[0][0]
    np.testing.assert_allclose(*runs, rtol=2e-5, atol=2e-5)
