"""Batch normalization."""

import numpy as np
import pytest

import stillflow as tf

RNG = np.random.RandomState(0)
ROWS = (RNG.randn(8, 3) * 2 + 1).astype(np.float32)
IMAGES = (RNG.randn(4, 2, 3, 5) * 2 + 1).astype(np.float32)


def run(fetches, feed=None, updates=0):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(updates):
            session.run(tf.get_collection(tf.GraphKeys.UPDATE_OPS), feed)
        return session.run(fetches, feed)


def normalized(x, axes, epsilon=1e-3):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + epsilon)


@pytest.mark.parametrize("fused", [None, False], ids=["fused", "single ops"])
@pytest.mark.parametrize(
    ("x", "axis", "axes"),
    [(ROWS, -1, (0,)), (IMAGES, -1, (0, 1, 2)), (IMAGES, 2, (0, 1, 3)), (IMAGES, [1, 3], (0, 2))],
    ids=["rows", "images", "width", "two axes"],
)
def test_training_normalizes_by_the_batch(x, axis, axes, fused):
    y = run(tf.layers.batch_normalization(x, axis, training=True, fused=fused))
    np.testing.assert_allclose(y, normalized(x, axes), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("resource", [False, True], ids=["reference", "resource"])
def test_updates_move_the_averages(resource):
    with tf.variable_scope("s", use_resource=resource):
        layer = tf.layers.BatchNormalization(momentum=0.75)
        layer(ROWS, training=True)
    mean, variance = run([layer.moving_mean, layer.moving_variance], updates=2)
    kept = 0.75**2
    np.testing.assert_allclose(mean, (1 - kept) * ROWS.mean(0), rtol=1e-4)
    np.testing.assert_allclose(variance, kept + (1 - kept) * ROWS.var(0), rtol=1e-4)


def test_inference_normalizes_by_the_averages_and_updates_nothing():
    layer = tf.layers.BatchNormalization(
        moving_mean_initializer=tf.constant_initializer(1.0),
        moving_variance_initializer=tf.constant_initializer(4.0),
        beta_initializer=tf.constant_initializer(0.5), epsilon=0.0,
    )  # fmt: skip
    y = run(layer(ROWS))
    np.testing.assert_allclose(y, (ROWS - 1) / 2 + 0.5, rtol=1e-5, atol=1e-5)
    assert layer.updates == []


@pytest.mark.parametrize("x", [ROWS, IMAGES], ids=["rows", "images"])
def test_a_placeholder_decides_about_training(x):
    training = tf.placeholder(tf.bool, [])
    y = tf.layers.batch_normalization(x, training=training)
    axes = tuple(range(x.ndim - 1))
    in_training = run(y, {training: True})
    np.testing.assert_allclose(in_training, normalized(x, axes), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(run(y, {training: False}), x / np.sqrt(1.001), rtol=1e-4)
    mean = [v for v in tf.global_variables() if "moving_mean" in v.name]
    assert not run(mean, {training: False}, updates=2)[0].any()
    assert run(mean, {training: True}, updates=2)[0].all()


def test_parts_of_the_batch_are_normalized_apart():
    y = run(tf.layers.batch_normalization(ROWS, virtual_batch_size=4, training=True))
    # TF lays a batch out as [virtual_batch_size, parts]: part i is every second row from i on.
    expected = np.empty_like(ROWS)
    for part in range(2):
        expected[part::2] = normalized(ROWS[part::2], (0,))
    np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-4)


def test_an_adjustment_changes_training_only():
    training = tf.placeholder(tf.bool, [])
    y = tf.layers.batch_normalization(
        ROWS, training=training, adjustment=lambda shape: (2.0 * tf.ones([3]), tf.ones([3]))
    )
    in_training = run(y, {training: True})
    np.testing.assert_allclose(in_training, 2 * normalized(ROWS, (0,)) + 1, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(run(y, {training: False}), ROWS / np.sqrt(1.001), rtol=1e-4)


def test_renormalization_by_fixed_averages_is_inference():
    # Unbounded, the correction replaces the batch's statistics by the averages.
    y = run(tf.layers.batch_normalization(ROWS, renorm=True, training=True))
    stddev = max(1.0, np.sqrt(1e-3))
    np.testing.assert_allclose(y, ROWS / stddev, rtol=1e-3, atol=1e-3)


def test_renormalization_bounded_to_nothing_is_plain_training():
    clipping = {"rmin": 1.0, "rmax": 1.0, "dmax": 0.0}
    y = run(
        tf.layers.batch_normalization(ROWS, renorm=True, renorm_clipping=clipping, training=True)
    )
    np.testing.assert_allclose(y, normalized(ROWS, (0,)), rtol=1e-3, atol=1e-3)


def test_variables_of_half_precision_inputs_are_single_precision():
    layer = tf.layers.BatchNormalization()
    y = layer(tf.constant(ROWS, tf.float16), training=True)
    assert y.dtype == tf.float16
    assert {v.dtype.base_dtype for v in layer.weights} == {tf.float32}
    np.testing.assert_allclose(run(y), normalized(ROWS, (0,)), rtol=1e-2, atol=1e-2)


def test_variables_are_named_as_in_checkpoints():
    layer = tf.layers.BatchNormalization(name="bn", renorm=True)
    layer(ROWS, training=True)
    names = ["gamma", "beta", "moving_mean", "moving_variance", "moving_stddev", "renorm_mean",
             "renorm_stddev"]  # fmt: skip
    assert [v.op.name for v in layer.weights] == [f"bn/{name}" for name in names]


def test_gradients_agree_with_differences():
    x = tf.constant(ROWS)
    y = tf.layers.batch_normalization(x, training=True, gamma_initializer="ones")
    weights = np.float32(np.random.RandomState(1).randn(8, 3))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        loss = tf.reduce_sum(y * weights)
        error = tf.test.compute_gradient_error(x, [8, 3], loss, [], ROWS, delta=1e-2)
    assert error < 1e-2


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"axis": 1.5}, TypeError, "axis must be int or list"),
        ({"axis": 5}, ValueError, "Invalid axis: 5"),
        ({"axis": [1, -1]}, ValueError, "Duplicate axis"),
        ({"virtual_batch_size": 0}, ValueError, "must be a positive integer"),
        ({"virtual_batch_size": 2, "axis": 0}, ValueError, "axis cannot include 0"),
        ({"virtual_batch_size": 2, "adjustment": len}, ValueError, "adjustment cannot be"),
        ({"renorm": True, "renorm_clipping": {"r": 1}}, ValueError, "contains keys not in"),
    ],
)
def test_refusals(options, error, message):
    with pytest.raises(error, match=message):
        tf.layers.batch_normalization(ROWS, **options)
