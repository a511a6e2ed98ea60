"""Convolutions and their gradients, for all ways in which a window may fit an image."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from tests.ops.nn.reference import slide
from tests.ops.nn.running import image, with_and_without_loops
from tests.running import run

import stillflow as tf
from stillflow.ops.nn import convolution, whole_windows
from stillflow.ops.nn.convolution import Slide

WAYS = list(itertools.product([3, 4, 7], [1, 2, 3], [1, 2, 3], ["SAME", "VALID"]))
POINTS = list(itertools.product([1, 5, 6], [1, 2, 3], [1, 2]))


def convolve(x, w, stride, padding, rate=1):
    flat = w.reshape(-1, w.shape[-1]).astype(np.float64)
    return slide(
        x, w.shape[:2], stride, padding, lambda part: part.reshape(len(part), -1) @ flat,
        w.shape[-1], rate,
    )  # fmt: skip


@pytest.mark.parametrize("size,window,stride,padding", WAYS)
def test_a_window_slides_as_it_says(size, window, stride, padding):
    x, w = image(2, size, size + 1, 3), image(window, 2, 3, 4, seed=1)
    y = tf.nn.conv2d(x, w, [1, stride, stride, 1], padding)
    expected = convolve(x, w, stride, padding)
    assert y.shape.as_list() == list(expected.shape)
    np.testing.assert_allclose(run(y), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("rate", [2, 3])
def test_a_dilated_window_has_holes(rate, padding):
    x, w = image(1, 8, 9, 2), image(3, 2, 2, 2, seed=1)
    y = tf.nn.conv2d(x, w, 1, padding, dilations=[1, rate, rate, 1])
    np.testing.assert_allclose(run(y), convolve(x, w, 1, padding, rate), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("size,window,stride,padding", WAYS)
def test_gradients_are_the_transpose_of_the_convolution(size, window, stride, padding):
    x = tf.placeholder(tf.float64, [2, size, size + 1, 3])
    w = tf.placeholder(tf.float64, [window, 2, 3, 4])
    y = tf.nn.conv2d(x, w, [1, stride, stride, 1], padding)
    dy = tf.placeholder(tf.float64, y.shape)
    dx, dw = tf.gradients(y, [x, w], dy)
    feeds = {x: image(*x.shape.as_list()), w: image(*w.shape.as_list(), seed=1)}
    feeds[dy] = image(*y.shape.as_list(), seed=2)
    value, for_image, for_filter = run([y, dx, dw], feeds)
    # A bilinear map: <dy, y> is <dx, x> and <dw, w>.
    total = np.vdot(feeds[dy], value)
    np.testing.assert_allclose(np.vdot(for_image, feeds[x]), total, rtol=1e-6)
    np.testing.assert_allclose(np.vdot(for_filter, feeds[w]), total, rtol=1e-6)
    assert for_image.shape == x.shape and for_filter.shape == w.shape


@pytest.mark.parametrize("size,stride,dilation", POINTS)
@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_a_window_of_one_place_multiplies_channels(size, stride, dilation, data_format):
    images, w = image(2, size, 6, 3), image(1, 1, 3, 4, seed=1)
    x = tf.constant(images if data_format == "NHWC" else images.transpose(0, 3, 1, 2))
    weight = tf.constant(w)
    y = tf.nn.conv2d(x, weight, stride, "SAME", data_format=data_format, dilations=dilation)
    grads = tf.gradients(y, [x, weight])
    value, for_image, for_filter = run([y, *grads], {})
    if data_format == "NCHW":
        value, for_image = (each.transpose(0, 2, 3, 1) for each in (value, for_image))
    seen = images[:, ::stride, ::stride]
    np.testing.assert_allclose(value, seen @ w[0, 0], rtol=1e-5, atol=1e-5)
    expected = np.zeros_like(images)
    expected[:, ::stride, ::stride] = w.sum((0, 1, 3))
    np.testing.assert_allclose(for_image, expected, rtol=1e-5, atol=1e-5)
    rows = np.repeat(seen.sum((0, 1, 2))[:, None], 4, axis=1)
    np.testing.assert_allclose(for_filter[0, 0], rows, rtol=1e-4, atol=1e-4)


def test_both_data_formats_agree():
    x, w = image(2, 5, 6, 4), image(3, 3, 4, 2, seed=1)
    last = tf.nn.conv2d(x, w, [1, 2, 1, 1], "SAME")
    first = tf.nn.conv2d(x.transpose(0, 3, 1, 2), w, [1, 1, 2, 1], "SAME", data_format="NCHW")
    a, b = run([last, first])
    np.testing.assert_allclose(a, b.transpose(0, 2, 3, 1), rtol=1e-5, atol=1e-6)


def test_explicit_paddings_add_zeros():
    x, w = image(1, 4, 4, 2), image(3, 3, 2, 2, seed=1)
    y = tf.nn.conv2d(x, w, 1, [[0, 0], [2, 1], [0, 3], [0, 0]])
    wide = np.pad(x, [(0, 0), (2, 1), (0, 3), (0, 0)])
    np.testing.assert_allclose(run(y), convolve(wide, w, 1, "VALID"), rtol=1e-5, atol=1e-6)


POINTS = """
import numpy as np
import stillflow as tf
x, w = tf.placeholder(tf.float32, [8, 5, 5, 4]), tf.placeholder(tf.float32, [1, 1, 4, 6])
y = tf.nn.conv2d(x, w, strides=2, padding=[[0, 0], [1, 0], [1, 0], [0, 0]])
grads = tf.gradients(y, [x, w])
feeds = {x: np.ones((8, 5, 5, 4)), w: np.ones((1, 1, 4, 6))}
with tf.Session() as session:
    for _ in range(100):
        dx, dw = session.run(grads, feeds)
