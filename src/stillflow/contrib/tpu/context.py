"""Context of replicated operations on TPUs, and the ways out of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.distribute.devices import current
from stillflow.graph.device import DeviceSpecV2
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation
from stillflow.protos import AttrValue
from stillflow.xla.clusters import ClusterContext

# Attribute with the computation that an operation is part of.
ATTRIBUTE = "_tpu_replicate"
_OUTSIDE = "_xla_outside_compilation"


class TPUReplicateContext(ClusterContext):
    """Marks operations that every replica runs.

    Args:
      name: of the computation.
      num_replicas: how many replicas there are.
      pivot: control dependency of operations without inputs.
    """

    attribute = ATTRIBUTE
    where = ("on the TPU", "TPU computations")

    def __init__(self, name: str, num_replicas: int, pivot: Operation) -> None:
        super().__init__(name, pivot)
        self._num_replicas = num_replicas
        self._outer_devices: list[Any] | None = None
        self._inner_devices: list[Any] = []
        self._outside: str | None = None
        self._outsides = 0
        self._host_compute_core: list[str] = []

    def _nested(self, op: Operation) -> str:
        return "TPU computations cannot be nested"

    def _mark(self, op: Operation) -> None:
        super()._mark(op)
        if self._outside is not None:
            op._set_attr(_OUTSIDE, AttrValue(s=self._outside.encode()))
        if self._num_replicas > 1 or self._outside is None:
            op.graph.prevent_feeding(op)
            op.graph.prevent_fetching(op)

    def Enter(self) -> None:
        if self._outer_devices is None:
            self._outer_devices = list(get_default_graph()._device_stack)
        super().Enter()

    def GetControlPivot(self) -> Operation:
        return self._pivot

    def HostComputeCore(self) -> list[str]:
        """Return the cores of the outside parts, as `part:core`."""
        return self._host_compute_core

    def leave(self) -> None:
        """Begins a part that the host computes.

        Raises:
          NotImplementedError: inside of another one.
        """
        if self._outside is not None:
            raise NotImplementedError("Cannot nest outside_compilation clusters")
        self._outside = str(self._outsides)
        self._outsides += 1
        graph = get_default_graph()
        spec = DeviceSpecV2.from_string(current())
        if spec.device_type == "TPU_REPLICATED_CORE" and spec.device_index is not None:
            self._host_compute_core.append(f"{self._outside}:{spec.device_index}")
        self._inner_devices = graph._device_stack
        graph._device_stack = self._outer_devices

    def come_back(self) -> None:
        """End that part."""
        self._outside = None
        get_default_graph()._device_stack = self._inner_devices


@export("tpu.outside_compilation", "contrib.tpu.outside_compilation")
def outside_compilation(computation: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function whose operations the host is to run, not the device.

    Args:
      computation: the function.
      *args, **kwargs: its arguments.

    Returns:
      Its result.

    Raises:
      NotImplementedError: if such parts are nested, or contexts differ at start and end.
    """
    graph = get_default_graph()
    initial = graph._get_control_flow_context()
    contexts = _replicate_contexts(initial)
    for context in contexts:
        context.leave()
    result = computation(*args, **kwargs)
    if graph._get_control_flow_context() is not initial:
        raise NotImplementedError(
            "Control-flow context cannot be different at start and end of an outside_compilation "
            "scope"
        )
    for context in contexts:
        context.come_back()
    return result


def _replicate_contexts(context: Any) -> list[TPUReplicateContext]:
    found = []
    while context is not None:
        if isinstance(context, TPUReplicateContext):
            found.append(context)
        context = context.outer_context
    return found
