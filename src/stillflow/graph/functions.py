"""Functions of a graph's library, which nodes call by name or as an attribute.

A `LibraryFunction` stands behind a name. It is made of a body (`define`) or of a `FunctionDef`
message (`from_library`); each can be had of the other. `instantiate` gives the body that runs.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any

from stillflow._hooks import Hook
from stillflow.graph import attrs as attr_values
from stillflow.graph.card import Card, find
from stillflow.graph.dtypes import as_dtype
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.function_defs import body_of, function_def
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.signature import _MISSING, Arg, Attr, Signature
from stillflow.graph.trust import Policy

# The kernel and the gradient of any call.
call_parts: Hook[tuple[Callable[..., Any], Callable[..., Any]]] = Hook("graph.functions.call_parts")

_numbers = itertools.count(1)


def uid() -> int:
    """Return a number that is in the name of no other function of the process."""
    return next(_numbers)


class FunctionCard(Card):
    """The op that a call of a function is."""

    def __init__(self, op_def: Any, function: LibraryFunction) -> None:
        super().__init__(op_def.name, effect="state", calls=True, inlined=True)
        self.function = function
        self.__dict__["signature"] = signature_of(op_def)
        self.kernel_part, self.gradient_part = call_parts.value


class LibraryFunction:
    """A function by name.

    Attributes:
      name: its name.
      definition: its `FunctionDef`.
      grad_func_name: the function that computes its gradient, if the library says which.
      python_grad_func: builds its gradient, if the program says so.
      trust: the policy of a function that was loaded from outside, wherever it is called; None
        for that of the graph that calls it.
    """

    trust: Policy | None = None

    def __init__(
        self,
        definition: Any,
        body: FuncGraph | None = None,
        grad_func_name: str | None = None,
        python_grad_func: Callable[..., Any] | None = None,
    ) -> None:
        self.definition = definition
        self.name: str = definition.signature.name
        self.grad_func_name = grad_func_name
        self.python_grad_func = python_grad_func
        self.used: dict[str, LibraryFunction] = {}  # functions that the body calls
        self._bodies: dict[Any, FuncGraph] = {} if body is None else {(): body}
        self._lock = threading.RLock()
        self.card = FunctionCard(definition.signature, self)

    def add_to_graph(self, graph: Graph) -> None:
        """Add it, and its callees, to the library of `graph`."""
        if self.name in graph._functions:
            return
        graph._add_function(self)
        for function in self.used.values():
            function.add_to_graph(graph)

    def instantiate(self, graph: Graph, attrs: Any = None) -> FuncGraph:
        """Return the body for these attribute values.

        Args:
          graph: where the functions are looked up that it calls.
          attrs: `AttrValue` messages by name.
        """
        names = [attr.name for attr in self.definition.signature.attr]
        values = {name: attrs[name] for name in names if attrs is not None and name in attrs}
        key = tuple((name, value.SerializeToString()) for name, value in values.items())
        with self._lock:
            if key not in self._bodies:
                body = body_of(self.definition, graph, values)
                body._trust = self.trust
                self._bodies[key] = body
            return self._bodies[key]

    def attribute(self) -> Any:
        """Return the `NameAttrList` that stands for it in attributes."""
        from stillflow.protos import NameAttrList

        return NameAttrList(name=self.name)


def define(
    body: FuncGraph,
    name: str | None = None,
    *,
    graph: Graph | None = None,
    output_names: Sequence[str] = (),
    description: str | None = None,
    append_hash: bool = False,
) -> LibraryFunction:
    """Make a function of a body, which is added to the library of `graph`, if that is given.

    Names are by default those of the body and its operations; a hash is of the body.
    InvalidArgumentError for results or inputs that functions cannot have.
    """
    definition = function_def(body, name or body.name, output_names, description, append_hash)
    function = LibraryFunction(definition, body)
    function.used = dict(body._functions)
    if graph is not None:
        function.add_to_graph(graph)
    return function


def from_library(library: Any) -> list[LibraryFunction]:
    """Return the functions of a `FunctionDefLibrary` message."""
    functions: dict[str, LibraryFunction] = {}
    called = {node.op for function in library.function for node in function.node_def}
    for definition in library.function:
        function = LibraryFunction(_copied(definition))
        if function.name in called:
            check_not_an_op(function.name)
        check_same(functions.setdefault(function.name, function), function)
    for gradient in library.gradient:
        for name in (gradient.function_name, gradient.gradient_func):
            if name not in functions:
                raise ValueError(f"FunctionDefLibrary missing '{name}' FunctionDef\n{library}")
        functions[gradient.function_name].grad_func_name = gradient.gradient_func
    if library.gradient and all(f.grad_func_name for f in functions.values()):
        raise ValueError(f"FunctionDefLibrary contains cyclic gradient functions!\n{library}")
    return list(functions.values())


def check_not_an_op(name: str) -> None:
    """Raise ValueError for a function that nodes would take for an op."""
    if find(name) is not None:
        raise ValueError(
            f"Cannot add function '{name}' because an op with the same name already exists."
        )


def check_same(known: LibraryFunction, function: LibraryFunction) -> None:
    """Raise ValueError for two different functions of one name."""
    if known is not function and _content(known) != _content(function):
        raise ValueError(
            f"Cannot add function '{function.name}' because a different function with the same "
            "name already exists."
        )


def _content(function: LibraryFunction) -> tuple[Any, ...]:
    """Return a definition in a form that does not depend on the order of its nodes."""
    message = function.definition
    nodes = sorted(node.SerializeToString(deterministic=True) for node in message.node_def)
    return (
        message.signature.SerializeToString(deterministic=True), nodes, dict(message.ret),
        dict(message.control_ret),
    )  # fmt: skip


def _copied(message: Any) -> Any:
    copy = type(message)()
    copy.CopyFrom(message)
    return copy


def find_function(graph: Graph, name: str | bytes) -> LibraryFunction | None:
    """Return the function of that name which nodes of `graph` see, or None."""
    found = graph._get_function(name)
    if found is None:
        return None
    return getattr(found, "library_function", found)


def call(
    function: LibraryFunction,
    graph: Graph,
    inputs: Sequence[Tensor],
    name: str | None = None,
    attrs: dict[str, Any] | None = None,
) -> Operation:
    """Add the node of type `function.name`; give the operation."""
    from stillflow.graph.build import output_types

    name = graph.unique_name(name or function.name)
    types = output_types(function.card, attrs or {})
    return graph.add_op(function.card, list(inputs), dict(attrs or {}), types, name)


# ---- signatures


def signature_of(op_def: Any) -> Signature:
    """Return an `OpDef` message as a signature."""
    flags = {
        "stateful": op_def.is_stateful, "commutative": op_def.is_commutative,
        "aggregate": op_def.is_aggregate, "uninitialized": op_def.allows_uninitialized_input,
    }  # fmt: skip
    return Signature(
        op_def.name,
        tuple(_arg(arg) for arg in op_def.input_arg),
        tuple(_arg(arg) for arg in op_def.output_arg),
        {attr.name: _attr(attr) for attr in op_def.attr},
        frozenset(name for name, there in flags.items() if there),
    )


def _arg(message: Any) -> Arg:
    return Arg(
        message.name,
        as_dtype(message.type).base_dtype if message.type else None,
        message.type_attr or None,
        message.number_attr or None,
        message.type_list_attr or None,
        message.is_ref,
    )


def _attr(message: Any) -> Attr:
    default: Any = _MISSING
    if message.HasField("default_value"):
        default = attr_values.from_proto(message.default_value, message.type)
    allowed = None
    if message.HasField("allowed_values"):
        allowed = tuple(attr_values.from_proto(message.allowed_values, None))
    minimum = message.minimum if message.has_minimum else None
    return Attr(message.name, message.type, allowed, minimum, default)


def card_for(graph: Graph, op_type: str) -> Card:
    """Return an op type's card, or that of a function of `graph` and around; else NotFoundError."""
    from stillflow.graph.card import unregistered

    function = find_function(graph, op_type)
    if function is not None:
        return function.card
    card = find(op_type)
    if card is None:
        raise unregistered(op_type)
    return card
