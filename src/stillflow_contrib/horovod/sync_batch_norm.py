"""Batch normalization over the batches of all ranks."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow_contrib.horovod import basics
from stillflow_contrib.horovod.reductions import allreduce


class SyncBatchNormalization(tf.keras.layers.BatchNormalization):
    """Layer `BatchNormalization` whose moments are those of all ranks' examples.

    Args:
      fused: False, as the fused operation knows one rank's batch.
      kwargs: arguments of `BatchNormalization`.

    Raises:
      ValueError: for `fused=True`, or a virtual batch size.
    """

    def __init__(self, fused: bool | None = False, **kwargs: Any) -> None:
        if fused in (True, None):
            raise ValueError("SyncBatchNormalization does not support fused=True.")
        kwargs.setdefault("name", "sync_batch_normalization")
        super().__init__(fused=fused, **kwargs)

    def _moments(self, inputs: Any, reduction_axes: Any, keep_dims: bool) -> Any:
        mean, variance = super()._moments(inputs, reduction_axes, keep_dims)
        if basics.size() == 1:
            return mean, variance
        square = variance + tf.square(mean)
        both = allreduce(tf.stack([mean, square]), op=basics.Average)
        mean, square = both[0], both[1]
        return mean, square - tf.square(mean)
