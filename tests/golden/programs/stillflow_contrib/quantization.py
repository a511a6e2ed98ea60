"""Operations on quantized tensors by the functions that TensorFlow generates for them."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

VALUES = np.array([[-1.0, 0.5, 2.0], [3.0, -0.25, 1.0]], np.float32)


@program
def by_position(tf):
    ops = tf.contrib.quantization
    x = ops.quantize_v2(tf.constant(VALUES), -2.0, 4.0, tf.quint8, name="x")
    y = ops.quantize_v2(tf.constant(VALUES.T), -2.0, 4.0, tf.quint8, mode="MIN_FIRST")
    product = ops.quantized_mat_mul(x[0], y[0], x[1], x[2], y[1], y[2])
    relu = ops.quantized_relu(*x)
    joined = ops.quantized_concat(1, [x[0], relu[0]], [x[1], relu[1]], [x[2], relu[2]])
    small = ops.quantize_down_and_shrink_range(*product, out_type=tf.quint8)
    return Run({
        "product": ops.dequantize(*product),
        "relu": ops.dequantize(*relu, mode="MIN_FIRST"),
        "joined": ops.dequantize(*joined, name="joined"),
        "small": ops.dequantize(*small),
        "range": ops.requantization_range(*product),
        "sums": ops.segment_sum(tf.constant(VALUES), [0, 0]),
        "conv": ops.conv2d(VALUES.reshape(1, 2, 3, 1), VALUES.reshape(2, 3, 1, 1), [1] * 4, "SAME"),
    })


@program
def by_name(tf):
    ops = tf.contrib.quantization
    return Run({
        "sum": ops.Sum(input=VALUES, axis=[1], keep_dims=True),
        "relu": ops.Relu(features=VALUES, name="relu"),
        "range": ops.Range(start=1, limit=4, delta=1),
    }, facts={"by_position": raised(ops.Relu, VALUES)})


@program
def names(tf):
    ops = tf.contrib.quantization
    found = [name for name in dir(ops) if callable(getattr(ops, name)) and name[0] != "_"
             and not name.endswith("_eager_fallback")]
    return Run(facts={"names": sorted(set(found) - {"deprecated_endpoints", "tf_export"})})
