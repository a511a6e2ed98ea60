"""Bitwise operations on integers."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised


@program
def bitwise(tf):
    x = tf.placeholder(tf.int32, [None])
    y = tf.constant([3, 5, 1])
    bits = tf.bitwise
    fetches = {
        "and": bits.bitwise_and(x, y),
        "or": bits.bitwise_or(x, y),
        "xor": bits.bitwise_xor(x, y),
        "invert": bits.invert(x),
        "left": bits.left_shift(x, y),
        "right": bits.right_shift(x, y),
        "uint8": bits.invert(tf.constant([0, 1, 255], tf.uint8)),
        "int64": bits.left_shift(tf.constant([1], tf.int64), tf.constant([40], tf.int64)),
        "negative": bits.right_shift(tf.constant([-8]), tf.constant([1])),
        "popcount": tf.raw_ops.PopulationCount(x=x),
    }
    facts = {"floats": raised(bits.bitwise_and, tf.ones([1]), tf.ones([1]))}
    return Run(fetches, {x: [6, 12, 0]}, facts=facts)
