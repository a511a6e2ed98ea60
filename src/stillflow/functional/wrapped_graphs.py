"""Functions of Python functions that build TF 1 graphs, and graphs that several of them share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import nest
from stillflow.functional.placeholders import signature_of
from stillflow.functional.wrapped import WrappedFunction, pruned
from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.importer import import_graph_def
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.ops.functional.traced_graph import TracedGraph
from stillflow.ops.functional.tracing import trace_body
from stillflow.util.function_utils import get_func_name


class VariableHolder:
    """Holder of the variables that functions make, which are in their graphs' collections too.

    Args:
      fn: a function, which calls of the holder call.
      share_variables: whether a variable of a name that is there already is taken again.

    Attributes:
      variables: by name.
    """

    def __init__(self, fn: Callable[..., Any] | None = None, share_variables: bool = False) -> None:
        self._fn = fn
        self._share = share_variables
        self.variables: dict[str, Any] = {}

    def variable_creator_scope(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        """Make a variable, or take the one of that name."""
        collections = kwargs.pop("collections", None)
        with name_scope(kwargs.get("name"), "Variable") as scope:
            name = scope[:-1]
        variable = self.variables.get(name) if self._share else None
        if variable is None:
            variable = next_creator(**{**kwargs, "name": name})
            self.variables[name] = variable
        wanted = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if variable.trainable and GraphKeys.TRAINABLE_VARIABLES not in wanted:
            wanted.append(GraphKeys.TRAINABLE_VARIABLES)
        graph = get_default_graph()
        for key in wanted:
            there = graph.get_collection_ref(key)
            if all(variable is not other for other in there):
                there.append(variable)
        return variable

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; the holder keeps the variables that it makes."""
        assert self._fn is not None
        return self.call_with_variable_creator_scope(self._fn)(*args, **kwargs)

    def call_with_variable_creator_scope(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that makes its variables by this holder."""

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with get_default_graph()._variable_creator_scope(self.variable_creator_scope):
                return fn(*args, **kwargs)

        return wrapped


class WrappedGraph:
    """A graph in which several functions are built, so that they share variables by name.

    Args:
      variable_holder: keeps the variables; one of its own by default.

    Attributes:
      graph: the body that all are parts of.
    """

    def __init__(self, variable_holder: VariableHolder | None = None, **kwargs: Any) -> None:
        self._variable_holder = variable_holder or VariableHolder(share_variables=True)
        self.graph = TracedGraph(kwargs.pop("name", "wrapped_function_graph"), collections={})
        if kwargs:
            raise TypeError(f"WrappedGraph takes no argument {sorted(kwargs)[0]!r}")
        self._functions: dict[str, WrappedFunction] = {}

    @property
    def functions(self) -> dict[str, WrappedFunction]:
        """The functions that `wrap_function` made, by name."""
        return self._functions

    @property
    def variables(self) -> dict[str, Any]:
        """The variables by name."""
        return self._variable_holder.variables

    def wrap_function(self, fn: Any, signature: Any, name: str | None = None) -> WrappedFunction:
        """Build a Python function in the graph; give it as a function.

        Args:
          fn: the function, which may also give operations that calls are to run.
          signature: for every argument a `tf.TensorSpec`, or a structure of them.
          name: under which `functions` has it.
        """
        name = name or get_func_name(fn)
        given, results = _built(
            self.graph, self._variable_holder.call_with_variable_creator_scope(fn), signature
        )
        flat = nest.flatten(results, expand_composites=True)
        fetched = [each for each in flat if each is not None]
        body = pruned(self.graph, given, fetched, name, ((), {}))
        made = iter(body.structured_outputs)
        body.structured_outputs = nest.pack_sequence_as(
            results, [None if each is None else next(made) for each in flat], expand_composites=True
        )
        function = WrappedFunction(body, self._variable_holder)
        self._functions[name] = function
        return function


def _built(graph: TracedGraph, fn: Callable[..., Any], signature: Any) -> tuple[list[Tensor], Any]:
    """Call a function in a graph that others may stand in.

    Gives placeholders and results.
    """
    with graph.as_default():
        given = _given(graph, signature)
    outer_inputs = list(graph.arguments)

    def call(*args: Any) -> Any:
        results = fn(*args)
        flat = nest.flatten(results, expand_composites=True)
        operations.update((i, each) for i, each in enumerate(flat) if isinstance(each, Operation))
        plain = [None if i in operations else each for i, each in enumerate(flat)]
        return nest.pack_sequence_as(results, plain, expand_composites=True)

    operations: dict[int, Operation] = {}
    trace_body(graph, call, given, ordered=False)
    flat = nest.flatten(graph.structured_outputs, expand_composites=True)
    found = [operations.get(i, each) for i, each in enumerate(flat)]
    tensors = [each for each in nest.flatten(given, expand_composites=True)
               if isinstance(each, Tensor) and each in outer_inputs]  # fmt: skip
    return tensors, nest.pack_sequence_as(graph.structured_outputs, found, expand_composites=True)


def _given(graph: TracedGraph, signature: Any) -> list[Any]:
    """Return the arguments that a signature tells, with placeholders for tensors."""

    def one(each: Any) -> Any:
        if not isinstance(each, TensorSpec):
            return each
        return graph.add_argument(each.dtype, each.shape, each.name or "placeholder")

    flat = [one(each) for each in nest.flatten(signature, expand_composites=True)]
    return list(nest.pack_sequence_as(signature, flat, expand_composites=True))


@export("wrap_function")
def wrap_function(
    fn: Callable[..., Any], signature: Any, name: str | None = None
) -> WrappedFunction:
    """Make a function of a Python function that builds a TF 1 graph.

    Args:
      fn: the function.
      signature: for every argument a `tf.TensorSpec`, a structure of them, or what is handed to
        the function as it is.
      name: with which the name of the function ends.
    """
    holder = VariableHolder()
    graph = TracedGraph("wrapped_function" + (f"_{name}" if name else ""), collections={})
    with graph.as_default():
        given = _given(graph, signature)
    arguments = nest.flatten(given, expand_composites=True)
    specs = [each for each in arguments if isinstance(each, Tensor)]
    graph.structured_input_signature = (
        tuple(signature_of(each, each.op.name) for each in specs), {}
    )  # fmt: skip
    trace_body(graph, holder.call_with_variable_creator_scope(fn), given, ordered=False)
    return WrappedFunction(graph, holder)


def function_from_graph_def(graph_def: Any, inputs: Any, outputs: Any) -> WrappedFunction:
    """Return a function of a `GraphDef`, from structures of names of tensors and operations."""

    def import_all() -> None:
        import_graph_def(graph_def, name="")

    imported = wrap_function(import_all, [])
    return imported.prune(inputs, outputs)
