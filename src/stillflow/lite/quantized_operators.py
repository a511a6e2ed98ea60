"""TensorFlow Lite's operators on integers that stand for reals.

Each computes the result of TensorFlow Lite's kernel of the same operator, to the integer. Sums of
products are computed in floating point, in a precision that holds them exactly: that is where the
fast kernels are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow.lite import fixed_point as fixed
from stillflow.lite.float_operators import (
    MOVING,
    as_wide,
    bilinear,
    convolve,
    dequantize,
    move,
    multiply,
    pooled,
    position,
    reshape,
)
from stillflow.lite.model_tensors import Quantization, whole
from stillflow.lite.translation import QUANTIZED, Node, translates

_HEADROOM = 20  # bits by which the terms of a sum are widened before they are scaled


_quantization = Node.quantized


def _result(node: Node) -> Quantization:
    found = node.results[0].quantization
    if found is None:
        raise ValueError(f"The result of the quantized operator {node.kind} is not quantized")
    return found


def _offset(node: Node, index: int, dtype: Any) -> Tensor:
    """Return an input less its zero point."""
    return tf.cast(node[index], dtype) - _quantization(node, index).zero_point


def _finished(node: Node, values: Any) -> Tensor:
    """Scaled values as the operator's result: with its zero point, and its activation function."""
    result, dtype = _result(node), node.results[0].dtype
    low, high = fixed.activation_range(node.activation, result, dtype)
    return fixed.clamped(values + result.zero_point, low, high, dtype)


def _product_scales(node: Node) -> Any:
    """Return the value of 1 in products of the first two inputs, in units of the result."""
    x, weights, result = _quantization(node, 0), _quantization(node, 1), _result(node)
    if node.results[0].dtype == np.uint8 or node.kind not in ("CONV_2D", "DEPTHWISE_CONV_2D"):
        return np.float64(x.scale * weights.scale) / np.float64(result.scale)
    return np.float64(x.scale) * np.float64(weights.scales) / np.float64(result.scale)


def _weighted(node: Node, weigh: Any) -> Tensor:
    """Return the result of a convolution or matrix product."""
    weights = _quantization(node, 1)
    if isinstance(node[1], np.ndarray):
        constant = node[1].astype(np.float64) - weights.zero_point
        axes = {"DEPTHWISE_CONV_2D": (0, 1, 2)}.get(node.kind, tuple(range(1, constant.ndim)))
        dtype = fixed.exact_type(256 * np.abs(constant).sum(axes).max(initial=0))
        filters = tf.constant(constant, dtype)
    else:
        dtype = tf.float64
        filters = _offset(node, 1, dtype)
    total = tf.cast(weigh(_offset(node, 0, dtype), filters), tf.int64)
    if node[2] is not None:
        total = total + tf.cast(node[2], tf.int64)
    return _finished(node, fixed.scaled(total, _product_scales(node)))


@translates(QUANTIZED, "CONV_2D", "DEPTHWISE_CONV_2D")
def _convolution(node: Node) -> Tensor:
    return _weighted(node, lambda x, filters: convolve(node, x, filters))


@translates(QUANTIZED, "FULLY_CONNECTED")
def _fully_connected(node: Node) -> Tensor:
    return as_wide(node, _weighted(node, multiply))


@translates(QUANTIZED, "ADD", "SUB")
def _sum(node: Node) -> Tensor:
    scales = [_quantization(node, index).scale for index in (0, 1)]
    twice = np.float64(2 * max(scales))
    terms = [
        fixed.scaled(_offset(node, index, tf.int64) * (1 << _HEADROOM), np.float64(scale) / twice)
        for index, scale in enumerate(scales)
    ]
    total = terms[0] + terms[1] if node.kind == "ADD" else terms[0] - terms[1]
    unit = np.float64(np.float32(1 << _HEADROOM) * _result(node).scale)
    return _finished(node, fixed.scaled(total, twice / unit))


@translates(QUANTIZED, "MUL")
def _multiply(node: Node) -> Tensor:
    product = _offset(node, 0, tf.int64) * _offset(node, 1, tf.int64)
    scale = _quantization(node, 0).scale * _quantization(node, 1).scale / _result(node).scale
    return _finished(node, fixed.scaled(product, scale))


