"""The scope that the body of a converted function runs in."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from stillflow import nest
from stillflow.autograph.options import ConversionOptions, Feature
from stillflow.graph.api import name_scope
from stillflow.graph.autograph_status import ControlStatusCtx, Status
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_like import is_tensor
from stillflow.ops.control import identity
from stillflow.ops.functional.control_order import order_effects


class OrderedEffects:
    """A context in which operations with effects run in their order, and before what is returned.

    Where a whole graph is a function's it does so by itself.
    """

    def __enter__(self) -> OrderedEffects:
        self._graph = get_default_graph()
        self._orders = not (self._graph.runs_at_once or getattr(self._graph, "orders_effects", 0))
        self._start = 0 if self._graph.runs_at_once else len(self._graph._operations)
        self._returned: list[Tensor] = []
        return self

    def __exit__(self, kind: Any, *details: Any) -> None:
        if self._orders and kind is None:
            order_effects(self._graph, self._returned, self._start)

    def mark_as_return(self, value: Any) -> Any:
        """What is returned, to be had when the effects have happened."""

        def mark(leaf: Any) -> Any:
            if not is_tensor(leaf):
                return leaf
            self._returned.append(identity(leaf))
            return self._returned[-1]

        return nest.map_structure(mark, value) if self._orders else value


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
        if self.options.uses(Feature.NAME_SCOPES):
            private = self.function_name.startswith("_")  # no name of a node begins so
            name = f"fn{self.function_name}" if private else self.function_name
            self._contexts.enter_context(name_scope(name))
        if self.options.uses(Feature.AUTO_CONTROL_DEPS):
            self._effects = self._contexts.enter_context(OrderedEffects())
        return self

    def __exit__(self, *details: Any) -> None:
        self._contexts.__exit__(*details)

    def mark_return_value(self, value: Any) -> Any:
        """What the function returns, to be had when its effects have happened."""
        return value if self._effects is None else self._effects.mark_as_return(value)


def with_function_scope(
    thunk: Callable[[FunctionScope], Any], scope_name: str, options: ConversionOptions
) -> Any:
    """The scope around the body of a lambda."""
    with FunctionScope("lambda_", scope_name, options) as scope:
        return thunk(scope)
