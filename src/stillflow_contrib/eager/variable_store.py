"""`tf.contrib.eager.EagerVariableStore`: keeps the variables of layers that are functions."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.variables.resource_variable import ResourceVariable
from stillflow.variables.store import VariableStore
from stillflow.variables.variable_scope import with_variable_store


@export("contrib.eager.EagerVariableStore")
class EagerVariableStore:
    """Store of `tf.get_variable`'s variables in eager execution.

    Args:
      store: where variables are kept; a new one by default.

    Raises:
      ValueError: if `store` does not keep such variables.
    """

    def __init__(self, store: VariableStore | None = None) -> None:
        if store is not None and not store.keeps_eager:
            raise ValueError(
                "Cannot construct EagerVariableStore from a VariableStore object that does not "
                "hold eager variables."
            )
        self._store = VariableStore(keeps_eager=True) if store is None else store

    def as_default(self) -> Any:
        """Return a context in which variables are found and kept here."""
        return with_variable_store(self._store)

    def variables(self) -> list[Any]:
        """All variables, by name."""
        return sorted(self._store._vars.values(), key=lambda variable: str(variable.name))

    def trainable_variables(self) -> list[Any]:
        """Return the trainable ones, by name."""
        return [variable for variable in self.variables() if variable.trainable]

    def non_trainable_variables(self) -> list[Any]:
        """Return the others, by name."""
        return [variable for variable in self.variables() if not variable.trainable]

    def copy(self) -> EagerVariableStore:
        """Return a store with copies of the variables."""
        other = EagerVariableStore()
        for key, variable in self._store._vars.items():
            other._store._vars[key] = ResourceVariable(
                variable.read_value(),
                name=variable.name.partition(":")[0],
                trainable=variable.trainable,
            )
        return other
