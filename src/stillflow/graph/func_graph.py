"""Graphs that are the bodies of functions.

    body = trace(lambda x, y: x + y, [(dtypes.float32, None), (dtypes.float32, [2])], "add")
    body.inputs            # placeholders of the arguments, then those of captured tensors
    body.outputs           # tensors of the body, in the order of the flattened results
    body.structured_outputs  # the same, in the structure that the callable gave
    body.captured_inputs   # tensors outside that a caller passes after the arguments

`stillflow.graph.functions.define(body)` makes a function of a body, which a graph's library holds;
`stillflow.runtime.functions.callables.compile_function` makes of it a callable on run-time values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stillflow import nest
from stillflow.errors import InaccessibleTensorError
from stillflow.graph import tapes
from stillflow.graph.call_time_values import CallTimeValue
from stillflow.graph.card import Card, find
from stillflow.graph.constant_value import constant_value
from stillflow.graph.conversion import constant_from_array, convert_to_tensor
from stillflow.graph.dtypes import DType, as_dtype, resource, variant
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape

_PLACEHOLDERS = ("Placeholder", "PlaceholderV2")


_LARGEST_CONSTANT = 128  # elements of a captured value that a body holds as a constant


def _is_small_value(tensor: Tensor) -> bool:
    if not tensor.holds_value or tensor.dtype.base_dtype in (resource, variant):
        return False
    size = tensor.shape.num_elements()
    return size is not None and size <= _LARGEST_CONSTANT


class FuncGraph(Graph):
    """Body of a function. Tensors of other graphs that it uses become inputs of its own.

    Args:
      name: the name of the function.
      outer: the graph that calls it, by default the one that is the default now.
      capture_by_value: True if the producers of another graph's tensors are copied into the body.
      stateful_allowed: stateful operations that may be copied nevertheless.

    Attributes:
      inputs: placeholders, those of captured tensors last.
      outputs: what the function gives.
      structured_outputs: the same in the structure that the Python function gave.
      control_outputs: operations that run whenever the function does.
    """

    # Whether it is built as `Defun` builds functions, with Switch and Merge for branches.
    is_legacy = False
    # Whether its operations with effects run in the order in which they are added.
    orders_effects = False
    # Operations outside that calls have to wait for; only bodies that are traced note any.
    control_captures: Sequence[Any] = ()

    def __init__(
        self,
        name: str,
        outer: Graph | None = None,
        capture_by_value: bool = False,
        stateful_allowed: Sequence[Operation] = (),
    ) -> None:
        super().__init__()
        self.name = name
        self._building_function = True
        self._outer_graph = get_default_graph() if outer is None else outer
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.structured_outputs: Any = None
        self.control_outputs: list[Operation] = []
        self._captured: dict[Tensor, Tensor] = {}
        self._passed: dict[Tensor, Tensor] = {}  # captured tensor -> its placeholder
        self._sources: dict[Tensor, Tensor] = {}  # and back
        self._at_call: dict[Any, CallTimeValue] = {}  # inputs that each call computes
        self._by_value = capture_by_value
        self._stateful_allowed = frozenset(stateful_allowed)

    @property
    def outer_graph(self) -> Graph:
        """The graph that calls the function."""
        assert self._outer_graph is not None
        return self._outer_graph

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors outside that a call passes now, in the order of their placeholders."""
        found = list(self._passed)
        for value in self._at_call.values():
            found += value()
        return found

    @property
    def external_captures(self) -> list[Tensor]:
        """The tensors outside that every call passes."""
        return list(self._passed)

    @property
    def internal_captures(self) -> list[Tensor]:
        """The placeholders of the captures."""
        return list(self._passed.values())

    @property
    def captures(self) -> list[tuple[Tensor, Tensor]]:
        """Pairs of a tensor outside and its placeholder."""
        return list(self._passed.items())

    def reset_captures(self, captures: Iterable[tuple[Tensor, Tensor]]) -> None:
        """Replace the captures by other pairs of an outer tensor and its placeholder."""
        self._passed = dict(captures)
        self._captured = dict(self._passed)
        self._sources = {inside: outside for outside, inside in self._passed.items()}

    @property
    def deferred_external_captures(self) -> list[Callable[[], list[Tensor]]]:
        """Functions that give the values of inputs when the function is called."""
        return list(self._at_call.values())

    @property
    def deferred_internal_captures(self) -> list[Any]:
        """The stand-ins of values that are computed when the function is called."""
        return [value.inside for value in self._at_call.values()]

    def capture_call_time_value(
        self, closure: Callable[[], Any], spec: Any, key: Any = None
    ) -> Tensor | dict[str, Any]:
        """Return the stand-ins of values that are computed when the function is called.

        Args:
          closure: called without arguments at every call, outside of the function.
          spec: the structure of the `TypeSpec`s of its values.
          key: values captured by the same key are computed once, by the first closure.
        """
        key = object() if key is None else key
        if key not in self._at_call:
            with self.control_dependencies(None):
                value = CallTimeValue(
                    closure, spec, lambda each: self._placeholder(each.dtype, each.shape, each.name)
                )
            self.inputs += value.placeholders
            self._at_call[key] = value
        return self._at_call[key].inside

    def source_of(self, tensor: Tensor) -> Tensor:
        """Return the tensor outside that a placeholder stands for; any other tensor as it is."""
        return self._sources.get(tensor, tensor)

    @property
    def arguments(self) -> list[Tensor]:
        """The placeholders of the arguments, without those of captured tensors."""
        return self.inputs[: self._arguments_end]

    @property
    def _captures_end(self) -> int:
        """The position of the first input whose value is computed at calls."""
        at_call = self._at_call
        return len(self.inputs) - sum(len(each.placeholders) for each in at_call.values())

    @property
    def _arguments_end(self) -> int:
        return self._captures_end - len(self._passed)

    def capture_name(self, tensor: Tensor) -> str | None:
        """Return the name of a captured tensor's placeholder; None for the op's own name."""
        del tensor
        return None

    def add_argument(self, dtype: Any, dims: Any = None, name: str | None = None) -> Tensor:
        """Add a placeholder as the next argument.

        Args:
          dtype: its type; a reference type is taken as it is.
          dims: its static shape, unknown by default.
          name: its name.
        """
        placeholder = self._placeholder(as_dtype(dtype), TensorShape(dims), name)
        self.inputs.insert(self._arguments_end, placeholder)
        return placeholder

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """Return the stand-in of another graph's tensor in this graph.

        Raises:
          InaccessibleTensorError: if it is a tensor of a function that is built inside this one.
        """
        found = self._captured.get(tensor)
        if found is not None:
            return found
        self._check_accessible(tensor)
        if self._by_value:
            return self._copy(tensor)
        name = name or self.capture_name(tensor)
        with self.control_dependencies(None):
            if _is_small_value(tensor):
                inner = self._constant(tensor, name)
            else:
                inner = self._placeholder(tensor.dtype, tensor.shape, name)
        inner._handle_dims, inner._handle_dtype = tensor._handle_dims, tensor._handle_dtype
        self.inputs.insert(self._captures_end, inner)
        self._captured[tensor] = self._passed[tensor] = inner
        self._sources[inner] = tensor
        if tapes.active.tapes:
            tapes.record("captured_value", [inner], [tensor], lambda grad: [grad])
        return inner

    def _check_accessible(self, tensor: Tensor) -> None:
        inner = tensor.home
        while isinstance(inner, FuncGraph):
            if inner is self:
                raise InaccessibleTensorError(
                    f"The tensor '{tensor}' cannot be accessed here: it is defined in another "
                    "function or code block. Use return values, explicit Python locals or "
                    f"TensorFlow collections to access it. Defined in: {tensor.graph}; accessed "
                    f"from: {self}.\n"
                )
            inner = inner._outer_graph

    def __str__(self) -> str:
        return f"FuncGraph(name={self.name}, id={id(self)})"

    def captured(self, tensor: Tensor) -> Tensor | None:
        """Return the stand-in of another graph's tensor; None if it was not captured."""
        return self._captured.get(tensor)

    def add_op(
        self,
        card: Card,
        inputs: list[Tensor],
        attrs: dict[str, Any],
        output_types: list[DType],
        name: str,
        device: bool = True,
    ) -> Operation:
        """Add an operation; inputs from other graphs are captured."""
        inputs = [t if t.home is self else self.capture(t) for t in inputs]
        return super().add_op(card, inputs, attrs, output_types, name, device)

    def _placeholder(self, dtype: DType, shape: TensorShape, name: str | None) -> Tensor:
        card = find("Placeholder")
        assert card is not None
        stack, scope = self._enter_name_scope(name or "Placeholder")
        del stack
        attrs = {"dtype": dtype.base_dtype, "shape": shape}
        op = Graph.add_op(self, card, [], attrs, [dtype.base_dtype], scope[:-1])
        return op._outputs[0]

    def _constant(self, tensor: Tensor, name: str | None) -> Tensor:
        """Return the value of a captured tensor, so that it is known while the body is built."""
        stack, scope = self._enter_name_scope(name or "Const")
        del stack
        return constant_from_array(self, constant_value(tensor), tensor.dtype, scope)

    def _copy(self, tensor: Tensor) -> Tensor:
        """Return a copy of a tensor with all that it depends on, which must not be stateful."""
        if tensor.holds_value:
            with self.control_dependencies(None):
                return constant_from_array(self, constant_value(tensor), tensor.dtype, "Const")
        op = tensor.op
        for stateful, kind in ((True, "stateful node"), (False, "placeholder")):
            refused = op._is_stateful and op not in self._stateful_allowed
            if refused if stateful else op.type in _PLACEHOLDERS:
                raise ValueError(
                    f"Cannot capture a {kind} (name:{op.name}, type:{op.type}) by value."
                )
        inputs = [self._copy(t) for t in op._inputs]  # TensorFlow copies its copies again
        with self.control_dependencies(None):
            name = self.unique_name(op.name)
            types = [t.dtype for t in op._outputs]
            copied = Graph.add_op(self, op.card, inputs, dict(op.attrs), types, name)
        return copied._outputs[tensor.value_index]

    def _get_function(self, name: str | bytes) -> Any:
        found = super()._get_function(name)
        return self.outer_graph._get_function(name) if found is None else found


