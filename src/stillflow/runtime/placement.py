"""Which device of a session an operation is placed on, as far as the program says."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from stillflow import errors
from stillflow.graph.device import DeviceSpecV2, canonical_name
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.devices import DeviceAttributes
from stillflow.runtime.prune import needed_ops

# Devices of XLA stand beside those they compute on.
_OF_XLA = {"XLA_CPU": "CPU", "XLA_GPU": "GPU"}


@lru_cache(maxsize=1024)
def _spec(name: str) -> DeviceSpecV2:
    return DeviceSpecV2.from_string(name)


class Placement:
    """Checks that the devices which a graph names are there.

    Args:
      graph: the graph that a session runs.
      config: its `ConfigProto`, or None.
      list_devices: gives its devices.
    """

    def __init__(
        self, graph: Graph, config: Any, list_devices: Callable[[], list[DeviceAttributes]]
    ) -> None:
        self._graph = graph
        self._list_devices = list_devices
        self._soft = bool(config is not None and config.allow_soft_placement)
        self._log = bool(config is not None and config.log_device_placement)
        self._pruned = bool(config is not None and config.graph_options.place_pruned_graph)
        self._devices: list[str] = []
        self._placed = 0  # how many operations of the graph are placed
        self._logged: set[Operation] = set()

    def place_new(self) -> None:
        """Places what was added to the graph since, unless only what runs is to be placed.

        Raises:
          tf.errors.InvalidArgumentError: if an operation is to be on a device that is not there.
        """
        if not self._pruned:
            operations = self._graph._operations
            count = len(operations)
            self._place(operations[self._placed : count])
            self._placed = count

    def place_pruned(
        self, tensors: Iterable[Tensor], targets: Iterable[Operation], fed: Iterable[Tensor]
    ) -> None:
        """Places what a run needs, for sessions with `place_pruned_graph`.

        Raises:
          tf.errors.InvalidArgumentError: if an operation is to be on a device that is not there.
        """
        if self._pruned:
            self._place(needed_ops(tensors, targets, fed))

    def _place(self, ops: Iterable[Operation]) -> None:
        for op in ops:
            if op._device or self._log:
                name = self.device_of(op)
                if self._log and op not in self._logged:
                    self._say(f"{op.name}: ({op.type}): {name}")
                    self._logged.add(op)

    def device_of(self, op: Operation) -> str:
        """The full name of the device an operation is on.

        Raises:
          tf.errors.InvalidArgumentError: if it is to be on a device that is not there.
        """
        devices = self.devices()
        if not op._device:
            return devices[0]
        wanted = _spec(op._device)
        for exact in (True, False) if self._soft else (True,):
            for name in devices:
                if _fits(wanted, _spec(name), exact):
                    return name
        raise self._missing(op, wanted)

    def devices(self) -> list[str]:
        """The full names of the session's devices."""
        if not self._devices:
            self._devices = [device.name for device in self._list_devices()]
            if self._log:
                self._say_devices()
        return self._devices

    def _missing(self, op: Operation, wanted: DeviceSpecV2) -> errors.OpError:
        advice = ""
        if wanted.device_type == "GPU" and not any(":GPU:" in name for name in self.devices()):
            advice = " The requested device appears to be a GPU, but CUDA is not enabled."
        return errors.InvalidArgumentError(
            op.node_def,
            op,
            f"Cannot assign a device for operation {op.name}: {{{{node {op.name}}}}} was "
            f"explicitly assigned to {canonical_name(op._device)} but available devices are "
            f"[ {', '.join(self.devices())} ]. Make sure the device specification refers to a "
            f"valid device.{advice}\n\t [[{{{{node {op.name}}}}}]]",
        )

    def _say_devices(self) -> None:
        mapped = [name for name in self._devices if ":CPU:" not in name]
        if mapped:
            self._say("Device mapping:")
            for name in mapped:
                self._say(f"{name} -> device: {name.rpartition(':')[2]}")
        else:
            self._say("Device mapping: no known devices.")

    @staticmethod
    def _say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)


def _fits(wanted: DeviceSpecV2, device: DeviceSpecV2, exact: bool) -> bool:
    """Whether `device` is what was wanted; if not `exact`, in its job and task only."""
    parts = [
        (wanted.job, device.job),
        (wanted.replica, device.replica),
        (wanted.task, device.task),
    ]
    if exact:
        kind = wanted.device_type
        parts.append((_OF_XLA.get(kind, kind) if kind else None, device.device_type))
        parts.append((wanted.device_index, device.device_index))
    return all(asked is None or asked == there for asked, there in parts)
