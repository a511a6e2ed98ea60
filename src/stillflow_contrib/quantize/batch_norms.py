"""Parts of a folded batch normalization, and the batch's deviation from the average."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
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
        average_factor, factor = (
            tf.rsqrt(variance + norm.epsilon) for variance in (norm.moving_variance, norm.variance)
        )
        ratio = tf.divide(average_factor, factor, name="scale_compute")
        scale = tf.identity(ratio, name="correction_scale")
        inverse = tf.reciprocal(scale, name="reciprocal_compute")
        apart = norm.mean * factor - norm.moving_mean * average_factor
        shift = tf.multiply(norm.gamma, apart, name="offset_compute")
        frozen: Any = False
        if freeze_delay is not None:
            frozen = tf.greater_equal(quantization_step(), freeze_delay, name="use_moving_average")
        decays = {"mean": norm.mean_decay, "var": norm.variance_decay}
        for which, decay in decays.items():
            _freeze(decay, frozen, f"freeze_moving_{which}")
        ones, zeros = partial(tf.ones, scale.shape), partial(tf.zeros, shift.shape)
        recip = smart_cond(frozen, ones, lambda: inverse, name="correction_recip")
        offset = smart_cond(frozen, lambda: shift, zeros, name="correction_offset")
    return Corrections(scale, recip, offset)


def _freeze(decay: Tensor, frozen: Any, name: str) -> None:
    """Set the step of an average to 0 once averages are frozen."""
    users = decay.consumers()
    reroute_tensor(smart_cond(frozen, lambda: 0.0, lambda: decay, name=name), decay, users)
