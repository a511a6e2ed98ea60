"""The strategies of TensorFlow 2's names, which derive from its `Strategy`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.distribute import devices as device_names
from stillflow.distribute import mirrored, one_device, parameter_server
from stillflow.distribute.strategy import StrategyV2
from stillflow.graph.export import export


@export("compat.v2.distribute.MirroredStrategy")
class MirroredStrategy(StrategyV2):
    __doc__ = mirrored.MirroredStrategy.__doc__

    def __init__(self, devices: Sequence[str] | None = None, cross_device_ops: Any = None) -> None:
        super().__init__(mirrored.MirroredExtended(self, devices, cross_device_ops))


@export("compat.v2.distribute.OneDeviceStrategy")
class OneDeviceStrategy(StrategyV2):
    __doc__ = one_device.OneDeviceStrategy.__doc__

    def __init__(self, device: str) -> None:
        super().__init__(one_device.OneDeviceExtended(self, device))


@export("compat.v2.distribute.experimental.ParameterServerStrategy")
class ParameterServerStrategy(StrategyV2):
    __doc__ = parameter_server.ParameterServerStrategy.__doc__

    def __init__(self, cluster_resolver: Any = None) -> None:
        super().__init__(parameter_server.ParameterServerExtended(self, cluster_resolver))


@export("compat.v2.distribute.experimental.CentralStorageStrategy")
class CentralStorageStrategy(StrategyV2):
    __doc__ = parameter_server.CentralStorageStrategy.__doc__

    def __init__(
        self, compute_devices: Sequence[str] | None = None, parameter_device: str | None = None
    ) -> None:
        extended = parameter_server.ParameterServerExtended(
            self, compute_devices=compute_devices, parameter_device=parameter_device
        )
        super().__init__(extended)

    @classmethod
    def _from_num_gpus(cls, num_gpus: int) -> CentralStorageStrategy:
        return cls(device_names.local_devices(num_gpus))
