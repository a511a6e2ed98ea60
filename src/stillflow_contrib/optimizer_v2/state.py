"""State of an optimizer in a graph: hyperparameters, slots and other variables."""

from __future__ import annotations

import copy
from typing import Any

from stillflow.graph.api import init_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.ops.math.cast import cast
from stillflow.train.slots import Slots, current_graph
from stillflow.variables.base import Variable


def _resolved(value: Any, name: str) -> Tensor:
    return convert_to_tensor(value() if callable(value) else value, name=name)


class OptimizerState(Slots):
    """Hyperparameters, slots and other variables of an optimizer in one graph.

    Args:
      optimizer: whose they are.
      hyper: (whether it may change, value) of hyperparameters by name.
    """

    def __init__(self, optimizer: Any, hyper: dict[str, tuple[bool, Any]]) -> None:
        super().__init__()
        self._op_name = optimizer._name
        # Checkpoints that were read before these variables were made find the optimizer.
        self._non_slot_dict = optimizer._non_slot_dict
        self._slot_restorations = optimizer._slot_restorations
        self._deferred = optimizer._deferred
        self._strategy: Any = None
        self._non_slot_devices: Any = None
        with init_scope():
            self._hyper: dict[str, dict[Any, Any]] = {
                name: {None: convert_to_tensor(value, name=name)}
                for name, (dynamic, value) in sorted(hyper.items())
                if not dynamic
            }

    def of_step(
        self, hyper: dict[str, tuple[bool, Any]], strategy: Any, non_slot_devices: Any
    ) -> OptimizerState:
        """Return the same with the values that changing hyperparameters have now."""
        now = {name: value for name, (changes, value) in hyper.items() if changes}
        found = copy.copy(self)
        found._strategy, found._non_slot_devices = strategy, non_slot_devices
        resolved = {name: {None: _resolved(now[name], name)} for name in sorted(now)}
        found._hyper = {**resolved, **self._hyper}
        return found

    def create_slot(
        self, var: Any, val: Any, slot_name: str, optional_op_name: str | None = None
    ) -> Any:
        """Return the slot of a variable; create it with the initial value `val` if necessary."""
        return self._get_or_make_slot(var, val, slot_name, optional_op_name or self._op_name)

    def create_slot_with_initializer(
        self,
        var: Any,
        initializer: Any,
        shape: Any,
        dtype: Any,
        slot_name: str,
        optional_op_name: str | None = None,
    ) -> Any:
        """Return the slot of a variable, made if need be with an initializer."""
        op_name = optional_op_name or self._op_name
        return self._get_or_make_slot_with_initializer(
            var, initializer, shape, dtype, slot_name, op_name
        )

    def zeros_slot(self, var: Any, slot_name: str, optional_op_name: str | None = None) -> Any:
        """Return the slot of a variable, made if need be with zeros."""
        return self._zeros_slot(var, slot_name, optional_op_name or self._op_name)

    def create_non_slot(self, initial_value: Any, name: str, colocate_with: Any = None) -> Any:
        """Return a variable of the optimizer as a whole, made if need be.

        Args:
          initial_value: a tensor or a function.
          name: of the variable.
          colocate_with: where it is made; where all trained variables are by default.
        """
        key = (name, current_graph())
        if key not in self._non_slot_dict:
            where = self._non_slot_devices if colocate_with is None else colocate_with
            with self._strategy.extended.colocate_vars_with(where):
                made = Variable(initial_value, name=name, trainable=False)
            self._non_slot_dict[key] = made
            for restoration, node in self._deferred.pop(name, ()):
                restoration.bind(made, node)
        return self._non_slot_dict[key]

    def get_non_slot(self, name: str) -> Any:
        """Return a variable that `create_non_slot` has made, or None."""
        return self._non_slot_dict.get((name, current_graph()))

    def get_hyper(self, name: str, dtype: Any = None) -> Tensor:
        """Return a hyperparameter as a tensor, of a type or as it was given."""
        found = self._hyper[name]
        if dtype not in found:
            found[dtype] = cast(found[None], dtype)
        return found[dtype]
