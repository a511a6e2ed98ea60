"""Cross entropies, of logits where an output is known to be made of such."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.config import epsilon
from stillflow.variables.base import VariableV2


def _logits(output: Any, kind: str) -> Tensor | None:
    """Return the input of an operation of a kind that made `output`; None if another did."""
    if isinstance(output, VariableV2) or output.holds_value or output.op.type != kind:
        return None
    assert len(output.op.inputs) == 1
    return output.op.inputs[0]


def _clipped(output: Any) -> Tensor:
    small = tf.constant(epsilon(), dtype=output.dtype.base_dtype)
    return tf.clip_by_value(output, small, 1.0 - small)


@export("keras.backend.categorical_crossentropy")
def categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> Tensor:
    """Return the cross entropy of distributions.

    Args:
      target, output: of the same shape; the classes lie along an axis.
      from_logits: whether `output` are logits rather than probabilities.
    """
    if not from_logits:
        logits = _logits(output, "Softmax")
        if logits is None:
            output = output / tf.reduce_sum(output, axis, True)
            return -tf.reduce_sum(target * tf.log(_clipped(output)), axis)
        output = logits
    return tf.nn.softmax_cross_entropy_with_logits_v2(labels=target, logits=output, axis=axis)


@export("keras.backend.sparse_categorical_crossentropy")
def sparse_categorical_crossentropy(
    target: Any, output: Any, from_logits: bool = False, axis: int = -1
) -> Tensor:
    """Return the cross entropy of classes given as integers.

    Args:
      target: the classes.
      output: with the classes along an axis.
      from_logits: whether `output` are logits rather than probabilities.

    Raises:
      ValueError: if `output` has an unknown rank and `axis` is not -1.
    """
    if not from_logits:
        logits = _logits(output, "Softmax")
        output = tf.log(_clipped(output)) if logits is None else logits
    rank = output.shape.ndims
    if rank is not None:
        axis %= rank
        if axis != rank - 1:
            output = tf.transpose(output, perm=[*range(axis), *range(axis + 1, rank), axis])
    elif axis != -1:
        raise ValueError(
            f"Cannot compute sparse categorical crossentropy with `axis={axis}` on an output "
            "tensor with unknown rank"
        )
    target = tf.cast(target, "int64")
    shape = tf.shape(output)
    flat = None not in (target.shape.ndims, rank) and target.shape.ndims != rank - 1
    if flat:
        target = tf.reshape(target, [-1])
        output = tf.reshape(output, [-1, shape[-1]])
    loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=target, logits=output)
    return tf.reshape(loss, shape[:-1]) if flat and rank >= 3 else loss


@export("keras.backend.binary_crossentropy")
def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Tensor:
    """Return the cross entropy of each element.

    Args:
      target, output: of the same shape.
      from_logits: whether `output` are logits rather than probabilities.
    """
    if not from_logits:
        logits = _logits(output, "Sigmoid")
        if logits is None:
            output = _clipped(output)
            loss = target * tf.log(output + epsilon())
            loss += (1 - target) * tf.log(1 - output + epsilon())
            return -loss
        output = logits
    return tf.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=output)
