"""The older `MirroredStrategy`, which counts GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.distribute import devices as device_names
from stillflow.distribute import mirrored
from stillflow.distribute.strategy import Strategy
from stillflow.graph.export import export
from stillflow_contrib.distribute.batches import BatchesOfReplicas


class MirroredExtended(BatchesOfReplicas, mirrored.MirroredExtended):
    """`MirroredExtended` of the newer strategy, for batches of one replica each."""


@export("contrib.distribute.MirroredStrategy")
class MirroredStrategy(mirrored.MirroredStrategy):
    """Strategy with a replica on each of several devices, each with a copy of every variable.

    Args:
      devices: names of devices; all GPUs, or else the CPU, if None.
      num_gpus: how many GPUs to use, where `devices` does not name them.
      num_gpus_per_worker: the same.
      cross_device_ops: how values of devices become one, which with one they are.
      auto_shard_dataset: whether workers share a dataset; there is one.
      cross_tower_ops: an older name of `cross_device_ops`.

    Raises:
      ValueError: if two of the arguments say which devices to use.
      UnimplementedError: if a device is another process's.
    """

    def __init__(
        self,
        devices: Sequence[str] | None = None,
        num_gpus: int | None = None,
        num_gpus_per_worker: int | None = None,
        cross_device_ops: Any = None,
        auto_shard_dataset: bool = False,
        cross_tower_ops: Any = None,
    ) -> None:
        del auto_shard_dataset
        assert not (cross_device_ops and cross_tower_ops)
        if num_gpus is not None and num_gpus_per_worker is not None:
            raise ValueError("You cannot specify both `num_gpus` and `num_gpus_per_worker`.")
        count = num_gpus_per_worker if num_gpus is None else num_gpus
        if devices is None:
            devices = device_names.local_devices(count)
        elif count is not None:
            raise ValueError("Must only specify one of `devices` and `num_gpus_per_worker`.")
        Strategy.__init__(
            self, MirroredExtended(self, devices, cross_device_ops or cross_tower_ops)
        )
