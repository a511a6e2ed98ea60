"""Functions that a SavedModel holds, to be called again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from stillflow import nest
from stillflow.functional.concrete import ConcreteFunction
from stillflow.graph import trust
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.functions import LibraryFunction, from_library, uid
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.graph.type_spec import TypeSpec
from stillflow.ops.functional.cards import symbolic
from stillflow.variables.resource_variable import is_resource_variable


class _Body:
    """Body of a concrete function, and its description in a SavedModel."""

    dense_gradients = True

    def __init__(self, body: FuncGraph) -> None:
        self._body = body
        self.seed = get_default_graph().seed  # that of the loading graph, as for traced functions
        self.captured_inputs: list[Tensor] = []
        self.variables: list[Any] = []
        self.structured_input_signature: Any = ((), {})
        self.structured_outputs: Any = None

    @property
    def arguments(self) -> list[Tensor]:
        """The placeholders of the callers' arguments."""
        inputs = self._body.inputs
        return inputs[: len(inputs) - len(self.captured_inputs)]

    @property
    def external_captures(self) -> list[Tensor]:
        """The tensors outside that every call passes."""
        return self.captured_inputs

    @property
    def watched_variables(self) -> list[Any]:
        """The variables that tapes watch when it is called."""
        return self.variables

    def __getattr__(self, name: str) -> list[Tensor | Operation] | tuple[Any, ...]:
        return getattr(self._body, name)


