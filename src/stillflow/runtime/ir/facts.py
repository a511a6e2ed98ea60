"""Facts known before a plan runs: the shapes and values that the feed shapes determine.

One pass over the operations, in order, applies the cards' shape rules to concrete shapes and runs
the kernels of pure operations whose inputs are all known. In a training graph this settles most
of the nodes: Shape, BroadcastGradientArgs, Reshape targets, Range, Tile multiples.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from stillflow._hooks import Hook
from stillflow.graph.constant_value import Dims, partial_shape
from stillflow.graph.infer import as_dims
from stillflow.graph.node import Node
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.value_arrays import to_array
from stillflow.runtime.interrupts import Waits
from stillflow.runtime.ir.containers import Containers

if TYPE_CHECKING:
    from stillflow.runtime.functions.callables import CompiledFunction
    from stillflow.runtime.resources import Resources

# Functions of libraries: how they are compiled, and how their random streams begin again.
compile_function: Hook[Callable[..., Any]] = Hook("runtime.ir.facts.compile_function")
restart_functions: Hook[Callable[..., None]] = Hook("runtime.ir.facts.restart_functions")


class Facts:
    """Shapes (`dims`) and values of tensors under one set of feed shapes."""

    def __init__(self, resources: Resources, feed_dims: Mapping[Tensor, Dims]) -> None:
        self.resources = resources
        self._dims: dict[Tensor, Dims] = dict(feed_dims)
        self.fed = set(feed_dims)
        self.values: dict[Tensor, Any] = {}  # run-time values: torch tensors, string arrays
        self.handles: dict[Tensor, Any] = {}  # references and resources known before the run
        self._arrays: dict[Tensor, np.ndarray] = {}
        self.containers = Containers()
        self.begun: Collection[Operation] = ()  # operations that the plan waits for at its end
        self.engine: Any = None  # the request's assignment to an engine
        self.exporting = False  # whether kernels are to be written as source

    def dims(self, tensor: Tensor) -> Dims:
        found = self._dims.get(tensor, _UNSEEN)
        return tensor._dims if found is _UNSEEN else found

    def set_dims(self, op: Operation, shapes: Any) -> None:
        if not isinstance(shapes, list):
            shapes = [shapes]
        for tensor, dims in zip(op._outputs, shapes, strict=False):
            if tensor not in self.fed:
                self._dims[tensor] = as_dims(dims)

    def value(self, tensor: Tensor) -> np.ndarray | None:
        """Return the value of a tensor as an array, or None if it is known only at run time."""
        array = self._arrays.get(tensor)
        if array is None and tensor in self.values:
            array = self._arrays[tensor] = to_array(self.values[tensor])
        return array


_UNSEEN: Any = object()


OP_STATE = "op state"  # the kind of `own_state`'s objects


def own_states(graph: Any) -> str:
    """Return the prefix of the names of states that belong to a graph's operations.

    A part of a graph has those of the whole: its random streams go on wherever they are drawn from.
    """
    return f"{getattr(graph, 'states_of', id(graph))} "


def _state_name(op: Operation) -> str:
    return f"{own_states(op.graph)}{op.name}"


def op_state(resources: Any, op: Operation) -> Any:
    """Return the object that an operation has made by `own_state` in a session, or None."""
    return resources.find("", OP_STATE, _state_name(op))


class PlanNode(Node):
    """An operation while a plan is made: concrete shapes, folded values, the session's state."""

    __slots__ = ("facts", "place")

    planning = True

    def __init__(self, op: Operation, facts: Facts, place: Any = None) -> None:
        super().__init__(op)
        self.facts = facts
        self.place = place

    def dims(self, index: int) -> Dims:
        return self.facts.dims(self.op._inputs[index])

    def out_dims(self, index: int = 0) -> Dims:
        return self.facts.dims(self.op._outputs[index])

    def value(self, index: int) -> np.ndarray | None:
        return self.facts.value(self.op._inputs[index])

    def input_name(self, index: int) -> str:
        """Return the name of an input in TF's run-time messages."""
        tensor = self.op._inputs[index]
        if tensor not in self.facts.fed:
            return tensor._as_node_def_input()
        place = sorted(fed.name for fed in self.facts.fed).index(tensor.name)
        return f"_arg_{tensor.op.name}_{tensor.value_index}_{place}"

    def shape_value(self, index: int) -> Dims:
        return partial_shape(self.op._inputs[index], self.facts)

    @property
    def device(self) -> Any:
        """The torch device that outputs are made on."""
        return self.facts.resources.device_of(self.op) if self.place is None else self.place

    def resource(
        self, create: Any, kind: str = "", name: str | None = None, private: bool = False
    ) -> Any:
        """Return the object behind a stateful op, made by `create()` at first use.

        Sessions of a server share it by container and `shared_name`, as in TF. Without one they
        share it by the op's name; if it is `private`, they do not share it then.
        """
        attrs, resources = self.op.attrs, self.facts.resources
        container = attrs.get("container", b"").decode()
        shared = name or attrs.get("shared_name", b"").decode()
        if private and not shared:
            return resources.own(container, kind, self.op.name, create)
        return resources.at(self.op._device).get(container, kind, shared or self.op.name, create)

    def state(self, index: int) -> Any:
        """Return the session state behind an input that is a handle.

        None where only the run knows it.
        """
        return self.facts.handles.get(self.op._inputs[index])

    def variable_dims(self, index: int) -> Dims:
        """Dimensions of the variable behind an input; unknown if they were changed."""
        state = self.state(index)
        if state is None and self.op._inputs[index].dtype.name == "resource":
            # Only the run knows the variable; it may be any of those that have left their shapes.
            left = self.facts.resources.declared_shapes.left > 0
        else:
            left = getattr(state, "reshaped", False)
        return None if left else super().variable_dims(index)

    def reshape_variable(self, index: int) -> None:
        """Has plans no longer rely on the declared shape of the variable behind an input."""
        tensor = self.op._inputs[index]
        if tensor.dtype._is_ref_dtype:
            self.facts._dims[tensor] = None
        state = self.state(index)
        if state is not None and not state.reshaped:
            state.reshaped = True
            self.facts.resources.declared_shapes.leave()

    def waits(self) -> Any:
        """Return a kernel's wait, which the session's end and limits interrupt; None in exports."""
        return None if self.exporting else Waits(self.facts.resources.interrupt)

    @property
    def only_begins(self) -> bool:
        """True if the plan waits for this op at its end, and not in place."""
        return self.op in self.facts.begun

    @property
    def exporting(self) -> bool:  # type: ignore[override]
        return self.facts.exporting

    @property
    def draws_again(self) -> bool:  # type: ignore[override]
        return bool(self.facts.resources.draws_again)

    def own_state(self, create: Any) -> Any:
        """State that belongs to this op alone within the session (a random stream, say)."""
        return self.facts.resources.own("", OP_STATE, _state_name(self.op), create)

    def function(self, named: Any, on_host: bool = False) -> CompiledFunction:
        """Return a callable of a function, given by a `NameAttrList` or name, on run-time values.

        Args:
          named: the function.
          on_host: whether its operations run on the host if this one does.
        """
        from stillflow.runtime.ir.inputs import is_pruned

        pruned = is_pruned(self.op)
        on_host = on_host and str(self.device) == "cpu"
        return compile_function.value(self.facts.resources, self.op.graph, named, pruned, on_host)

    def restart_functions(self, bodies: Any) -> None:
        """Restart the random streams of functions, given by their bodies."""
        restart_functions.value(self.facts.resources, bodies)
