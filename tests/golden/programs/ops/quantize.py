"""Fake and real quantization."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program


@program
def fake_quantization(tf):
    x = tf.placeholder(tf.float32, [None, 2])
    low, high = tf.constant(-1.0), tf.constant(2.0)
    args = tf.fake_quant_with_min_max_args(x, min=-1.0, max=1.0, num_bits=8)
    scalars = tf.fake_quant_with_min_max_vars(x, low, high, num_bits=4, narrow_range=True)
    channels = tf.fake_quant_with_min_max_vars_per_channel(x, [-1.0, 0.0], [1.0, 3.0])
    fetches = {
        "args": [args, tf.gradients(args * x, x)],
        "vars": [scalars, tf.gradients(scalars * x, [x, low, high])],
        "channels": [channels, tf.gradients(channels * x, x)],
        "new_name": tf.quantization.fake_quant_with_min_max_args(x, -6, 6),
    }
    return Run(fetches, {x: [[-2.0, 0.3], [0.51, 2.7], [0.0, 5.0]]})


@program
def quantize_and_dequantize(tf):
    x = tf.constant([[-1.0, 0.3], [0.51, 2.0]])
    quantized = tf.quantize(x, -1.0, 2.0, tf.quint8)
    fetches = {
        "output": tf.bitcast(quantized.output, tf.uint8),
        "range": [quantized.output_min, quantized.output_max],
        "dequantize": tf.dequantize(quantized.output, -1.0, 2.0),
        "both": tf.quantization.quantize_and_dequantize(x, -1.0, 2.0, range_given=True),
    }
    return Run(fetches)


@program
def ranges_that_are_none(tf):
    """Empty, turned and infinite ranges, and NaN."""
    values = tf.bitcast(tf.constant([0, 7, 255], tf.uint8), tf.quint8)
    ranges = {"turned": (2.0, 1.0), "nan_first": (np.nan, 1.0), "nan_last": (0.0, np.nan),
              "infinite": (-np.inf, np.inf), "empty": (3.0, 3.0)}
    return Run({f"{mode}_{name}": tf.dequantize(values, low, high, mode=mode)
                for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED")
                for name, (low, high) in ranges.items()})