class RestoredConcreteFunction(ConcreteFunction):
    """A function of the library of a SavedModel.

    Args:
      function: The function.
      graph: The graph whose library has what it calls.
    """

    def __init__(self, function: LibraryFunction, graph: Graph) -> None:
        self.library_function = function
        self.graph: Any = _Body(function.instantiate(graph))
        self.argument_keywords: Sequence[str] | None = None
        self.positional = 0
        self._immediate = self._recorded = None

    @property
    def variables(self) -> list[Any]:
        """The variables that it uses."""
        return list(self.graph.variables)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Add a call of a signature."""
        if self.argument_keywords is None:
            return super().__call__(*args, **kwargs)
        names = sorted(self.argument_keywords)
        if len(args) > self.positional:
            raise TypeError(
                f"Expected at most {self.positional} positional arguments (and the rest keywords, "
                f"of {names}), got {args}. When calling a concrete function, positional arguments "
                "may not be bound to Tensors within nested structures."
            )
        given = dict(zip(self.argument_keywords, args, strict=False)) | kwargs
        missing = [name for name in names if name not in given]
        if missing or len(given) > len(names):
            raise TypeError(
                f"Expected argument names {names} but got values for {sorted(given)}."
                + (f" Missing: {missing}." if missing else "")
            )
        return self.call_flat([given[name] for name in self.argument_keywords])

    def add_call(
        self, graph: Graph, inputs: Sequence[Tensor], config: bytes | None = None
    ) -> Operation:
        """Add the operation; its gradient is that of the body."""
        operation = super().add_call(graph, inputs, config)
        del operation.attrs["_gradient_op_type"]
        specs = [
            spec
            for spec in nest.flatten(self.structured_outputs, expand_composites=True)
            if isinstance(spec, TensorSpec)
        ]
        for spec, tensor in zip(specs, operation._outputs, strict=False):
            tensor.set_shape(spec.shape)
        return operation

    _gradient_name = ""

    def _gradient(self, op: Operation, *grads: Any) -> list[Any]:
        return symbolic(op, self.library_function.name, grads)


class RestoredFunction:
    """A function that was traced for several kinds of arguments.

    Args:
      spec: The names and defaults of its arguments, a `FullArgSpec`.
      input_signature: What it takes, if that is fixed.
      functions: What it was traced for.
    """

    def __init__(
        self, spec: Any, input_signature: Any, functions: Sequence[RestoredConcreteFunction]
    ) -> None:
        self.function_spec = spec
        self.input_signature = input_signature
        self.concrete_functions = list(functions)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Add a call of the function that takes such arguments, or raise ValueError.

        TypeError for more arguments than its signature has.
        """
        inputs = self._canonical(args, kwargs)
        for converted in (False, True):
            for function in self.concrete_functions:
                if _takes(function, inputs, converted):
                    result = _call(function, inputs)
                    return None if isinstance(result, Operation) else result
        options = [
            f"Option {number}:\n  {_described(function.structured_input_signature[0])}\n"
            f"  Keyword arguments: {function.structured_input_signature[1]}"
            for number, function in enumerate(self.concrete_functions, 1)
        ]
        raise ValueError(
            "Could not find matching function to call loaded from the SavedModel. Got:\n"
            f"  {_described(inputs[0])}\n  Keyword arguments: {inputs[1]}\n\nExpected these "
            f"arguments to match one of the following {len(options)} option(s):\n\n"
            + "\n\n".join(options)
        )

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> RestoredConcreteFunction:
        """Return the traced function for these arguments; a `TensorSpec` may stand for a tensor.

        Raises:
          ValueError: If it was not traced for such.
        """
        if self.input_signature is not None and not args and not kwargs:
            return self.concrete_functions[0]
        inputs = self._canonical(args, kwargs)
        for function in self.concrete_functions:
            if _takes(function, inputs, converted=False):
                return function
        raise ValueError("Could not find matching function loaded from the SavedModel.")

    def _canonical(self, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        spec = self.function_spec
        if self.input_signature is not None and len(args) > len(self.input_signature):
            raise TypeError(
                "When input_signature is provided, only pass arguments covered by it. Received "
                f"{len(args)} argument(s)."
            )
        defaults = spec.defaults or ()
        by_default = dict(zip(spec.args[len(spec.args) - len(defaults) :], defaults, strict=True))
        positional, named = list(args), dict(spec.kwonlydefaults or {}) | dict(kwargs)
        for name in spec.args[len(args) :]:
            if name in named:
                positional.append(named.pop(name))
            elif name in by_default:
                positional.append(by_default[name])
            else:
                break
        return tuple(positional), named


def _described(positional: Sequence[Any]) -> str:
    listed = "\n    * ".join(map(str, positional))
    return f"Positional arguments ({len(positional)} total):\n    * {listed}"


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or is_resource_variable(value)


def _takes(function: ConcreteFunction, inputs: Any, converted: bool) -> bool:
    """Return True if a function was traced for such arguments; `converted`: they are tensors."""
    expected = function.structured_input_signature
    try:
        flat = nest.flatten_up_to(expected, inputs)
        nest.assert_same_structure(inputs, nest.pack_sequence_as(expected, flat), check_types=False)
    except (TypeError, ValueError):
        return False
    return all(
        _fits(value, wanted, converted)
        for value, wanted in zip(flat, nest.flatten(expected), strict=True)
    )


def _fits(value: Any, wanted: Any, converted: bool) -> bool:
    if isinstance(wanted, TensorSpec):
        if converted and not isinstance(value, TensorSpec):
            try:
                with FuncGraph("conversion").as_default():
                    value = convert_to_tensor(value, dtype_hint=wanted.dtype)
            except (TypeError, ValueError):
                return False
        if not (_is_tensor(value) or isinstance(value, TensorSpec)):
            return False
        return value.dtype == wanted.dtype and wanted.shape.is_compatible_with(value.shape)
    if isinstance(wanted, TypeSpec):
        return bool(wanted.is_compatible_with(value))
    return not _is_tensor(value) and bool(value == wanted)


def _call(function: ConcreteFunction, inputs: Any) -> Any:
    expected = function.structured_input_signature
    flat = nest.flatten_up_to(expected, inputs, expand_composites=True)
    wanted = nest.flatten(expected, expand_composites=True)
    return function.call_flat([
        convert_to_tensor(value, dtype_hint=spec.dtype)
        for value, spec in zip(flat, wanted, strict=True)
        if isinstance(spec, TensorSpec)
    ])  # fmt: skip


# ---- The library


def load_library(library: Any) -> dict[str, RestoredConcreteFunction]:
    """Return a library's functions, with new names in the default graph, by the names they had."""
    graph = get_default_graph()
    copy = type(library)()
    copy.CopyFrom(library)
    new_names = {f.signature.name: _new_name(f.signature.name) for f in library.function}
    suffix = f"_load_{uid()}".encode()
    for definition in copy.function:
        definition.signature.name = new_names[definition.signature.name]
        for node in definition.node_def:
            _rename(node, new_names, suffix)
    for gradient in copy.gradient:
        gradient.function_name = new_names[gradient.function_name]
        gradient.gradient_func = new_names[gradient.gradient_func]
    functions = {function.name: function for function in from_library(copy)}
    for function in functions.values():
        function.trust = trust.current()
        for node in function.definition.node_def:
            called = trust.called_by(node)
            function.used.update((name, functions[name]) for name in called if name in functions)
    for function in functions.values():
        function.add_to_graph(graph)
    return {old: RestoredConcreteFunction(functions[new], graph) for old, new in new_names.items()}


def _new_name(name: str) -> str:
    inner = re.fullmatch(r"__inference_(.*)_\d+", name)
    return f"__inference_{inner.group(1) if inner else name}_{uid()}"


def _rename(node: Any, new_names: dict[str, str], suffix: bytes) -> None:
    """Make a node call functions by their new names, and share state within this model only."""
    node.op = new_names.get(node.op, node.op)
    for named in trust.functions_in(node):
        named.name = new_names.get(named.name, named.name)
    node.attr.pop("_gradient_op_type", None)
    if "shared_name" in node.attr:
        shared = node.attr["shared_name"]
        shared.s = (shared.s or node.name.encode()) + suffix