@translates(QUANTIZED, "AVERAGE_POOL_2D")
def _average(node: Node) -> Tensor:
    # The sums of a window of ones are the numbers of values that were averaged.
    x = tf.cast(node[0], tf.float64)
    counts = pooled_sums(node, tf.ones_like(x))
    means = fixed.rounded(pooled_sums(node, x) / counts)
    dtype = node.results[0].dtype
    low, high = fixed.activation_range(node.activation, _result(node), dtype)
    return fixed.clamped(means, low, high, dtype)


def pooled_sums(node: Node, x: Any) -> Tensor:
    """Return the sums of the values in each window, those outside of `x` left out."""
    window, strides = node.window("filter"), node.window("stride")
    ones = tf.ones([window[1], window[2], int(x.shape[3]), 1], x.dtype)
    if strides[1] != strides[2]:
        raise ValueError(f"Strides that differ, {strides[1:3]}, are not supported by Stillflow")
    return tf.nn.depthwise_conv2d(x, ones, strides, node.padding)


@translates(QUANTIZED, "MAX_POOL_2D")
def _maximum_of_window(node: Node) -> Tensor:
    dtype = node.results[0].dtype
    low, high = fixed.activation_range(node.activation, _result(node), dtype)
    return fixed.clamped(pooled(node, tf.cast(node[0], tf.float32)), low, high, dtype)


@translates(QUANTIZED, "RELU6", "RELU_N1_TO_1")
def _bounded(node: Node) -> Any:
    dtype = node.results[0].dtype
    return fixed.clamped(
        tf.cast(node[0], tf.int32), *fixed.activation_range(node.kind, _result(node), dtype), dtype
    )


@translates(QUANTIZED, "LOGISTIC", "TANH")
def _looked_up(node: Node) -> Tensor:
    """Return a function of 256 values, computed once for each."""
    source, result = _quantization(node, 0), _result(node)
    limits = np.iinfo(node.results[0].dtype)
    integers = np.arange(limits.min, limits.max + 1)
    reals = source.scale * (integers - source.zero_point).astype(np.float32)
    one = np.float32(1)
    answers = np.tanh(reals) if node.kind == "TANH" else one / (one + np.exp(-reals))
    steps = answers * (one / result.scale)
    table = whole(steps) + result.zero_point
    table = np.clip(table, limits.min, limits.max).astype(node.results[0].dtype)
    return tf.gather(table, tf.cast(node[0], tf.int32) - limits.min)


@translates(QUANTIZED, "SOFTMAX")
def _softmax(node: Node) -> Tensor:
    source, result = _quantization(node, 0), _result(node)
    limits = np.iinfo(node.results[0].dtype)
    exponentials = np.exp(
        -source.scale * np.float32(node.options.beta) * np.arange(256, dtype=np.float32)
    )
    x = tf.cast(node[0], tf.int32)
    powers = tf.gather(exponentials, tf.reduce_max(x, -1, keepdims=True) - x)
    total = tf.reduce_sum(powers, -1, keepdims=True)
    steps = powers * (np.float32(1) / (total * result.scale))
    # Of int8 the zero point is part of the sum that is rounded, of uint8 there is none.
    return fixed.clamped(
        tf.floor(steps + np.float32(0.5)) + result.zero_point,
        limits.min,
        limits.max,
        node.results[0].dtype,
    )


@translates(QUANTIZED, "CONCATENATION")
def _concatenation(node: Node) -> Tensor:
    result, dtype = _result(node), node.results[0].dtype
    parts = []
    for index, part in enumerate(node.inputs):
        source = _quantization(node, index)
        if source.scale != result.scale or source.zero_point != result.zero_point:
            scale = source.scale * (np.float32(1) / result.scale)
            bias = np.float32(-source.zero_point) * scale
            values = fixed.rounded(tf.cast(part, tf.float32) * scale + bias) + result.zero_point
            part = fixed.clamped(values, np.iinfo(dtype).min, np.iinfo(dtype).max, dtype)
        parts.append(part)
    return tf.concat(parts, node.options.axis)


@translates(QUANTIZED, "MEAN")
def _mean(node: Node) -> Tensor:
    source, result, dtype = _quantization(node, 0), _result(node), node.results[0].dtype
    axes = [int(axis) for axis in node.constant(1).ravel()]
    x = tf.cast(node[0], tf.float64)
    mean = tf.cast(tf.reduce_mean(x, axes, node.options.keep_dims), tf.float32)
    if source.scale == result.scale and source.zero_point == result.zero_point:
        # Only the kernels for bytes with a sign, and for pictures, round; the general one divides.
        of_pictures = node.options.keep_dims and sorted(axes) == [1, 2] and x.shape.ndims == 4
        values = fixed.rounded(mean) if dtype == np.int8 or of_pictures else tf.floor(mean)
    else:
        scale = source.scale / result.scale
        bias = np.float32(-source.zero_point) * scale + np.float32(0.5)
        values = fixed.rounded(mean * scale + bias) + result.zero_point
    return tf.cast(tf.cast(values, tf.int64), dtype)  # too large values wrap around, as there


