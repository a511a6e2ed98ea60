"""Parts of a folded batch normalization, and the batch's deviation from the average."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow.layers.utils import smart_cond
from stillflow_contrib.quantize.edges import quantization_step, reroute_tensor


@dataclass
class BatchNorm:
    """Tensors of a batch normalization.

    Attributes:
      gamma: what is multiplied with.
      mean, variance: of the batch, or in evaluation the averages.
      epsilon: added to a variance.
      moving_mean, moving_variance: the averages, in training.
      mean_decay, variance_decay: what the averages move by, in training.
    """

    gamma: Any
    mean: Any
    variance: Any
    epsilon: Any
    moving_mean: Any = None
    moving_variance: Any = None
    mean_decay: Any = None
    variance_decay: Any = None


@dataclass
class Corrections:
    """Factors between layers folded by averages and by batches.

    Attributes:
      scale: what weights are multiplied with, so that they are rounded at the scale of averages.
      recip: what outputs are multiplied with.
      offset: what is added to outputs.
    """

    scale: Any
    recip: Any
    offset: Any


def corrections(context: str, norm: BatchNorm, freeze_delay: int | None) -> Corrections:
    """Corrects for the difference between a batch and the averages.

    Args:
      context: a prefix of the name scope.
      norm: the batch normalization, in training.
      freeze_delay: after how many steps the averages stay and are used; never if it is None.
    """
    graph = tf.get_default_graph()
    with graph.name_scope(f"{context}batch_norm_correction"):
        inverse_average = tf.rsqrt(norm.moving_variance + norm.epsilon)
        inverse = tf.rsqrt(norm.variance + norm.epsilon)
        scale = tf.divide(inverse_average, inverse, name="scale_compute")
        scale = tf.identity(scale, name="correction_scale")
        recip = tf.reciprocal(scale, name="reciprocal_compute")
        offset = tf.multiply(
            norm.gamma,
            norm.mean * inverse - norm.moving_mean * inverse_average,
            name="offset_compute",
        )
        frozen: Any = False
        if freeze_delay is not None:
            frozen = tf.greater_equal(quantization_step(), freeze_delay, name="use_moving_average")
        _freeze(norm.mean_decay, frozen, "freeze_moving_mean")
        _freeze(norm.variance_decay, frozen, "freeze_moving_var")
        recip = smart_cond(
            frozen, lambda: tf.ones(scale.shape), lambda: recip, name="correction_recip"
        )
        offset = smart_cond(
            frozen, lambda: offset, lambda: tf.zeros(offset.shape), name="correction_offset"
        )
    return Corrections(scale, recip, offset)


def _freeze(decay: Tensor, frozen: Any, name: str) -> None:
    """Set the step of an average to 0 once averages are frozen."""
    users = decay.consumers()
    reroute_tensor(smart_cond(frozen, lambda: 0.0, lambda: decay, name=name), decay, users)
