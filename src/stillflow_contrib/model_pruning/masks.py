"""Masks of weights, the thresholds that they are made by, and the collections of both."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor

MASK_COLLECTION = "masks"
THRESHOLD_COLLECTION = "thresholds"
MASKED_WEIGHT_COLLECTION = "masked_weights"
WEIGHT_COLLECTION = "kernel"

# By this name tools find masked weights in graphs.
MASKED_WEIGHT_NAME = "weights/masked_weight"


def collect(mask: Any, threshold: Any, masked_weights: Any, weights: Any) -> None:
    """Put the parts of masked weights into their collections."""
    tf.add_to_collection(MASK_COLLECTION, mask)
    tf.add_to_collection(MASKED_WEIGHT_COLLECTION, masked_weights)
    tf.add_to_collection(THRESHOLD_COLLECTION, threshold)
    tf.add_to_collection(WEIGHT_COLLECTION, weights)


def is_collected(mask: Any) -> bool:
    """Return True if a mask is known already: its scope was used again."""
    return any(mask is known for known in tf.get_collection_ref(MASK_COLLECTION))


def weight_mask_variable(var: Any, scope: Any) -> Any:
    """Return a variable `mask` of ones, of the shape of `var`, in a variable scope."""
    with tf.variable_scope(scope):
        return tf.get_variable(
            "mask", var.get_shape(), initializer=tf.ones_initializer(), trainable=False,
            dtype=var.dtype,
        )  # fmt: skip


def weight_threshold_variable(var: Any, scope: Any) -> Any:
    """Return a variable `threshold`, a scalar of the type of `var`, in a variable scope."""
    with tf.variable_scope(scope):
        return tf.get_variable(
            "threshold", [], initializer=tf.zeros_initializer(), trainable=False, dtype=var.dtype
        )


@export("contrib.model_pruning.apply_mask")
def apply_mask(x: Any, scope: Any = "") -> Tensor:
    """Weights times a mask, which a `Pruning` updates.

    Args:
      x: a variable or tensor of weights.
      scope: the variable scope of mask and threshold.

    Returns:
      A tensor of the shape of `x`.
    """
    mask = weight_mask_variable(x, scope)
    threshold = weight_threshold_variable(x, scope)
    masked = tf.multiply(mask, x, MASKED_WEIGHT_NAME)
    if not is_collected(mask):
        collect(mask, threshold, masked, x)
    return masked


@export("contrib.model_pruning.get_masked_weights")
def get_masked_weights() -> list[Any]:
    """All weights times their masks."""
    return tf.get_collection(MASKED_WEIGHT_COLLECTION)


@export("contrib.model_pruning.get_masks")
def get_masks() -> list[Any]:
    """All masks."""
    return tf.get_collection(MASK_COLLECTION)


@export("contrib.model_pruning.get_thresholds")
def get_thresholds() -> list[Any]:
    """All thresholds."""
    return tf.get_collection(THRESHOLD_COLLECTION)


@export("contrib.model_pruning.get_weights")
def get_weights() -> list[Any]:
    """All weights that have a mask."""
    return tf.get_collection(WEIGHT_COLLECTION)


@export("contrib.model_pruning.get_weight_sparsity")
def get_weight_sparsity() -> list[Any]:
    """Return the share of zeros in each mask."""
    return [tf.nn.zero_fraction(mask) for mask in get_masks()]
