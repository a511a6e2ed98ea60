"""TensorFlow Lite's operators on real values and weights that are stored as integers.

The values are quantized on the way, those of each example by themselves, and the product is taken
in integers: so the answers are those of TensorFlow Lite, not those of weights that are widened.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow.lite import fixed_point as fixed
from stillflow.lite.float_operators import activated, as_wide, biased, convolve, multiply
from stillflow.lite.translation import HYBRID, Node, translates

_LARGEST = np.float32(127)


def _quantized(x: Any, axes: list[int]) -> tuple[Any, Any]:
    """Return values as whole numbers up to 127, and the scale."""
    largest = tf.reduce_max(tf.abs(x), axes, keepdims=True)
    is_zero = tf.equal(largest, 0.0)
    largest = tf.where(is_zero, tf.fill(tf.shape(largest), _LARGEST), largest)
    whole = fixed.rounded(x * (_LARGEST / largest))
    return tf.clip_by_value(whole, -_LARGEST, _LARGEST), largest / _LARGEST


def _weights(node: Node) -> Tensor:
    # Old files store signed weights as unsigned bytes.
    return tf.constant(node.constant(1).view(np.int8), tf.float32)


@translates(HYBRID, "FULLY_CONNECTED")
def _fully_connected(node: Node) -> Tensor:
    weights = _weights(node)
    rows, unit = _quantized(tf.reshape(node[0], [-1, int(weights.shape[1])]), [1])
    product = multiply(rows, weights) * (unit * node.quantized(1).scale)
    return activated(node, as_wide(node, biased(node, product)))


@translates(HYBRID, "CONV_2D")
def _convolution(node: Node) -> Tensor:
    x, unit = _quantized(node[0], [1, 2, 3])
    product = convolve(node, x, _weights(node)) * (unit * node.quantized(1).scale)
    return activated(node, biased(node, product))
