"""`Defun`: Python functions as functions of the graph's library, called by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.func_graph import FuncGraph, set_outputs
from stillflow.graph.functions import LibraryFunction, call, define
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.graph_keys import VARIABLE_STORE, GraphKeys
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.control_flow.identity_and_group import guarantee_const
from stillflow.util import tf_inspect
from stillflow.util.function_utils import get_func_name
from stillflow.variables.variable_scope import (
    default_variable_store,
    get_variable_scope,
    variable_scope,
)

_MANY = 1000000  # arguments of a function that takes any number

# How types are written in names of functions; those of unsigned bytes do not differ in TF either.
_SHORT = {
    "float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "b16",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "i8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "qint8": "qi8", "quint8": "qu8", "qint16": "qi16", "quint16": "qu16", "qint32": "qi32",
    "complex64": "c64", "complex128": "c128", "string": "s", "bool": "b",
}  # fmt: skip

# Options of variables that functions' own variables have.
_OPTIONS = (
    "shape", "dtype", "initializer", "reuse", "trainable", "collections", "use_resource",
)  # fmt: skip


class DefunGraph(FuncGraph):
    """The body of a function that `Defun` makes; variables are made outside of it."""

    is_legacy = True

    def __init__(
        self,
        name: str,
        capture_by_value: bool = False,
        stateful_allowed: Sequence[Operation] = (),
        resources_by_value: bool = True,
    ) -> None:
        super().__init__(name, capture_by_value=capture_by_value, stateful_allowed=stateful_allowed)
        self._scope = get_variable_scope()
        self._resources_by_value = resources_by_value
        self.extra_vars: list[Any] = []

    @property
    def extra_inputs(self) -> list[Tensor]:
        return self.captured_inputs

    @property
    def extra_args(self) -> list[Tensor]:
        return list(self._passed.values())

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """Return the capture of an outside tensor.

        Constants of `guarantee_const` stay constants.
        """
        new = tensor not in self._captured
        inner = super().capture(tensor, name)
        if new and not self._by_value and _is_guaranteed(tensor):
            with self.control_dependencies(None):
                return guarantee_const(inner)
        return inner

    def getvar(self, getter: Any, name: str, **options: Any) -> Any:
        """Return a variable of the graph outside."""
        del getter
        known = {option: options[option] for option in _OPTIONS if option in options}
        with self.outer_graph.as_default():
            variable = self._scope.get_variable(default_variable_store(), name, **known)
            self.extra_vars.append(variable)
            is_resource = getattr(variable, "_is_resource_variable", False)
            return variable.value() if is_resource and self._resources_by_value else variable


def _is_guaranteed(tensor: Tensor) -> bool:
    """Return True if a tensor depends only on results of `guarantee_const`."""
    if tensor.holds_value:
        return False
    constant: dict[Operation, bool] = {}
    stack = [tensor.op]
    while stack:
        op = stack[-1]
        sources = [source.op for source in op._inputs]
        waiting = [source for source in sources if source not in constant]
        if op.type == "GuaranteeConst" or not sources or not waiting:
            stack.pop()
            known = bool(sources) and all(constant.get(source) for source in sources)
            constant[op] = op.type == "GuaranteeConst" or known
        elif all(source in stack for source in waiting):
            return False  # a loop
        else:
            stack.extend(source for source in waiting if source not in stack)
    return constant[tensor.op]


def func_graph_from_py_func(
    func: Callable[..., Any],
    arg_names: Sequence[str],
    arg_types: Sequence[Any],
    name: str | None = None,
    capture_by_value: bool = False,
    device: Any = None,
    colocation_stack: Any = None,
    container: str | None = None,
    collections_ref: dict[Any, list[Any]] | None = None,
    arg_shapes: Sequence[Any] | None = None,
    whitelisted_stateful_ops: Any = None,
    capture_resource_var_by_value: bool = True,
) -> DefunGraph:
    """Build the body of a function by calling it; ValueError for None among its results."""
    del colocation_stack
    name = name or get_func_name(func)
    graph = DefunGraph(
        name, capture_by_value, list(whitelisted_stateful_ops or ()), capture_resource_var_by_value
    )
    with graph.as_default(), graph.device(device):
        if collections_ref is not None:
            graph._collections = collections_ref
        if container is not None:
            graph._container = container
        shapes = arg_shapes or [None] * len(arg_types)
        for arg_name, dtype, shape in zip(arg_names, arg_types, shapes, strict=False):
            graph.add_argument(dtype, shape, arg_name)
        with variable_scope("", custom_getter=graph.getvar):
            results = func(*graph.inputs[: len(arg_types)])
        set_outputs(graph, _as_results(results, name))
    return graph


def _as_results(results: Any, name: str) -> list[Tensor] | None:
    if results is None:
        return None
    if not isinstance(results, (list, tuple)):
        results = (results,)
    if any(result is None for result in results):
        raise ValueError(f"Function {name} can not return None.")
    return [convert_to_tensor(result) for result in results]


class DefinedFunction:
    """A function for given types of arguments; calling it adds a node that calls it.

    Attributes:
      name: its name.
      definition: its `FunctionDef`.
      grad_func_name: the function that computes its gradient, if there is one.
      python_grad_func: builds its gradient, if given.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        argnames: Sequence[str],
        input_types: Sequence[Any],
        func_name: str | None = None,
        grad_func: DefinedFunction | None = None,
        python_grad_func: Callable[..., Any] | None = None,
        out_names: Sequence[str] | None = None,
        shape_func: Callable[..., Any] | None = None,
        capture_by_value: bool = False,
        whitelisted_stateful_ops: Any = None,
        capture_resource_var_by_value: bool = True,
        **kwargs: Any,
    ) -> None:
        self._func, self._func_name = func, func_name
        self._input_types, self._grad_func = input_types, grad_func
        self._python_grad_func = python_grad_func
        self._out_names, self._shape_func = out_names, shape_func
        self._by_value = capture_by_value
        self._stateful_allowed = whitelisted_stateful_ops or set()
        self._resources_by_value = capture_resource_var_by_value
        self._options = kwargs
        self._arg_names = [
            argnames[i] if i < len(argnames) else f"arg{i}" for i in range(len(input_types))
        ]
        devices = get_default_graph()._device_functions_outer_to_inner
        self._device = devices[-1] if devices else None
        self._made: LibraryFunction | None = None
        self._body: DefunGraph | None = None

    @property
    def library_function(self) -> LibraryFunction:
        """The function in the library; made at first use."""
        if self._made is None:
            self._define()
        assert self._made is not None
        return self._made

    @property
    def name(self) -> str:
        return self.library_function.name

    @property
    def definition(self) -> Any:
        return self.library_function.definition

    @property
    def _signature(self) -> Any:
        return self.definition.signature

    def set_grad_func(self, grad_func: DefinedFunction) -> None:
        """Says which function computes the gradient."""
        assert not self._grad_func
        assert isinstance(grad_func, DefinedFunction)
        self._grad_func = grad_func

    @property
    def grad_func_name(self) -> str | None:
        return self._grad_func.name if self._grad_func else None

    @property
    def python_grad_func(self) -> Callable[..., Any] | None:
        return self._python_grad_func

    @property
    def declared_input_types(self) -> Sequence[Any]:
        return self._input_types

    @property
    def captured_inputs(self) -> list[Tensor]:
        """Tensors outside that calls pass after the arguments."""
        assert self.library_function is not None and self._body is not None
        return self._body.extra_inputs

    @property
    def stateful_ops(self) -> list[tuple[str, str]]:
        """Names and types of the stateful operations inside."""
        assert self.library_function is not None and self._body is not None
        return [(op.name, op.type) for op in self._body._operations if op._is_stateful]

    def _define(self) -> None:
        graph = get_default_graph()
        shared = {
            key: graph._collections.setdefault(key, [])
            for key in (*GraphKeys._VARIABLE_COLLECTIONS, VARIABLE_STORE)
        }
        body = self._body = func_graph_from_py_func(
            self._func,
            self._arg_names,
            self._input_types,
            self._func_name,
            self._by_value,
            self._device,
            collections_ref=shared,
            whitelisted_stateful_ops=self._stateful_allowed,
            capture_resource_var_by_value=self._resources_by_value,
        )
        name = self._func_name
        if not name:
            name = get_func_name(self._func)
            if self._grad_func:
                name += f"_{self._grad_func.name}"
        attrs = call_attrs(name, **self._options)
        self._made = define(
            body,
            name,
            output_names=self._out_names or (),
            description=self._func.__doc__,
            append_hash=not self._func_name,
        )
        self._made.python_grad_func = self._python_grad_func
        for key, value in attrs.items():
            self._made.definition.attr[key].CopyFrom(value)
        self._func_name = self._made.name

    def add_to_graph(self, g: Graph) -> None:
        """Add it to the library of `g`, with all that it calls."""
        function = self.library_function
        if g._functions.get(self.name) is not self:
            g._add_function(self)
            for used in function.used.values():
                used.add_to_graph(g)
        if self._grad_func:
            function.grad_func_name = self._grad_func.name
            self._grad_func.add_to_graph(g)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Add a call; give its result, a tuple of results, or the operation if it has none.

        `kwargs` are `name` of the node, and options such as `noinline`.
        """
        graph = get_default_graph()
        self.add_to_graph(graph)
        inputs = [convert_to_tensor(arg) for arg in args] + self.captured_inputs
        count = len(self._signature.input_arg)
        if len(inputs) != count:
            raise ValueError(f"Expected number of arguments: {count}, received: {len(inputs)}")
        name = kwargs.pop("name", None)
        _check_types(self, inputs, graph.unique_name(name or self.name, mark_as_used=False))
        attrs = call_attrs(self.name, **kwargs)
        op = call(self.library_function, graph, inputs, name, attrs)
        op.__dict__["__defun"] = self
        if self._shape_func is not None:
            shapes = self._shape_func(op)
            if len(shapes) != len(op.outputs):
                raise ValueError(
                    f"shape_func produced {len(shapes)} shapes for {len(op.outputs)} outputs"
                )
            for tensor, shape in zip(op.outputs, shapes, strict=True):
                tensor.set_shape(shape)
        if not op.outputs:
            return op
        return op.outputs[0] if len(op.outputs) == 1 else tuple(op.outputs)


def _check_types(function: DefinedFunction, inputs: Sequence[Tensor], name: str) -> None:
    signature = function._signature
    for arg, tensor in zip(signature.input_arg, inputs, strict=True):
        expected = dtypes.as_dtype(arg.type)
        if tensor.dtype.base_dtype != expected.base_dtype:
            takes, gives = (
                ", ".join(f"{a.name}:{dtypes.cpp_name(dtypes.as_dtype(a.type))}" for a in args)
                for args in (signature.input_arg, signature.output_arg)
            )
            raise ValueError(
                f"Input '{arg.name}' passed {dtypes.cpp_name(tensor.dtype)} expected "
                f"{dtypes.cpp_name(expected)} while building NodeDef '{name}' using "
                f"Op<name={function.name}; signature={takes} -> {gives}>"
            )


class OverloadedFunction:
    """A function whose types of arguments are those it is called with."""

    def __init__(
        self,
        func: Callable[..., Any],
        argnames: Sequence[str],
        func_name: str | None = None,
        grad_func: OverloadedFunction | None = None,
        python_grad_func: Callable[..., Any] | None = None,
        out_names: Sequence[str] | None = None,
        **kwargs: Any,
    ) -> None:
        assert grad_func is None or isinstance(grad_func, OverloadedFunction)
        self._func, self._argnames, self._func_name = func, argnames, func_name
        self._grad_func, self._python_grad_func = grad_func, python_grad_func
        self._out_names, self._options = out_names, kwargs
        self._overload: dict[str, DefinedFunction] = {}

    def instantiate(self, input_types: Sequence[Any]) -> DefinedFunction:
        """Return the function for arguments of these types."""
        key = "".join(_SHORT[dtypes.as_dtype(dtype).base_dtype.name] for dtype in input_types)
        defined = self._overload.get(key)
        if defined is None:
            defined = DefinedFunction(
                self._func,
                self._argnames,
                input_types,
                None if self._func_name is None else f"{self._func_name}_{key}",
                None,
                self._python_grad_func,
                out_names=self._out_names,
                **self._options,
            )
            assert defined.name
            if self._grad_func:
                results = [dtypes.as_dtype(arg.type) for arg in defined._signature.output_arg]
                defined._grad_func = self._grad_func.instantiate([*input_types, *results])
            self._overload[key] = defined
        return defined

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Add a call of the function for these arguments' types."""
        tensors = [convert_to_tensor(arg) for arg in args]
        return self.instantiate([tensor.dtype for tensor in tensors])(*tensors, **kwargs)


