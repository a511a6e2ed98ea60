"""Placement of eager operations on machines with GPUs.

As in TensorFlow: where a scope says; where the variable is that they work on; whole numbers and
flags of the host stay there; all else that a GPU has a kernel for runs on the first one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow import errors
from stillflow.graph.card import get
from stillflow.graph.device import DeviceSpecV2
from stillflow.graph.dtypes import DType
from stillflow.graph.graph import Graph
from stillflow.graph.lazy import torch
from stillflow.graph.operation import Operation
from stillflow.runtime.devices.devices import gpu_count, session_devices
from stillflow.runtime.devices.kinds import kinds_of, prefers_cpu
from stillflow.runtime.devices.moves import HOST, SAYS_HOW, gives_numbers, place_of
from stillflow.runtime.devices.placement import Placement
from stillflow.runtime.session.settings import session_config


def places_of(graph: Graph) -> Places | None:
    """Return the places of a context; None where everything is computed on the host."""
    return Places(graph) if gpu_count() else None


class Places:
    """Chooses the devices of operations.

    Args:
      graph: the context, whose scopes say what devices are asked for.

    Attributes:
      in_functions: gives the torch device of an operation in the body of a function.
    """

    def __init__(self, graph: Graph) -> None:
        devices = session_devices(session_config())
        self._graph = graph
        self._gpus = [each.torch_device for each in devices if each.device_type == "GPU"]
        self.in_functions: Callable[[Operation], Any] = Placement(
            graph, session_config(), lambda: devices
        ).torch_device

    def key(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """Return the key of the choice, except for the operation and its types."""
        scopes = map(str, self._graph._device_functions_outer_to_inner)
        return *scopes, *(place_of(tensor._held) for tensor in tensors)

    def of(self, op: Operation, tensors: Sequence[Any]) -> torch.device:
        """Return the device that an operation on tensors runs on.

        None if it runs wherever they are.

        Raises:
          InvalidArgumentError: if a scope asks for a GPU that is not there.
        """
        if op.card.inlined or op.card.metadata:
            return None
        if "GPU" not in kinds_of(op) or op.card.reads_on_host:
            return HOST
        for tensor in tensors:
            if tensor.dtype.name == "resource":  # where the variable is
                home = place_of(tensor._held)
                if home is not None:
                    return home
        return self._asked(op, prefers_cpu(op) or _says_how(op, tensors))

    def of_constant(self, dtype: DType) -> torch.device:
        """Return the device for a tensor made by the program, so that it is copied there once."""
        op = Operation._of_card(get("Placeholder"), self._graph, "constant", [], {}, [dtype], [])
        return self._asked(op, not (dtype.is_floating or dtype.is_complex))

    def _asked(self, op: Operation, stays: bool) -> torch.device:
        """Return the device that scopes ask for; the host or the first GPU if they do not."""
        self._graph._apply_devices(op)
        asked = DeviceSpecV2.from_string(op._device)
        if asked.device_type is None:
            return HOST if stays else self._gpus[0]
        if asked.device_type != "GPU":
            return HOST
        index = asked.device_index or 0
        if index >= len(self._gpus):
            raise errors.invalid_argument(f"{op._device} unknown device.")
        return self._gpus[index]


def _says_how(op: Operation, tensors: Sequence[Any]) -> bool:
    """Return True if all inputs and outputs are numbers and flags in host memory."""
    return gives_numbers(op) and all(
        tensor.dtype.name in SAYS_HOW and place_of(tensor._held) == HOST
        for tensor in tensors if tensor.dtype.name != "resource"
    )  # fmt: skip
