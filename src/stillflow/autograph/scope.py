"""The scope that the body of a converted function runs in."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from stillflow.autograph.effects import OrderedEffects
from stillflow.autograph.options import ConversionOptions, Feature
from stillflow.graph.api import name_scope
from stillflow.graph.autograph_status import ControlStatusCtx, Status
from stillflow.graph.operation import Tensor


class FunctionScope:
    """A context around the body of a converted function.

    Args:
      function_name: of the function.
      scope_name: what the code calls this object.
      options: how the function is converted.
    """

    def __init__(self, function_name: str, scope_name: str, options: ConversionOptions) -> None:
        self.function_name, self.name = function_name, scope_name
        self.options = options
        self.callopts = options.call_options()
        self._contexts: contextlib.ExitStack = contextlib.ExitStack()
        self._effects: Any = None

    def __enter__(self) -> FunctionScope:
        if self.options.user_requested:
            self._contexts.enter_context(ControlStatusCtx(Status.ENABLED, self.options))
        if self.options.uses(Feature.AUTO_CONTROL_DEPS):
            self._effects = self._contexts.enter_context(OrderedEffects())
        if self.options.uses(Feature.NAME_SCOPES):
            private = self.function_name.startswith("_")  # no name of a node begins so
            name = f"fn{self.function_name}" if private else self.function_name
            self._contexts.enter_context(name_scope(name))
        return self

    def __exit__(self, *details: Any) -> None:
        self._contexts.__exit__(*details)

    def mark_return_value(self, value: Any) -> Tensor:
        """Return the function's result, to be read after its effects."""
        return value if self._effects is None else self._effects.mark_as_return(value)


def with_function_scope(
    thunk: Callable[[FunctionScope], Any], scope_name: str, options: ConversionOptions
) -> Any:
    """Return the scope around the body of a lambda."""
    with FunctionScope("lambda_", scope_name, options) as scope:
        return thunk(scope)
