"""Placement of operations on a session's devices, and the devices that compute them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from stillflow.graph.graph import Graph
from stillflow.graph.lazy import torch
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime import native_log
from stillflow.runtime.devices.devices import DeviceAttributes
from stillflow.runtime.devices.placement_log import PlacementLog
from stillflow.runtime.devices.placer import Placer
from stillflow.runtime.schedule.prune import needed_ops, order


class Placement:
    """Places a graph's operations on the devices of a session.

    Args:
      graph: the graph that a session runs.
      config: its `ConfigProto`, or None.
      list_devices: gives its devices; none if another process places the graph.
      at_home: whether they are those of this process, which are known when the session is made.
    """

    def __init__(
        self, graph: Graph, config: Any, list_devices: Callable[[], list[DeviceAttributes]],
        at_home: bool = True,
    ) -> None:  # fmt: skip
        self._graph = graph
        self._list_devices = list_devices
        self._soft = bool(config is not None and config.allow_soft_placement)
        logs = config is not None and config.log_device_placement
        self._log = PlacementLog() if logs else None
        self._pruned = bool(config is not None and config.graph_options.place_pruned_graph)
        self._devices: list[DeviceAttributes] = []
        self._placer: Placer | None = None
        self._placed = 0  # how many operations of the graph are placed
        if self._log is not None and at_home:
            self.devices()

    def place_new(self) -> None:
        """Place operations added to the graph since, unless only those of runs are placed.

        Raises:
          tf.errors.InvalidArgumentError: if an operation is to be on a device that is not there.
        """
        if not self._pruned:
            operations = self._graph._operations
            count = len(operations)
            self._place(operations[self._placed : count])
            if self._log is not None and count > self._placed:
                self._log.say_placed(order(set(operations[:count]), set()), self.device_of)
            self._placed = count

    def place_pruned(
        self,
        tensors: Collection[Tensor],
        targets: Collection[Operation],
        fed: Collection[Tensor],
    ) -> None:
        """Place the operations of a run, for sessions with `place_pruned_graph`.

        Raises:
          tf.errors.InvalidArgumentError: if an operation is to be on a device that is not there.
        """
        if self._pruned:
            ops = needed_ops(tensors, targets, fed)
            self._place(ops)
            if self._log is not None:
                client = self.devices()[0]
                self._log.say_run(ops, (fed, tensors), client, targets, self.device_of)

    def _place(self, ops: Sequence[Operation]) -> None:
        # With one device, only operations that ask for another one, or need it, can fail.
        several = self._log is not None or len(self.devices()) > 1
        wanting = ops if several else [op for op in ops if op._device or op.card.elsewhere]
        if wanting and self._devices:
            self._get_placer().place(wanting)

    def _get_placer(self) -> Placer:
        if self._placer is None:
            self._placer = Placer(self.devices(), self._soft)
        return self._placer

    def device_of(self, op: Operation) -> str:
        """Return the full name of the device an operation is on.

        Raises:
          tf.errors.InvalidArgumentError: if it is to be on a device that is not there.
        """
        return self._get_placer().device_of(op)

    def torch_device(self, op: Operation) -> torch.device:
        """Return the torch device that an operation computes on."""
        self.devices()
        return self._devices[self._get_placer().number_of(op)].torch_device

    def is_on_host(self) -> bool:
        """Return True if all devices compute on the CPU, so that no transfers are needed."""
        self.devices()
        return all(device.torch_device.type == "cpu" for device in self._devices)

    def devices(self) -> list[str]:
        """Return the full names of the session's devices."""
        if not self._devices:
            self._devices = self._list_devices()
            _announce(self._devices)
            if self._log is not None:
                self._log.say_devices(self._devices)
        return [device.name for device in self._devices]


def _announce(devices: Sequence[DeviceAttributes]) -> None:
    """Says which GPUs a session has, as TensorFlow does."""
    for device in devices:
        if device.device_type == "GPU":
            megabytes = device.memory_limit_bytes >> 20
            native_log.info(
                f"Created TensorFlow device ({device.name} with {megabytes} MB memory) -> physical "
                f"GPU ({device.description})"
            )