def trace(
    function: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    name: str,
    *,
    body: FuncGraph | None = None,
    structure: Callable[[list[Tensor]], tuple[Any, ...]] | None = None,
) -> FuncGraph:
    """Call a Python function on placeholders and return the graph that it built.

    `function` gives tensors, or what becomes tensors, in any structure; `arguments` are (dtype,
    shape) or (dtype, shape, name). `body` is made by default; `structure` makes the call's
    positional arguments of the placeholders. TypeError or ValueError if a result cannot become a
    tensor.
    """
    graph = FuncGraph(name) if body is None else body
    with graph.as_default():
        placeholders = [graph.add_argument(*argument) for argument in arguments]
        given = tuple(placeholders) if structure is None else structure(placeholders)
        set_outputs(graph, function(*given))
    return graph


def set_outputs(graph: FuncGraph, results: Any) -> None:
    """Make `results` the outputs of the function, converted to tensors of the body."""

    def convert(value: Any) -> Tensor:
        tensor = convert_to_tensor(value)
        return tensor if tensor.home is graph else graph.capture(tensor)

    if results is None:
        graph.structured_outputs, graph.outputs = None, []
        return
    graph.structured_outputs = nest.map_structure(convert, results, expand_composites=True)
    graph.outputs = nest.flatten(graph.structured_outputs, expand_composites=True)