assert dx[0, 1::2, 1::2, 0].tolist() == [[6, 6], [6, 6]] and (dw == 32).all()
"""


def test_gradients_of_strided_points_stay_within_their_memory():
    checks = {"MALLOC_CHECK_": "3", "ONEDNN_MAX_CPU_ISA": "AVX2"}  # glibc looks for overruns
    subprocess.run([sys.executable, "-c", POINTS], check=True, env={**os.environ, **checks})


def test_channels_may_be_split_into_groups():
    x, w = image(2, 4, 4, 6), image(3, 3, 2, 6, seed=1)
    y = run(tf.nn.conv2d(x, w, 1, "SAME"))
    for group in range(3):
        own = slice(2 * group, 2 * group + 2)
        expected = convolve(x[..., own], w[..., own], 1, "SAME")
        np.testing.assert_allclose(y[..., own], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("batch", [0, 2])
def test_sizes_may_be_known_only_at_run_time(batch):
    x, w = tf.placeholder(tf.float32, [None, None, None, 2]), image(3, 3, 2, 2)
    y = tf.nn.conv2d(x, w, [1, 2, 2, 1], "SAME")
    dx = tf.gradients(y, x)[0]
    for size in (1, 4, 5):
        fed = image(batch, size, size, 2) if batch else np.zeros((0, size, size, 2))
        value, grad = run([y, dx], {x: fed})
        assert value.shape == (batch, (size + 1) // 2, (size + 1) // 2, 2)
        assert grad.shape == fed.shape


def test_a_filter_that_fits_nowhere_is_refused_while_building():
    with pytest.raises(ValueError, match="Negative dimension size caused by subtracting 5 from 4"):
        tf.nn.conv2d(image(1, 4, 4, 2), image(5, 5, 2, 1), 1, "VALID")


def test_a_filter_that_turns_out_to_fit_nowhere_gives_nothing():
    x = tf.placeholder(tf.float32, [None, None, None, 1])
    y = tf.nn.conv2d(x, np.ones((3, 3, 1, 2)), 1, "VALID")
    assert run(y, {x: np.ones((1, 2, 4, 1))}).shape == (1, 0, 2, 2)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_depthwise_windows_keep_channels_apart(stride, padding):
    x, w = image(2, 5, 7, 3), image(3, 2, 3, 2, seed=1)
    y = run(tf.nn.depthwise_conv2d(x, w, [1, stride, stride, 1], padding))
    for channel in range(3):
        expected = convolve(x[..., [channel]], w[:, :, [channel]], stride, padding)
        own = slice(2 * channel, 2 * channel + 2)
        np.testing.assert_allclose(y[..., own], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("size", [None, 5])
def test_depthwise_windows_of_one_pixel_only_multiply(stride, padding, size, monkeypatch):
    monkeypatch.setattr(convolution, "convolve", None)  # slow where torch has one thread
    data, w = image(2, 5, 7, 3), image(1, 1, 3, 1, seed=1)
    x = tf.placeholder(tf.float32, [None, size, None, 3])
    y = tf.nn.depthwise_conv2d_native(x, w, [1, stride, stride, 1], padding)
    found = run(y, {x: data})
    np.testing.assert_array_equal(found, data[:, ::stride, ::stride] * w.reshape(3))


def test_volumes_slide_along_depth_too():
    x, w = image(1, 4, 5, 6, 2), image(2, 3, 3, 2, 3, seed=1)
    y = run(tf.nn.conv3d(x, w, [1, 1, 2, 1, 1], "VALID"))
    expected = sum(
        convolve(x[:, depth : depth + 3].reshape(3, 5, 6, 2), w[depth], 1, "VALID")
        for depth in range(2)
    )[:, ::2]
    np.testing.assert_allclose(y[0], expected, rtol=1e-5, atol=1e-5)


def test_a_transposed_convolution_is_the_gradient_of_a_convolution():
    x, w = image(2, 3, 3, 4), image(3, 3, 2, 4, seed=1)
    y = tf.nn.conv2d_transpose(x, w, [2, 6, 5, 2], [1, 2, 2, 1], "SAME")
    assert y.shape == (2, 6, 5, 2)
    wide = tf.placeholder(tf.float32, [2, 6, 5, 2])
    narrow = tf.nn.conv2d(wide, w, [1, 2, 2, 1], "SAME")
    grad = tf.gradients(narrow, wide, x)[0]
    a, b = run([y, grad], {wide: np.zeros((2, 6, 5, 2))})
    np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_dilated_convolutions_of_any_dimension_go_through_space_to_batch(padding):
    x, w = image(1, 7, 8, 2), image(3, 3, 2, 2, seed=1)
    y = tf.nn.convolution(x, w, padding, dilation_rate=[2, 2])
    np.testing.assert_allclose(run(y), convolve(x, w, 1, padding, 2), rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match="strides > 1 not supported"):
        tf.nn.convolution(x, w, padding, strides=[2, 2], dilation_rate=[2, 2])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_halves_are_summed_in_single_precision(dtype):
    x, w = np.full((1, 1, 1, 4096), 1.0), np.full((1, 1, 4096, 1), 1.0)
    y = tf.nn.conv2d(tf.constant(x, dtype), tf.constant(w, dtype), 1, "VALID")
    assert y.dtype == dtype
    assert run(tf.cast(y, tf.float32)) == 4096


LARGE = [(3, 3, 64, 64), (3, 3, 47, 79), (1, 5, 90, 80), (2, 7, 1, 2400), (2, 3, 1, 75, 75)]


@pytest.mark.parametrize("filter,groups", [*itertools.product(LARGE, [1]), (LARGE[0], 2)])
def test_large_filters_are_brought_into_order_by_a_loop_too(filter, groups):
    rank = len(filter)
    x = tf.placeholder(tf.float32, [2, *[6] * (rank - 3), 8, filter[-2] * groups])
    w = tf.placeholder(tf.float32, filter)
    y = (tf.nn.conv2d if rank == 4 else tf.nn.conv3d)(x, w, [1] * rank, "SAME")
    feeds = {x: image(*x.shape.as_list()), w: image(*filter, seed=1)}
    dx, dw = tf.gradients(y, [x, w], tf.sin(y))
    for fetches in ([y, dx, dw], dx, dw):
        found, plain = with_and_without_loops(lambda fetches=fetches: run(fetches, feeds))
        for one, other in zip(found, plain, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("rows", [2, 5, 7])
@pytest.mark.parametrize("channels", [1, 3])
def test_a_window_as_wide_as_the_image_takes_its_rows_as_channels(stride, rows, channels):
    x = tf.placeholder(tf.float32, [None, 7, 6, channels])
    w = tf.placeholder(tf.float32, [rows, 6, channels, 4])
    y = tf.nn.conv2d(x, w, stride, "VALID")
    dy = tf.placeholder(tf.float32, [None, *y.shape.as_list()[1:]])
    images, filters = image(2, 7, 6, channels), image(rows, 6, channels, 4, seed=1)
    expected = convolve(images, filters, stride, "VALID")
    feeds = {x: images, w: filters, dy: image(*expected.shape, seed=2)}
    gradients = tf.gradients(y, [x, w], dy)
    value, for_image, for_filter = run([y, *gradients], feeds)
    np.testing.assert_allclose(value, expected, rtol=1e-5, atol=1e-5)
    total = np.vdot(feeds[dy], value)
    np.testing.assert_allclose(np.vdot(for_image, images), total, rtol=1e-4)
    np.testing.assert_allclose(np.vdot(for_filter, filters), total, rtol=1e-4)
    for together, alone in zip((for_image, for_filter), gradients):
        np.testing.assert_allclose(run(alone, feeds), together, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("window", "folds"), [((2, 6), 1), ((7, 6), 2), ((7, 5), 0), ((1, 1), 0)])
def test_what_windows_never_move_along_counts_as_channels(window, folds):
    slide = Slide((1, 1, 1, 1), (1, 1, 1, 1), b"VALID", (), b"NHWC")
    geometry = slide.geometry((2, 7, 6, 3), (*window, 3, 4))
    folded = whole_windows.folded(torch.zeros(()), geometry)
    sizes = {0: None, 1: ((2, 7, 1, 18), (2, 1, 18, 4)), 2: ((2, 1, 1, 126), (1, 1, 126, 4))}
    assert (None if folded is None else folded.sizes) == sizes[folds]
