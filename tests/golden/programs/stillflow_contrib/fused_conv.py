"""Convolutions with all that follows them, in one operation."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised

RANDOM = np.random.RandomState(5)
IMAGES = RANDOM.randint(-128, 128, [2, 7, 6, 5]).astype(np.int8)
FILTER = RANDOM.randint(-128, 128, [3, 2, 5, 4]).astype(np.int8)
SIDE = RANDOM.randint(-128, 128, [2, 7, 6, 4]).astype(np.int8)
BIAS = np.array([1.5, -20.25, 60.0, 0.0], np.float32)


def _fused(tf, *given, **named):
    module = internal_module(tf, "contrib.fused_conv", "contrib.fused_conv")
    return module.fused_conv2d_bias_activation(*given, **named)


def _integers(tf, values):
    return tf.bitcast(tf.constant(values), tf.qint8)


def _made(tf, images=IMAGES, filter=FILTER, bias=BIAS, side=None, **named):
    if side is not None:
        side = _integers(tf, side)
    found = _fused(tf, _integers(tf, images), _integers(tf, filter), bias, side_input=side, **named)
    return tf.bitcast(found, tf.int8)


@program
def integers(tf):
    small = {"conv_input_scale": 0.0004}
    return Run({
        "same": _made(tf, padding="SAME", **small),
        "valid": _made(tf, padding="VALID", strides=[1, 2, 3, 1], activation_mode="None", **small),
        "side": _made(tf, padding="SAME", side=SIDE, side_input_scale=0.37, **small),
        "side_not_used": _made(tf, padding="SAME", side=SIDE, **small),
        "none": _made(tf, padding="SAME", side=SIDE, side_input_scale=-0.5,
                      activation_mode="None", **small),
        "pointwise": _made(tf, filter=FILTER[:1, :1], padding="SAME", conv_input_scale=0.002),
        "whole": _made(tf, filter=np.tile(FILTER, [2, 3, 1, 1]), padding="VALID", **small),
        "clipped": _made(tf, padding="SAME", activation_mode="None"),
    })


@program
def halves(tf):
    ones = np.ones([1, 1, 1, 1], np.int8)
    image = np.arange(-5, 6).astype(np.int8).reshape(1, 1, 11, 1)
    return Run({
        str(scale): _made(tf, image, ones, np.zeros(1, np.float32), padding="SAME",
                          conv_input_scale=scale, activation_mode="None")
        for scale in (0.5, 0.25, 1.5)
    })


@program
def shapes(tf):
    def unknown(shape=None):
        return tf.placeholder(tf.float32, shape)

    named = _fused(tf, unknown([2, None, 6, 5]), unknown([3, 2, 5, 4]), unknown([4]),
                   padding="VALID", name="named")
    return Run(facts={
        "unknown": _fused(tf, unknown(), unknown(), unknown(), padding="SAME").shape.as_list(),
        "some": named.shape.as_list(),
        "first": _fused(tf, unknown([2, 5, 6, 7]), unknown([4, 5, 2, 3]), unknown([4]),
                        padding="SAME", strides=[1, 1, 2, 2], data_format="NCHW",
                        filter_format="OIHW").shape.as_list(),
        "name": named.name,
        "no_padding": raised(_fused, tf, unknown(), unknown(), unknown()),
        "rank": raised(_fused, tf, unknown([1, 3]), unknown(), unknown(), padding="SAME"),
        "depth": raised(_fused, tf, unknown([1, 5, 5, 3]), unknown([2, 2, 2, 2]), unknown(),
                        padding="SAME"),
        "bias": raised(_fused, tf, unknown(), unknown([2, 2, 2, 2]), unknown([3]),
                       padding="SAME"),
        "unknown_bias": raised(_fused, tf, unknown(), unknown([2, 2, 2, 2]), unknown(),
                               padding="SAME"),
        "side": raised(_fused, tf, unknown([1, 5, 5, 3]), unknown([2, 2, 3, 2]), unknown([2]),
                       padding="SAME", side_input=unknown([1, 4, 5, 2])),
        "scale": raised(_fused, tf, unknown(), unknown(), unknown(), padding="SAME",
                        conv_input_scale=[1.0]),
        "large": raised(_fused, tf, unknown([1, 5, 5, 3]), unknown([6, 5, 3, 2]), unknown([2]),
                        padding="VALID"),
        "mode": raised(_fused, tf, unknown(), unknown(), unknown(), padding="SAME",
                       activation_mode="Tanh"),
        "format": raised(_fused, tf, unknown(), unknown(), unknown(), padding="SAME",
                         data_format="CHWN"),
        "strides": raised(_fused, tf, unknown(), unknown(), unknown(), padding="SAME",
                          strides=[1, 1]),
    })


def _fails(name, **named):
    def fails(tf):
        return Run({"found": _made(tf, padding="SAME", **named)}, fails=True)

    fails.__name__, fails.__module__ = name, __name__
    return program(fails)


batch_strides = _fails("batch_strides", strides=[2, 1, 1, 1])
channel_strides = _fails("channel_strides", strides=[1, 1, 1, 2])
channels_first = _fails("channels_first", data_format="NCHW", filter_format="HWIO",
                        filter=np.ones([3, 2, 7, 4], np.int8))
output_first = _fails("output_first", filter=FILTER.transpose(3, 2, 0, 1), filter_format="OIHW")
