"""Convolutions of one, two and three dimensions, with strides, dilations and gradients."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


def wave(*shape):
    return np.sin(np.arange(np.prod(shape)) * 0.7).astype(np.float32).reshape(shape)


@program
def conv2d_paddings_and_strides(tf):
    x = tf.placeholder(tf.float32, [None, 5, 6, 2], name="x")
    w = tf.constant(wave(3, 2, 2, 3), name="w")
    fetches = {
        "same": tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME"),
        "valid": tf.nn.conv2d(x, w, [1, 1, 1, 1], "VALID"),
        "strided": tf.nn.conv2d(x, w, [1, 2, 2, 1], "SAME", name="strided"),
        "uneven": tf.nn.conv2d(x, w, [1, 2, 1, 1], "VALID"),
        "dilated": tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME", dilations=[1, 2, 2, 1]),
        "explicit": tf.nn.conv2d(x, w, 1, [[0, 0], [2, 1], [0, 1], [0, 0]]),
        "integer_stride": tf.nn.conv2d(x, w, 2, "SAME"),
        "keyword": tf.nn.conv2d(input=x, filter=w, strides=[1, 1, 1, 1], padding="SAME",
                                use_cudnn_on_gpu=True, data_format="NHWC"),
        "pointwise": tf.nn.conv2d(x, wave(1, 1, 2, 4), [1, 1, 1, 1], "SAME"),
        "large_filter": tf.nn.conv2d(x, wave(5, 6, 2, 1), [1, 1, 1, 1], "VALID"),
    }
    return Run(fetches, {x: wave(2, 5, 6, 2)})


@program
def conv2d_gradients(tf):
    x = tf.placeholder(tf.float32, [None, 5, 6, 2], name="x")
    w = tf.Variable(wave(3, 2, 2, 3), name="w")
    fetches = {}
    for name, strides, padding, dilations in [
            ("same", 1, "SAME", 1), ("valid", 1, "VALID", 1), ("strided", 2, "SAME", 1),
            ("strided_valid", 2, "VALID", 1)]:
        y = tf.nn.conv2d(x, w, [1, strides, strides, 1], padding,
                         dilations=[1, dilations, dilations, 1])
        fetches[name] = tf.gradients(tf.square(y), [x, w])
    y = tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME")
    first = tf.gradients(tf.pow(y, 3.0), x)[0]
    fetches["second"] = tf.gradients(tf.reduce_sum(first * first), [x, w])
    return Run(fetches, {x: wave(1, 5, 6, 2)}, setup=[w.initializer])


@program
def conv2d_refused(tf):
    x = tf.constant(wave(1, 4, 4, 2))
    w = tf.constant(wave(3, 3, 2, 1))
    small = tf.placeholder(tf.float32, [None, None, None, 2])
    y = tf.nn.conv2d(small, w, [1, 1, 1, 1], "VALID")
    facts = {
        "depth": raised(tf.nn.conv2d, x, wave(3, 3, 3, 1), [1, 1, 1, 1], "SAME"),
        "padding": raised(tf.nn.conv2d, x, w, [1, 1, 1, 1], "FULL"),
        "rank": raised(tf.nn.conv2d, tf.ones([4, 4, 2]), w, [1, 1, 1, 1], "SAME"),
        "negative": raised(tf.nn.conv2d, x, wave(5, 5, 2, 1), [1, 1, 1, 1], "VALID"),
        "dtype": raised(tf.nn.conv2d, tf.ones([1, 4, 4, 2], tf.int32), w, [1, 1, 1, 1], "SAME"),
    }
    return Run({"filter_larger_than_image": y}, {small: wave(1, 2, 2, 2)}, facts=facts)


@program
def conv2d_of_unknown_sizes(tf):
    x = tf.placeholder(tf.float32, [None, None, None, 2])
    w = tf.constant(wave(3, 3, 2, 2))
    y = tf.nn.conv2d(x, w, [1, 2, 2, 1], "SAME")
    z = tf.nn.conv2d_transpose(y, w, tf.shape(x), [1, 2, 2, 1])
    fetches = {"y": y, "z": z, "gradients": tf.gradients(z * z, [x, w])}
    return [Run(fetches, {x: wave(1, 4, 5, 2)}), Run(fetches, {x: wave(2, 3, 3, 2)})]


@program
def conv2d_transpose_forms(tf):
    x = tf.placeholder(tf.float32, [None, 3, 3, 2])
    w = tf.constant(wave(3, 3, 4, 2))
    batch = tf.shape(x)[0]
    y = tf.nn.conv2d_transpose(x, w, [1, 6, 6, 4], [1, 2, 2, 1], "SAME")
    fetches = {
        "static": y,
        "dynamic": tf.nn.conv2d_transpose(x, w, tf.stack([batch, 7, 7, 4]), [1, 2, 2, 1], "VALID"),
        "stride_one": tf.nn.conv2d_transpose(x, w, [1, 3, 3, 4], strides=[1, 1, 1, 1]),
        "gradients": tf.gradients(y * y, [x, w]),
    }
    return Run(fetches, {x: wave(1, 3, 3, 2)})


@program
def conv1d_forms(tf):
    x = tf.placeholder(tf.float32, [None, 7, 2])
    w = tf.constant(wave(3, 2, 3))
    same = tf.nn.conv1d(x, w, 1, "SAME")
    strided = tf.nn.conv1d(x, w, stride=2, padding="VALID")
    back = tf.nn.conv1d_transpose(strided, w, [2, 7, 2], 2, "VALID")
    return Run({"same": same, "strided": strided, "back": back,
                "gradients": tf.gradients(same * same, [x, w])}, {x: wave(2, 7, 2)})


@program
def conv3d_forms(tf):
    x = tf.placeholder(tf.float32, [None, 3, 4, 4, 2])
    w = tf.constant(wave(2, 3, 3, 2, 2))
    same = tf.nn.conv3d(x, w, [1, 1, 1, 1, 1], "SAME")
    strided = tf.nn.conv3d(x, w, strides=[1, 1, 2, 2, 1], padding="VALID")
    back = tf.nn.conv3d_transpose(strided, w, [1, 3, 4, 4, 2], [1, 1, 2, 2, 1], "VALID")
    return Run({"same": same, "strided": strided, "back": back,
                "gradients": tf.gradients(strided * strided, [x, w])}, {x: wave(1, 3, 4, 4, 2)})


@program
def depthwise_and_separable(tf):
    x = tf.placeholder(tf.float32, [None, 5, 5, 2])
    depth = tf.constant(wave(3, 3, 2, 2))
    point = tf.constant(wave(1, 1, 4, 3))
    same = tf.nn.depthwise_conv2d(x, depth, [1, 1, 1, 1], "SAME")
    separable = tf.nn.separable_conv2d(x, depth, point, [1, 1, 1, 1], "VALID")
    fetches = {
        "same": same,
        "strided": tf.nn.depthwise_conv2d(x, depth, [1, 2, 2, 1], "VALID"),
        "rate": tf.nn.depthwise_conv2d(x, depth, [1, 1, 1, 1], "SAME", rate=[2, 2]),
        "native": tf.nn.depthwise_conv2d_native(x, depth, [1, 1, 1, 1], "SAME"),
        "separable": separable,
        "gradients": tf.gradients(same * same, [x, depth]),
        "separable_gradients": tf.gradients(separable * separable, [x, depth, point]),
    }
    return Run(fetches, {x: wave(1, 5, 5, 2)})


@program(atol=1.3e-5, reason="gradients are sums of up to 106, which round to 106 * 2 ** -23")
def atrous_convolutions(tf):
    x = tf.placeholder(tf.float32, [None, 6, 7, 2])
    unknown = tf.placeholder(tf.float32, [None, None, None, 2])
    w = tf.constant(wave(3, 3, 2, 2))
    same = tf.nn.atrous_conv2d(x, w, rate=2, padding="SAME")
    fetches = {
        "same": same,
        "valid": tf.nn.atrous_conv2d(x, w, 2, "VALID"),
        "rate_one": tf.nn.atrous_conv2d(x, w, 1, "SAME"),
        "unknown": tf.nn.atrous_conv2d(unknown, w, 2, "SAME"),
        "transpose": tf.nn.atrous_conv2d_transpose(same, w, [1, 6, 7, 2], 2, "SAME"),
        "gradients": tf.gradients(same * same, [x, w]),
    }
    return Run(fetches, {x: wave(1, 6, 7, 2), unknown: wave(1, 5, 4, 2)})


@program
def general_convolution(tf):
    x = tf.placeholder(tf.float32, [None, 6, 6, 2])
    line = tf.placeholder(tf.float32, [None, 8, 2])
    fetches = {
        "same": tf.nn.convolution(x, wave(3, 3, 2, 2), "SAME"),
        "strides": tf.nn.convolution(x, wave(3, 3, 2, 2), "VALID", strides=[2, 1]),
        "dilated": tf.nn.convolution(x, wave(3, 3, 2, 2), "SAME", dilation_rate=[2, 2]),
        "line": tf.nn.convolution(line, wave(3, 2, 2), "SAME", dilation_rate=[2]),
        "causal": tf.nn.conv1d(tf.pad(line, [[0, 0], [2, 0], [0, 0]]), wave(3, 2, 2), 1, "VALID"),
        "space_to_batch": tf.nn.with_space_to_batch(
            x, [2, 2], "SAME", lambda t, _, padding: tf.nn.max_pool(t, 2, 1, padding), [2, 2]),
    }
    return Run(fetches, {x: wave(1, 6, 6, 2), line: wave(1, 8, 2)})


@program
def erosion_and_dilation(tf):
    x = tf.placeholder(tf.float32, [None, 5, 5, 2])
    w = tf.constant(wave(3, 3, 2))
    y = tf.nn.dilation2d(x, w, [1, 1, 1, 1], [1, 1, 1, 1], "SAME")
    z = tf.nn.erosion2d(x, w, [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
    return Run({"y": y, "z": z, "gradients": tf.gradients(y * y, [x, w])}, {x: wave(1, 5, 5, 2)})


@program
def backprop_ops_called_directly(tf):
    x, w = tf.constant(wave(1, 4, 4, 2)), tf.constant(wave(3, 3, 2, 3))
    dy = tf.constant(wave(1, 4, 4, 3))
    fetches = {
        "input": tf.nn.conv2d_backprop_input([1, 4, 4, 2], w, dy, [1, 1, 1, 1], "SAME"),
        "filter": tf.nn.conv2d_backprop_filter(x, [3, 3, 2, 3], dy, [1, 1, 1, 1], "SAME"),
        "depthwise": tf.nn.depthwise_conv2d_native_backprop_input(
            [1, 4, 4, 2], wave(3, 3, 2, 1), wave(1, 4, 4, 2), [1, 1, 1, 1], "SAME"),
    }
    return Run(fetches)
