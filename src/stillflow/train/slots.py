"""The part of an optimizer that makes and finds its own variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from stillflow.distribute.context import get_strategy
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.tensor_shape import TensorShape
from stillflow.train import slot_creator
from stillflow.variables.base import Variable
from stillflow.variables.resource_variable import is_resource_variable


def graph_of(var: Any) -> Graph | None:
    """Return the graph of a variable.

    None for one that was made where operations run when called.
    """
    var = slot_creator.first_part(var)
    if is_resource_variable(var) and var.handle.holds_value:
        return None
    graph: Graph = var.op.graph
    return graph


def current_graph() -> Graph | None:
    """Return the default graph; None where operations run when they are called."""
    graph = get_default_graph()
    return None if graph.runs_at_once else graph


def var_key(var: Any) -> Any:
    """Return the key of a variable, also for other objects that wrap it."""
    var = slot_creator.first_part(var)
    if graph_of(var) is None:
        return var._unique_id
    return (var.op.graph, var.op.name)


class Slots:
    """Slot variables (one per trained variable and name) and others, such as powers of a decay."""

    def __init__(self) -> None:
        self._slots: dict[str, dict[Any, Any]] = {}
        self._non_slot_dict: dict[tuple[str, Graph | None], Any] = {}
        # Checkpoints that were read before the variables were made that get their values.
        self._slot_restorations: list[Any] = []
        self._deferred: dict[str, list[tuple[Any, int]]] = {}

    def get_slot(self, var: Any, name: str) -> Any:
        """Return the slot variable `name` of `var`; None if there is none.

        Args:
          var: a variable that was passed to `minimize()` or `apply_gradients()`.
          name: one of `get_slot_names()`.
        """
        named_slots = self._slots.get(name)
        if not named_slots:
            return None
        is_whole = getattr(var, "is_distributed", False)
        if is_whole or not hasattr(var, "_distributed_container"):
            return named_slots.get(var_key(var))
        # The part of the slot that belongs to this part of the variable.
        slot = named_slots.get(var_key(var._distributed_container()))
        return None if slot is None else slot.get(device=var.device)

    def get_slot_names(self) -> list[str]:
        """Return the names of all slots, sorted."""
        return sorted(self._slots)

    def variables(self) -> list[Any]:
        """Return the optimizer's own variables in the default graph, sorted by name."""
        own = [*self._non_slot_variables()]
        for named_slots in self._slots.values():
            own.extend(named_slots.values())
        graph = current_graph()
        return sorted((v for v in own if graph_of(v) is graph), key=lambda v: v.name)

    def _create_non_slot_variable(self, initial_value: Any, name: str, colocate_with: Any) -> Any:
        """Make a variable that belongs to the optimizer as a whole, once in each graph."""
        key = (name, graph_of(colocate_with))
        variable = self._non_slot_dict.get(key)
        if variable is None:
            with get_strategy().extended.colocate_vars_with(colocate_with):
                variable = Variable(
                    initial_value,
                    name=name,
                    trainable=False,
                    use_resource=is_resource_variable(colocate_with),
                )
            self._non_slot_dict[key] = variable
            for restoration, node in self._deferred.pop(name, ()):
                restoration.bind(variable, node)
        return variable

    def _get_non_slot_variable(self, name: str, graph: Graph | None = None) -> Any:
        eagerly = graph is not None and graph.runs_at_once
        variable = self._non_slot_dict.get((name, None if eagerly else graph))
        if getattr(variable, "is_distributed", False):
            return variable.get()  # type: ignore[union-attr]  # the part that is being updated
        return variable

    def _non_slot_variables(self) -> Iterable[Any]:
        return self._non_slot_dict.values()

    def _slot_dict(self, slot_name: str) -> dict[Any, Any]:
        return self._slots.setdefault(slot_name, {})

    def _find_or_make(self, var: Any, slot_name: str, make: Callable[..., Any], *args: Any) -> Any:
        named_slots, key = self._slot_dict(slot_name), var_key(var)
        if key not in named_slots:
            named_slots[key] = make(var, *args)
            for restoration in self._slot_restorations:
                restoration.bind_slots()
        return named_slots[key]

    def _get_or_make_slot(self, var: Any, val: Any, slot_name: str, op_name: str) -> Any:
        """Return the slot of `var`, made if need be with the tensor `val` as its initial value."""
        return self._find_or_make(var, slot_name, slot_creator.create_slot, val, op_name)

    def _get_or_make_slot_with_initializer(
        self,
        var: Any,
        initializer: Any,
        shape: TensorShape,
        dtype: Any,
        slot_name: str,
        op_name: str,
    ) -> Any:
        """Return the slot of `var`, made if need be with an initializer."""
        make = slot_creator.create_slot_with_initializer
        return self._find_or_make(var, slot_name, make, initializer, shape, dtype, op_name)

    def make_restored_slot(self, var: Any, slot_name: str, value: Any) -> Any:
        """Return the slot of `var` that a checkpoint has, before the optimizer itself needs it."""
        return self._get_or_make_slot(var, value, slot_name, self._name)  # type: ignore[attr-defined]

    def _zeros_slot(self, var: Any, slot_name: str, op_name: str) -> Any:
        """Return the slot of `var`, made if need be with zeros."""
        return self._find_or_make(var, slot_name, slot_creator.create_zeros_slot, op_name)
