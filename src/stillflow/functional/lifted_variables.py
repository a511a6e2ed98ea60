"""Variables that a function makes while it is traced for a graph that runs later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.functional.lifting import lift
from stillflow.graph.api import init_scope, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.ops.variables import resource as ops
from stillflow.variables.resource_variable import UninitializedVariable


class LiftedVariables:
    """Variables of one trace; the body computes their initial values.

    Args:
      in_graph: whether they get initializers in the graph outside at once.

    Attributes:
      made: pairs of a variable and the tensor of the body that is its first value.
    """

    def __init__(self, in_graph: bool) -> None:
        self._in_graph = in_graph
        self.made: list[tuple[UninitializedVariable, Tensor]] = []

    def creator(self, next_creator: Callable[..., Any], **options: Any) -> Any:
        """Make a variable outside of the body, without a value."""
        body: Any = get_default_graph()
        given = options.pop("initial_value", None)
        if given is None or not body.building_function:
            return next_creator(initial_value=given, **options)
        with name_scope(options.get("name"), "Variable") as scope:
            with name_scope("Initializer"), body.device(None):
                made = given() if callable(given) else given
                value = convert_to_tensor(made, name="initial_value", dtype=options["dtype"])
        options |= {"name": scope[:-1], "dtype": value.dtype.base_dtype}
        options["shape"] = value.shape if options.get("shape") is None else options["shape"]
        with init_scope(), name_scope(None):  # the name has the scopes of the body already
            variable = UninitializedVariable(**options)
        if self._in_graph:
            _initialize_outside(variable, value, body)
        self.made.append((variable, value))
        return variable

    def assign_all(self, body: FuncGraph) -> None:
        """Assign all initial values, computed again in the default graph."""
        graph = get_default_graph()
        values = lift([value for _, value in self.made], body, graph)
        for (variable, _), value in zip(self.made, values, strict=True):
            variable.assign(value, read_value=False)


def _initialize_outside(variable: Any, value: Tensor, body: FuncGraph) -> None:
    """Give a variable an initializer in the graph outside, which repeats the body's computation.

    UnliftableError if its first value depends on an argument of the function.
    """
    with init_scope():
        graph = get_default_graph()
        (variable._initial_value,) = lift([value], body, graph)
        with name_scope(variable._shared_name + "/"):
            with name_scope("IsInitialized"):
                variable._is_initialized_op = ops.var_is_initialized_op(variable.handle)
            with graph.colocate_with(variable.handle):
                variable._initializer_op = ops.assign_variable_op(
                    variable.handle, variable._initial_value, name="Assign"
                )
