"""Regularizers: functions of weights that give a penalty."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow.platform import tf_logging as logging

Regularizer = Callable[[Any], Any]


def _is_zero(scale: Any, end: str) -> bool:
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if isinstance(scale, numbers.Real):
        if scale < 0.0:
            raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale:g}{end}")
        if scale == 0.0:
            logging.info("Scale of 0 disables regularizer.")
            return True
    return False


def _no_penalty(_: Any) -> None:
    return None


def _scaled(kind: str, penalty: Regularizer, scale: Any, scope: str | None) -> Regularizer:
    def scaled(weights: Any, name: str | None = None) -> Tensor:
        with tf.name_scope(scope, f"{kind}_regularizer", [weights]) as full_name:
            factor = tf.convert_to_tensor(scale, dtype=weights.dtype.base_dtype, name="scale")
            return tf.multiply(factor, penalty(weights), name=full_name)

    scaled.__name__ = kind
    return scaled


@export("contrib.layers.l1_regularizer", "contrib.slim.l1_regularizer",
        "contrib.layers.regularizers.l1_regularizer")  # fmt: skip
def l1_regularizer(scale: Any, scope: str | None = None) -> Regularizer:
    """Return a regularizer that sums absolute values.

    Args:
      scale: the factor, a float or a scalar tensor; 0.0 for no penalty.
      scope: a name scope.

    Raises:
      ValueError: for an integer, or a factor below 0.
    """
    if _is_zero(scale, ""):
        return _no_penalty
    return _scaled("l1", lambda weights: tf.reduce_sum(tf.abs(weights)), scale, scope)


@export("contrib.layers.l2_regularizer", "contrib.slim.l2_regularizer",
        "contrib.layers.regularizers.l2_regularizer")  # fmt: skip
def l2_regularizer(scale: Any, scope: str | None = None) -> Regularizer:
    """Return a regularizer that sums squares, halved.

    Args:
      scale: the factor, a float or a scalar tensor; 0.0 for no penalty.
      scope: a name scope.

    Raises:
      ValueError: for an integer, or a factor below 0.

    Example:
      >>> penalty = tf.contrib.layers.l2_regularizer(scale=0.1)
      >>> print(tf.Session().run(penalty(tf.constant([3.0, 1.0]))))
      0.5
    """
    return _no_penalty if _is_zero(scale, ".") else _scaled("l2", tf.nn.l2_loss, scale, scope)


@export("contrib.layers.l1_l2_regularizer", "contrib.slim.l1_l2_regularizer",
        "contrib.layers.regularizers.l1_l2_regularizer")  # fmt: skip
def l1_l2_regularizer(
    scale_l1: Any = 1.0, scale_l2: Any = 1.0, scope: str | None = None
) -> Regularizer | None:
    """Return a regularizer that sums absolute values and squares.

    Args:
      scale_l1, scale_l2: the factors.
      scope: a name scope.

    Raises:
      ValueError: for an integer, or a factor below 0.
    """
    parts = {"l1": (l1_regularizer, scale_l1), "l2": (l2_regularizer, scale_l2)}
    for kind, (_, scale) in parts.items():
        if isinstance(scale, numbers.Integral):
            raise ValueError(f"scale_{kind} cannot be an integer: {scale}")
    scope = scope or "l1_l2_regularizer"
    used = [part for part in parts.values() if part[1] != 0.0] or [parts["l2"]]
    if len(used) == 1:
        [(maker, scale)] = used
        return maker(scale, scope)
    return sum_regularizer([maker(scale) for maker, scale in used], scope=scope)


@export("contrib.layers.sum_regularizer", "contrib.slim.sum_regularizer",
        "contrib.layers.regularizers.sum_regularizer")  # fmt: skip
def sum_regularizer(
    regularizer_list: Sequence[Regularizer | None], scope: str | None = None
) -> Regularizer | None:
    """Return a regularizer that sums the penalties of others; None if there are none.

    Args:
      regularizer_list: regularizers; None counts for nothing.
      scope: a name scope.
    """
    regularizers = [regularizer for regularizer in regularizer_list if regularizer is not None]
    if not regularizers:
        return None

    def sum_reg(weights: Any) -> Any:
        with tf.name_scope(scope, "sum_regularizer", [weights]) as name:
            penalties = [regularizer(weights) for regularizer in regularizers]
            penalties = [penalty for penalty in penalties if penalty is not None]
            return tf.add_n(penalties, name=name) if penalties else None

    return sum_reg


@export("contrib.layers.apply_regularization", "contrib.slim.apply_regularization",
        "contrib.layers.regularizers.apply_regularization")  # fmt: skip
def apply_regularization(regularizer: Regularizer, weights_list: Any = None) -> Tensor:
    """Return the sum of the penalties of weights, put into the collection REGULARIZATION_LOSSES.

    Args:
      regularizer: the regularizer.
      weights_list: weights; by default those in the collection WEIGHTS.

    Raises:
      ValueError: if there are none; for a penalty that is no scalar.
    """
    weights_list = weights_list or tf.get_collection(GraphKeys.WEIGHTS)
    if not weights_list:
        raise ValueError("No weights to regularize.")
    with tf.name_scope("get_regularization_penalty", values=weights_list) as scope:
        penalties = [regularizer(weights) for weights in weights_list]
        penalties = [tf.constant(0.0) if p is None else p for p in penalties]
        for penalty in penalties:
            if penalty.get_shape().ndims != 0:
                raise ValueError(
                    "regularizer must return a scalar Tensor instead of a Tensor with rank "
                    f"{penalty.get_shape().ndims}."
                )
        total = tf.add_n(penalties, name=scope)
        tf.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
        return total