class Defun:
    """A decorator that makes functions of the graph's library of Python functions.

    Args:
      *input_types: the types of the arguments; without them, those of each call.
      **kwargs: `func_name`, `grad_func`, `python_grad_func`, `out_names`, `shape_func`,
        `capture_by_value`, `noinline`, ...
    """

    def __init__(self, *input_types: Any, **kwargs: Any) -> None:
        self._input_types, self._options = input_types, kwargs

    def __call__(self, func: Callable[..., Any]) -> Any:
        """Make the function; its body is built when first asked for."""
        if not callable(func):
            raise ValueError(f"function {func} must be callable")
        spec = tf_inspect.getfullargspec(func)
        if spec.varkw or spec.defaults:
            raise ValueError(
                "function with argument defaults or keywords arguments are not supported. "
                f"{func} has defaults {spec.defaults} and keywords {spec.varkw}."
            )
        least, names = len(spec.args), spec.args
        most = _MANY if spec.varargs else least
        if tf_inspect.ismethod(func):
            least, names = least - 1, names[1:]
        if self._input_types or (least == 0 and most == 0):
            if self._input_types and not least <= len(self._input_types) <= most:
                raise ValueError(
                    "The function has fewer arguments than the number of specified input types."
                )
            return DefinedFunction(func, names, self._input_types, **self._options)
        return OverloadedFunction(func, names, **self._options)


