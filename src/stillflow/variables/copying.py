"""Copies of resource variables where operations run when they are called, pickled ones too."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from stillflow.graph.graph import get_default_graph


class Copies:
    """Support for copies of a resource variable: another one with the same value."""

    def __deepcopy__(self: Any, memo: Any) -> Any:
        if not (self._handle.holds_value and get_default_graph().runs_at_once):
            raise NotImplementedError(
                "__deepcopy__() is only available when eager execution is enabled."
            )
        other = _kind()(
            initial_value=self.read_value(),
            name=self._shared_name + "_copy",
            synchronization=self.synchronization,
            aggregation=self.aggregation,
            **_properties(self),
        )
        memo[id(self)] = other
        return other

    def __reduce__(self: Any) -> tuple[Any, ...]:
        """Pickles the value, name and type; a graph's variables have no value to pickle."""
        make = functools.partial(  # type: ignore[misc]
            _kind(), initial_value=self.numpy(), name=self._shared_name, **_properties(self)
        )
        return make, ()


def _kind() -> type[Any]:
    return importlib.import_module("stillflow.variables.resource_variable").ResourceVariable


def _properties(variable: Any) -> dict[str, Any]:
    return {
        "trainable": variable._trainable,
        "constraint": variable._constraint,
        "dtype": variable._dtype,
    }