@translates(QUANTIZED, "RESIZE_BILINEAR")
def _resize_bilinear(node: Node) -> Tensor:
    return tf.cast(bilinear(node, tf.cast(node[0], tf.float32)), node.results[0].dtype)


@translates(QUANTIZED, "LEAKY_RELU")
def _leaky_relu(node: Node) -> Tensor:
    source, result, dtype = _quantization(node, 0), _result(node), node.results[0].dtype
    limits = np.iinfo(dtype)
    slope = source.zero_point + np.float32(node.options.alpha) / source.scale
    alpha = int(np.clip(np.floor(slope + np.float32(0.5)), limits.min, limits.max))
    x = _offset(node, 0, tf.int64)
    scale = source.scale * source.scale / result.scale
    below = fixed.scaled(x * (alpha - source.zero_point), scale) + result.zero_point
    return tf.where(x >= 0, node[0], fixed.clamped(below, limits.min, limits.max, dtype))


@translates(QUANTIZED, "PRELU")
def _prelu(node: Node) -> Any:
    source, slopes, result = _quantization(node, 0), _quantization(node, 1), _result(node)
    dtype = node.results[0].dtype
    x = _offset(node, 0, tf.int64)
    product = x * _offset(node, 1, tf.int64)
    scale = source.scale * slopes.scale / result.scale
    below = fixed.scaled(product, scale) + result.zero_point
    below = fixed.clamped(below, np.iinfo(dtype).min, np.iinfo(dtype).max, dtype)
    return tf.where(x >= 0, tf.cast(node[0], dtype), below)


@translates(QUANTIZED, "QUANTIZE")
def _quantize(node: Node) -> Tensor:
    result, dtype = _result(node), node.results[0].dtype
    limits = np.iinfo(dtype)
    source = node.quantization(0)
    if node.sources[0] is not None and node.sources[0].dtype == np.float32:
        reals = tf.cast(node[0], tf.float64) / np.float64(result.scale)
        steps = fixed.rounded(reals)
    elif source is not None:
        steps = fixed.scaled(
            _offset(node, 0, tf.int64), np.float64(source.scale) / np.float64(result.scale)
        )
    else:
        raise ValueError("QUANTIZE reads integers that are not quantized")
    return fixed.clamped(steps + result.zero_point, limits.min, limits.max, dtype)


@translates(QUANTIZED, "PAD", "PADV2")
def _pad(node: Node) -> Tensor:
    fill = _result(node).zero_point if node[2] is None else node.constant(2).reshape(())
    x = tf.pad(tf.cast(node[0], tf.int32), node[1], constant_values=int(fill))
    return tf.cast(x, node.results[0].dtype)


@translates(QUANTIZED, "REDUCE_MAX", "REDUCE_MIN", "MAXIMUM", "MINIMUM")
def _extreme(node: Node) -> Tensor:
    """Return the largest or smallest, of values that all stand for reals in the same way."""
    sources = [_quantization(node, 0)]
    if node.kind in ("MAXIMUM", "MINIMUM"):
        sources.append(_quantization(node, 1))
    result = _result(node)
    if any(
        source.scale != result.scale or source.zero_point != result.zero_point for source in sources
    ):
        raise ValueError(f"The quantized operator {node.kind} reads and writes different ranges")
    x = tf.cast(node[0], tf.int32)
    if len(sources) == 2:
        choose = tf.maximum if node.kind == "MAXIMUM" else tf.minimum
        found = choose(x, tf.cast(node[1], tf.int32))
    else:
        reduce = tf.reduce_max if node.kind == "REDUCE_MAX" else tf.reduce_min
        axes = [int(axis) for axis in node.constant(1).ravel()]
        found = reduce(x, axes, node.options.keep_dims)
    return tf.cast(found, node.results[0].dtype)


translates(QUANTIZED, *MOVING)(move)
translates(QUANTIZED, "RESHAPE")(reshape)
translates(QUANTIZED, "DEQUANTIZE")(dequantize)
translates(QUANTIZED, "ARG_MAX", "ARG_MIN")(position)
