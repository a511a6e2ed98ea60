"""Derivatives forward, from inputs to outputs: twice backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import stillflow as tf
from stillflow.graph.indexed_slices import IndexedSlices


def fwd_gradients(
    ys: Sequence[Any], xs: Sequence[Any], grad_xs: Any = None, assert_unused: bool = False
) -> list[Any]:
    """Return directional derivatives of outputs by inputs: products with Jacobians.

    Args:
      ys: the outputs.
      xs: the inputs.
      grad_xs: the direction, a tensor for each input; ones if None.
      assert_unused: whether running fails if the backward derivatives themselves are computed,
        which are NaN.

    Returns:
      a tensor like each output, or None.
    """
    # Factors of backward derivatives, which are linear in them; they have no value.
    factors = [tf.zeros_like(y) + float("nan") for y in ys]
    backward = [
        tf.convert_to_tensor(each) if isinstance(each, IndexedSlices) else each
        for each in tf.gradients(ys, xs, grad_ys=factors)
    ]
    if assert_unused:
        with tf.control_dependencies(backward):
            never = tf.Assert(False, [1], name="fwd_gradients")
        with tf.control_dependencies([never]):
            backward = tf.identity_n(backward)
    backward = [
        tf.zeros_like(x) if each is None else each for x, each in zip(xs, backward, strict=True)
    ]
    for x, each in zip(xs, backward, strict=True):
        each.set_shape(x.shape)
    found: list[Any] = tf.gradients(backward, factors, grad_ys=grad_xs)
    return found
