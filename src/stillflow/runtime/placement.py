"""Which device of a session an operation is placed on, and where it computes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime import native_log
from stillflow.runtime.devices import DeviceAttributes
from stillflow.runtime.placer import Placer
from stillflow.runtime.prune import needed_ops


class Placement:
    """Places a graph's operations on the devices of a session.

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
        self._devices: list[DeviceAttributes] = []
        self._placer: Placer | None = None
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

    def _place(self, ops: Sequence[Operation]) -> None:
        # Where there is one device, only what asks for another one, or needs it, can go wrong.
        several = self._log or len(self.devices()) > 1
        wanting = ops if several else [op for op in ops if op._device or op.card.elsewhere]
        if not wanting:
            return
        placer = self._get_placer()
        placer.place(wanting)
        if self._log:
            for op in wanting:
                if op not in self._logged:
                    self._say(f"{op.name}: ({op.type}): {placer.device_of(op)}")
                    self._logged.add(op)

    def _get_placer(self) -> Placer:
        if self._placer is None:
            self._placer = Placer(self.devices(), self._soft)
        return self._placer

    def device_of(self, op: Operation) -> str:
        """The full name of the device an operation is on.

        Raises:
          tf.errors.InvalidArgumentError: if it is to be on a device that is not there.
        """
        return self._get_placer().device_of(op)

    def torch_device(self, op: Operation) -> Any:
        """The torch device that an operation computes on."""
        self.devices()
        return self._devices[self._get_placer().number_of(op)].torch_device

    def is_on_host(self) -> bool:
        """Whether all devices compute on the CPU, so that nothing has to be moved."""
        self.devices()
        return all(device.torch_device.type == "cpu" for device in self._devices)

    def devices(self) -> list[str]:
        """The full names of the session's devices."""
        if not self._devices:
            self._devices = self._list_devices()
            _announce(self._devices)
            if self._log:
                self._say_devices()
        return [device.name for device in self._devices]

    def _say_devices(self) -> None:
        mapped = [device.name for device in self._devices if device.device_type != "CPU"]
        if mapped:
            self._say("Device mapping:")
            for name in mapped:
                self._say(f"{name} -> device: {name.rpartition(':')[2]}")
        else:
            self._say("Device mapping: no known devices.")

    @staticmethod
    def _say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)


def _announce(devices: Sequence[DeviceAttributes]) -> None:
    """Says which GPUs a session has, as TensorFlow does."""
    for device in devices:
        if device.device_type == "GPU":
            megabytes = device.memory_limit_bytes >> 20
            native_log.info(
                f"Created TensorFlow device ({device.name} with {megabytes} MB memory) -> physical "
                f"GPU ({device.description})"
            )
