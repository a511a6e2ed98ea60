"""Results of `wrap_function`: functions that can be pruned to a part of their body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow import nest
from stillflow.functional.concrete import ConcreteFunction
from stillflow.functional.lifting import UnliftableError
from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.graph.importer import import_graph_def
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.functional.traced_graph import TracedGraph
from stillflow.protos import GraphDef, TensorInfo
from stillflow.saved_model.signatures import get_tensor_from_tensor_info


class WrappedFunction(ConcreteFunction):
    """A function of a Python function that builds a TF 1 graph.

    Args:
      graph: its body.
      variable_holder: the variables that the body has made.
    """

    def __init__(self, graph: TracedGraph, variable_holder: Any = None) -> None:
        super().__init__(graph)
        self._variable_holder = variable_holder

    def _check_given(self, values: Sequence[Any]) -> None:
        """Accept numbers and arrays too, unlike other functions of the library."""

    def prune(
        self, feeds: Any, fetches: Any, name: str | None = None, input_signature: Any = None
    ) -> WrappedFunction:
        """Return a function from tensors of the body to others of it.

        Args:
          feeds: the tensors that are its arguments, in any structure; names will do.
          fetches: a structure of tensors and operations of the body, their names, or `TensorInfo`s,
            which may know more of shapes.
          name: of the function, "pruned" by default.
          input_signature: what its `structured_input_signature` shall be.

        Raises:
          ValueError: for feeds that are no tensors, and for what is not of this body.
          UnliftableError: if the fetches need arguments that are not fed.
        """
        graph = pruned(self.graph, feeds, fetches, name, input_signature)
        return WrappedFunction(graph, self._variable_holder)


def pruned(
    body: TracedGraph, feeds: Any, fetches: Any, name: str | None = None, signature: Any = None
) -> TracedGraph:
    """Return the part of a body from some tensors to others; see `WrappedFunction.prune`."""
    inner = {placeholder for _, placeholder in body.captures}
    given = [_feed(body, each) for each in nest.flatten(feeds, expand_composites=True)]
    given = [each for each in given if each not in inner]
    wanted = nest.map_structure(lambda each: _fetch(body, each), fetches)
    flat = nest.flatten(wanted, expand_composites=True)
    for element in [*given, *flat]:
        _check_home(body, element)
    with body.outer_graph.as_default():
        graph = TracedGraph(name or "pruned")
    made = _filled(graph, body, given, flat)
    _set_shapes(nest.flatten(fetches), nest.flatten(wanted), dict(zip(flat, made, strict=True)))
    results = [None if isinstance(element, Operation) else element for element in made]
    graph.outputs = [each for each in results if each is not None]
    graph.control_outputs = [each for each in made if isinstance(each, Operation)]
    graph.structured_outputs = nest.pack_sequence_as(wanted, results, expand_composites=True)
    graph.structured_input_signature = signature
    graph.watched_variables = list(body.watched_variables)
    return graph


def _filled(
    graph: TracedGraph, body: TracedGraph, given: list[Tensor], fetches: list[Any]
) -> list[Tensor | Operation]:
    """Copy the producers of fetches of a body; return the copied fetches."""
    inner = {placeholder for _, placeholder in body.captures}
    part = _between(fetches, {*given, *inner})
    taken = {op.name for op in part}
    with graph.as_default():
        inputs = {each: _argument(graph, each, taken) for each in given}
        captured = {placeholder: graph.capture(outer) for outer, placeholder in body.captures}
        made = _copied(part, body, {**inputs, **captured}, fetches)
    for old, new in captured.items():  # only now: their names are in the scopes of operations
        _rename(new.op, old.op.name)
    return made


def _rename(op: Operation, name: str) -> None:
    names = op.graph._by_name
    if name not in names:
        names[name] = names.pop(op.name)
        op.name = name


def _set_shapes(fetches: list[Any], wanted: list[Any], copies: dict[Any, Any]) -> None:
    """Add the shapes of `TensorInfo`s."""
    for fetch, element in zip(fetches, wanted, strict=True):
        if isinstance(fetch, TensorInfo) and isinstance(element, Tensor):
            copies[element].set_shape(TensorShape(fetch.tensor_shape))


def _feed(body: TracedGraph, element: Any) -> Tensor:
    found = body.as_graph_element(element)
    if not isinstance(found, Tensor):
        raise ValueError("Feeds must be tensors.")
    return found


def _fetch(body: TracedGraph, element: Any) -> Any:
    """Return the operation or tensor of a body that is meant."""
    if isinstance(element, TensorInfo):
        if element.WhichOneof("encoding") == "name":
            return body.as_graph_element(element.name)
        return get_tensor_from_tensor_info(element, body)
    if isinstance(element, (Operation, Tensor, CompositeTensor)):
        return element
    return body.as_graph_element(element)


def _check_home(body: TracedGraph, element: Any) -> None:
    home = element.graph
    if home is not body:
        raise ValueError(
            f"Can only prune function whose feeds and fetches are from this graph ({body}). Input "
            f"{element} is from graph {home}"
        )


def _between(fetches: Sequence[Any], sources: set[Tensor]) -> list[Operation]:
    """Return the operations that fetches need, without those that only sources need.

    In the body's order.
    """
    found: set[Operation] = set()
    waiting = [each if isinstance(each, Operation) else each.op for each in fetches
               if each not in sources]  # fmt: skip
    while waiting:
        op = waiting.pop()
        if op in found:
            continue
        found.add(op)
        if op.type == "Placeholder":
            raise UnliftableError(
                f"Unable to lift {fetches} because they depend transitively on placeholder {op!r}"
            )
        waiting += [each.op for each in op.inputs if each not in sources]
        waiting += op.control_inputs
    return [op for op in (fetches[0].graph.get_operations() if fetches else ()) if op in found]


def _argument(graph: TracedGraph, tensor: Tensor, taken: set[str]) -> Tensor:
    """Return an argument that stands for a tensor, with the name of its operation if it is free."""
    name = tensor.op.name
    label = f"{name}_fed" if name in taken else name
    made = graph.add_argument(tensor.dtype, tensor.shape, label)
    made.op.attrs["_user_specified_name"] = label.encode()
    return made


def _copied(
    part: Sequence[Operation], body: TracedGraph, inputs: dict[Tensor, Tensor], fetches: list[Any]
) -> list[Any]:
    """Copy operations into the default graph; return the copied fetches."""
    definition = GraphDef(node=[op.node_def for op in part])
    definition.versions.CopyFrom(body.graph_def_versions)
    definition.library.CopyFrom(body.as_graph_def().library)
    known = {each.name: value for each, value in inputs.items() if _is_used(each, part)}
    names = [each.name for each in fetches if each not in inputs]
    copies = iter(import_graph_def(definition, known, names, name="") or [])
    made = [inputs[each] if each in inputs else next(copies) for each in fetches]
    for old, new in zip(fetches, made, strict=True):
        if isinstance(new, Tensor):
            new.set_shape(old.shape)
    return made


def _is_used(tensor: Tensor, part: Sequence[Operation]) -> bool:
    return any(tensor in op.inputs for op in part)