def call_attrs(
    func_name: str,
    noinline: bool | None = None,
    compiled: bool | None = None,
    separate_compiled_gradients: bool | None = None,
    **others: Any,
) -> dict[str, Any]:
    """Return the attributes of calls and definitions, as `AttrValue` messages."""
    from stillflow.protos import AttrValue

    attrs = {}
    if noinline is not None:
        attrs["_noinline"] = AttrValue(b=bool(noinline))
    attrs["_disable_call_shape_inference"] = AttrValue(b=True)
    if compiled is not None:
        attrs["_XlaCompile"] = AttrValue(b=bool(compiled))
        attrs["_XlaSeparateCompiledGradients"] = AttrValue(b=bool(separate_compiled_gradients))
        scope = get_default_graph()._attr_scope_map.get("_XlaScope")
        attrs["_XlaScope"] = scope or AttrValue(s=f"function_{func_name}".encode())
    for key in [key for key in others if key.startswith("experimental_")]:
        attrs[key] = attr_value(key, others.pop(key))
    for key in ("_implements", "_reference"):
        if key in others:
            attrs[key] = AttrValue(s=str(others.pop(key)).encode())
    if others:
        raise ValueError(f"Unknown keyword arguments: {others.keys()}")
    return attrs


def attr_value(name: str, value: Any) -> Any:
    from stillflow.protos import AttrValue

    if isinstance(value, AttrValue):
        return value
    for kind, field in ((bool, "b"), (int, "i"), (float, "f"), (str, "s")):
        if isinstance(value, kind):
            return AttrValue(**{field: value.encode() if isinstance(value, str) else value})
    raise ValueError(f"Unsupported attribute type for {name} with type {type(value)}")


def get_extra_vars() -> Sequence[Any]:
    """Return the variables that the function being built has taken from outside so far."""
    graph = get_default_graph()
    return graph.extra_vars if isinstance(graph, DefunGraph) else []


def get_extra_inputs() -> list[Tensor]:
    """Return the tensors that the function being built has captured so far."""
    graph = get_default_graph()
    return graph.extra_inputs if isinstance(graph, DefunGraph) else []


def get_extra_args() -> list[Tensor]:
    """Return the placeholders of the captures of the function being built so far."""
    graph = get_default_graph()
    return graph.extra_args if isinstance(graph, DefunGraph) else []
