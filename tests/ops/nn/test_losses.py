"""Activations and losses where rounding, ties or bad arguments matter."""

from __future__ import annotations

import numpy as np
import pytest
from tests.ops.nn.running import image
from tests.running import run

import stillflow as tf

pytestmark = pytest.mark.usefixtures("either_way")


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_softmax_takes_large_logits():
    x = np.float32([[1000, 1001, -1000], [-1e30, 0, 1e30]])
    np.testing.assert_allclose(run(tf.nn.softmax(x)), softmax(x.astype(np.float64)), atol=1e-6)
    assert np.isfinite(run(tf.nn.log_softmax(x))[0]).all()


@pytest.mark.parametrize("axis", [0, 1, -2])
def test_softmax_along_any_axis(axis):
    x = image(3, 4, 5)
    y = run([tf.nn.softmax(x, axis=axis), tf.nn.log_softmax(x, axis=axis)])
    moved = softmax(np.moveaxis(x, axis, -1))
    np.testing.assert_allclose(y[0], np.moveaxis(moved, -1, axis), rtol=1e-5)
    np.testing.assert_allclose(y[1], np.log(y[0]), rtol=1e-4, atol=1e-5)


def test_cross_entropy_gives_loss_and_gradient():
    logits, labels = image(4, 5) * 3, softmax(image(4, 5, seed=1))
    x = tf.constant(logits)
    loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=x)
    value, grad = run([loss, tf.gradients(loss, x)[0]])
    np.testing.assert_allclose(value, -(labels * np.log(softmax(logits))).sum(-1), rtol=1e-5)
    np.testing.assert_allclose(grad, softmax(logits) - labels, rtol=1e-4, atol=1e-6)


def test_sparse_labels_are_ones_of_dense_labels():
    logits, labels = image(2, 3, 5), np.array([[0, 4, 2], [1, 1, 3]])
    sparse = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    dense = tf.nn.softmax_cross_entropy_with_logits_v2(labels=np.eye(5)[labels], logits=logits)
    a, b = run([sparse, dense])
    np.testing.assert_allclose(a, b, rtol=1e-5)


def test_a_label_out_of_range_is_refused(cpu):
    labels = tf.placeholder(tf.int32, [2])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=image(2, 3))
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"Received a label value of 3 which is outside the valid range of \[0, 3\)",
    ):
        run(loss, {labels: [1, 3]})


def test_arguments_must_be_named():
    with pytest.raises(ValueError, match="Only call `sparse_softmax_cross_entropy_with_logits`"):
        tf.nn.sparse_softmax_cross_entropy_with_logits(np.zeros(2, np.int32), image(2, 3))


