"""Convolutions, transposed and separable ones, pooling."""

import itertools

import numpy as np
import pytest
from tests.running import run

import stillflow as tf

RNG = np.random.RandomState(0)
SPACE = [7, 6, 5]


def images(rank, channels=2):
    return RNG.randn(2, *SPACE[:rank], channels).astype(np.float32)


CONVOLUTIONS = {
    1: [tf.layers.Conv1D, tf.layers.SeparableConv1D],
    2: [tf.layers.Conv2D, tf.layers.SeparableConv2D, tf.layers.Conv2DTranspose],
    3: [tf.layers.Conv3D, tf.layers.Conv3DTranspose],
}
CASES = [
    (rank, kind, strides, padding)
    for rank, kinds in CONVOLUTIONS.items()
    for kind, strides, padding in itertools.product(kinds, (1, 2), ("valid", "same"))
]


@pytest.mark.parametrize(("rank", "kind", "strides", "padding"), CASES)
def test_values_have_the_shape_that_is_promised(rank, kind, strides, padding):
    x = images(rank)
    layer = kind(3, 2, strides=strides, padding=padding)
    symbolic = layer(tf.placeholder_with_default(x, [None, *x.shape[1:]]))
    value = run(symbolic)
    assert layer.compute_output_shape(x.shape).as_list() == list(value.shape)
    assert symbolic.shape.as_list() == [None, *value.shape[1:]]


@pytest.mark.parametrize("dilation", [1, 2])
def test_causal_outputs_do_not_depend_on_what_comes_later(dilation):
    layer = tf.layers.Conv1D(2, 2, padding="causal", dilation_rate=dilation)
    x = images(1)
    later = x.copy()
    later[:, 4:] += 1
    y, changed = run([layer(x), layer(later)])
    np.testing.assert_array_equal(y[:, :4], changed[:, :4])
    assert (y[:, 4:] != changed[:, 4:]).any()


def test_separable_convolutions_are_a_depthwise_and_a_pointwise_one():
    x = images(2)
    layer = tf.layers.SeparableConv2D(4, 3, depth_multiplier=2, activation=tf.nn.relu)
    y = layer(x)
    plain = tf.nn.depthwise_conv2d(x, layer.depthwise_kernel, [1, 1, 1, 1], "VALID")
    plain = tf.nn.conv2d(plain, layer.pointwise_kernel, 1, "VALID")
    y, expected = run([y, tf.nn.relu(plain + layer.bias)])
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)


def test_channels_first_gives_the_same_values():
    x = images(1)
    layer = tf.layers.Conv1D(3, 2, data_format="channels_first")
    first = layer(x.transpose(0, 2, 1))
    last = tf.nn.conv1d(x, layer.kernel, 1, "VALID")
    first, last = run([first, last])
    np.testing.assert_allclose(first.transpose(0, 2, 1), last, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tf.layers.Conv2D(2, 3, padding="causal"), "Causal padding is only supported"),
        (lambda: tf.layers.conv2d(tf.zeros([1, 4, 4]), 2, 3), "expected ndim=4, found ndim=3"),
        (lambda: tf.layers.Conv2D(2, [3, 3, 3]), "must be a tuple of 2 integers"),
        (lambda: tf.layers.conv2d(tf.placeholder(tf.float32, [1, 4, 4, None]), 2, 3),
         "channel dimension of the inputs should be defined"),
        (lambda: tf.layers.MaxPooling2D(2, None), "Argument `strides` must not be None"),
        (lambda: tf.layers.Conv2D(2, 3, data_format="NHWC"), "`data_format` argument must be one"),
    ],
)  # fmt: skip
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make()


POOLS = {
    1: (tf.layers.MaxPooling1D, tf.layers.AveragePooling1D),
    2: (tf.layers.MaxPooling2D, tf.layers.AveragePooling2D),
    3: (tf.layers.MaxPooling3D, tf.layers.AveragePooling3D),
}


@pytest.mark.parametrize("first", [False, True], ids=["channels_last", "channels_first"])
@pytest.mark.parametrize("padding", ["valid", "same"])
@pytest.mark.parametrize("rank", POOLS)
def test_pooling_looks_at_windows(rank, padding, first):
    if first and rank == 2:
        pytest.skip("2D pooling hands channels first on to an op that takes them on GPUs only")
    x = images(rank)
    given = np.moveaxis(x, -1, 1) if first else x
    data_format = "channels_first" if first else "channels_last"
    layers = [kind(2, 2, padding, data_format) for kind in POOLS[rank]]
    results = run([layer(given) for layer in layers])
    for layer, result, reduce in zip(layers, results, (np.max, np.mean)):
        assert layer.compute_output_shape(given.shape).as_list() == list(result.shape)
        result = np.moveaxis(result, 1, -1) if first else result
        for index in itertools.product(*map(range, result.shape[1:-1])):
            window = x[(slice(None), *(slice(2 * i, 2 * i + 2) for i in index))]
            expected = reduce(window, axis=tuple(range(1, rank + 1)))
            np.testing.assert_allclose(result[(slice(None), *index)], expected, rtol=1e-5)