def test_sigmoid_losses_take_large_logits():
    logits, labels = np.float32([-1000, -1, 0, 2, 1000]), np.float32([0, 1, 0.5, 0, 1])
    loss = run(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
    np.testing.assert_allclose(loss, [0, 1.3132617, 0.6931472, 2.126928, 0], rtol=1e-6)
    weighted = run(tf.nn.weighted_cross_entropy_with_logits(labels, logits, 3.0))
    np.testing.assert_allclose(weighted, [0, 3.9397850, 1.3862944, 2.126928, 0], rtol=1e-5)


def test_activations_at_the_ends():
    x = np.float32([-np.inf, -200, -20, -1, 0, 1, 20, 200, np.inf])
    found = run({
        "softplus": tf.nn.softplus(x), "elu": tf.nn.elu(x), "relu6": tf.nn.relu6(x),
        "leaky": tf.nn.leaky_relu(x), "selu": tf.nn.selu(x),
    })  # fmt: skip
    assert found["softplus"][-1] == np.inf and found["softplus"][7] == 200
    np.testing.assert_allclose(found["softplus"][2], np.exp(-20), rtol=1e-6)
    assert found["elu"][0] == -1 and found["elu"][-1] == np.inf
    np.testing.assert_array_equal(found["relu6"][3:7], [0, 0, 1, 6])
    np.testing.assert_allclose(found["leaky"][1:4], [-40, -4, -0.2], rtol=1e-6)
    np.testing.assert_allclose(found["selu"][3:6], [-1.1113307, 0, 1.050701], rtol=1e-6)


def test_exponential_units_of_small_numbers_keep_their_digits():
    """TensorFlow rounds exp(x) before it subtracts 1: it is off by up to half a unit of 1."""
    x = np.float32([-1e-8, -1e-4, -1e-3, -0.01, -0.1])
    rounded = {  # of TensorFlow 1.15.5
        "elu": [0.0, -0.00010001659393310547, -0.0009995102882385254, -0.00995016098022461,
                -0.09516257047653198],
        "selu": [0.0, -0.00017583910084795207, -0.0017572384094819427, -0.017493370920419693,
                 -0.16730524599552155],
    }  # fmt: skip
    found = run({"elu": tf.nn.elu(x), "selu": tf.nn.selu(x)})
    for name, scale in (("elu", 1), ("selu", 1.7580993408473768)):
        np.testing.assert_allclose(found[name], scale * np.expm1(np.float64(x)), rtol=2e-7)
        # exp(x) is below 1, where half a unit is 2**-25; its own error is at most one unit.
        np.testing.assert_allclose(found[name], rounded[name], rtol=0, atol=scale * 3 * 2**-25)


def test_concatenated_relus_keep_both_signs():
    x = image(2, 3)
    y = run(tf.nn.crelu(x))
    np.testing.assert_array_equal(y, np.concatenate([np.maximum(x, 0), np.maximum(-x, 0)], -1))


def test_ties_at_the_border_are_all_in_the_top():
    predictions = np.float32([[0.1, 0.3, 0.3, 0.2], [np.nan, 1, 2, 3], [1, 1, 1, 1]])
    found = run(tf.nn.in_top_k(predictions, [2, 1, 3], 1))
    assert found.tolist() == [True, False, True]


def test_halves_are_summed_precisely():
    x = tf.constant(np.full(5000, 0.1), tf.float16)
    half = np.float64(np.float16(0.1))
    np.testing.assert_allclose(run(tf.nn.l2_loss(x)), 5000 * half**2 / 2, rtol=1e-3)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("rows, classes", [(1, 1), (7, 10), (3, 5000)])
def test_cross_entropy_and_its_gradient_by_the_definition(rows, classes, dtype):
    logits = image(rows, classes) * 5 + np.float32(1e4)
    classes_right = np.random.RandomState(1).randint(0, classes, rows).astype(dtype)
    dense = np.eye(classes, dtype=np.float32)[classes_right]
    x = tf.constant(logits)
    functions = [
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=classes_right, logits=x),
        tf.nn.softmax_cross_entropy_with_logits_v2(labels=dense, logits=x),
    ]
    probabilities = softmax(logits.astype(np.float64))
    for loss in functions:
        found, grad = run([loss, tf.gradients(loss, x)[0]])
        expected = -np.log(probabilities[np.arange(rows), classes_right])
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(grad, probabilities - dense, rtol=1e-4, atol=1e-6)


def test_soft_labels_weigh_the_classes():
    logits, labels = image(4, 6), softmax(image(4, 6, seed=1))
    loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
    expected = -(labels * np.log(softmax(logits.astype(np.float64)))).sum(1)
    np.testing.assert_allclose(run(loss), expected, rtol=1e-5)


@pytest.mark.parametrize("label", [-1, 3])
def test_a_label_that_is_no_class_is_named(label, cpu):
    labels = tf.placeholder(tf.int32, [2])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=image(2, 3))
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"a label value of {label} which is"):
        run(loss, {labels: [1, label]})


def test_logits_that_are_no_numbers_give_none():
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels=[0, 1, 0], logits=np.float32([[np.nan, 1], [np.inf, 1], [-np.inf, -np.inf]])
    )
    assert np.isnan(run(loss)).all()
