"""`tf.function`: Python functions traced once for every kind of arguments."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from stillflow import nest
from stillflow.autograph.hooks import converted_for_tracing
from stillflow.functional.compilable import check_compilable
from stillflow.functional.concrete import ConcreteFunction, trace_function
from stillflow.functional.first_values import made_in_function
from stillflow.functional.function_spec import FunctionSpec
from stillflow.functional.lifted_variables import LiftedVariables
from stillflow.functional.placeholders import flat_arguments
from stillflow.functional.traces import FunctionCache, Traces, relaxed_trace
from stillflow.graph.api import init_scope
from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph, initial_graph
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.ops.functional.traced_graph import TracedGraph

_eagerly: list[bool] = []  # not empty while functions run as Python


class Function:
    """A Python function that is built into a graph once for every kind of arguments.

    Attributes:
      python_function: the function itself.
      input_signature: the kinds of arguments it takes, if they are fixed.
    """

    _reads_by_value: bool | None = None  # see `trace_function`

    def __init__(
        self,
        python_function: Callable[..., Any],
        name: str | None = None,
        input_signature: Any = None,
        attributes: dict[str, Any] | None = None,
        experimental_relax_shapes: bool = False,
        bound: Any = None,
        autograph: tuple[bool, Any] = (True, None),
        may_run_eagerly: bool = False,
    ) -> None:
        self.python_function = self._python_function = python_function
        self._attributes = dict(attributes or {})
        self._name = self._attributes.pop("func_name", name) or getattr(
            python_function, "__name__", "function"
        )
        self._function_spec = FunctionSpec(python_function, input_signature, bound is not None)
        self._relax = experimental_relax_shapes
        self._bound = bound
        self._autograph = autograph  # whether it is converted, and with which features
        self._may_run_eagerly = may_run_eagerly  # True only for results of `tf.function`
        self._may_create = True  # variables, in the first trace
        self._compiled = bool(self._attributes.get("_XlaCompile"))
        self._traces = Traces()
        self._of_instances: weakref.WeakKeyDictionary[Any, Function] = weakref.WeakKeyDictionary()
        functools.update_wrapper(self, python_function, updated=())

    def __get__(self, instance: Any, owner: Any) -> Function:
        """Return the function as a method of an object."""
        if instance is None:
            return self
        if instance not in self._of_instances:
            self._of_instances[instance] = Function(
                self._python_function, self._name, self.input_signature, self._attributes,
                self._relax, weakref.ref(instance), self._autograph, self._may_run_eagerly,
            )  # fmt: skip
        return self._of_instances[instance]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Add a call; give tensors in the structure in which the function gave them.

        TypeError or ValueError for arguments that do not fit the function or its signature.
        """
        if _eagerly and self._may_run_eagerly:
            bound = () if self._bound is None else (self._bound(),)
            return self._python_function(*bound, *args, **kwargs)
        args, kwargs = self._function_spec.canonicalize_function_inputs(*args, **kwargs)
        function = self._function_for(args, kwargs)
        if self._compiled and get_default_graph().runs_at_once:
            check_compilable(function)
        return function.call_flat(flat_arguments((args, _ordered(kwargs))))

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """Return the traced function for these arguments; a `TensorSpec` may stand for a tensor."""
        if self.input_signature is not None:
            if args or kwargs:
                self._function_spec.check_concrete(args, kwargs)
            args, kwargs = self.input_signature, {}
        args, kwargs = self._function_spec.canonicalize_function_inputs(*args, **kwargs)
        function = self._function_for(args, kwargs)
        function.add_to_graph(get_default_graph())
        return function

    @property
    def function_spec(self) -> FunctionSpec:
        """The names and defaults of the arguments."""
        return self._function_spec

    @property
    def input_signature(self) -> tuple[Any, ...] | None:
        return self._function_spec.input_signature

    def _decorate(self, decorator: Callable[..., Any]) -> None:
        """Trace the result of a decorator of the Python function; ValueError if traced before."""
        if any(True for _ in self._traces):
            raise ValueError("Functions cannot be decorated after they have been traced.")
        self.python_function = self._python_function = decorator(self._python_function)
        self._function_spec = FunctionSpec(
            self._python_function, self.input_signature, self._bound is not None
        )

    @property
    def _list_all_concrete_functions(self) -> list[ConcreteFunction]:
        return list(self._traces)

    @property
    def _function_cache(self) -> FunctionCache:
        return self._traces.joined()

    # ---- tracing

    def _function_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ConcreteFunction:
        known = self._traces.of(initial_graph())
        traced = args if self.input_signature is None else self.input_signature
        key = (_key(traced), _key(_ordered(kwargs)))
        given = flat_arguments((args, _ordered(kwargs)))
        if key not in known.primary:
            if self._relax and known.primary and self.input_signature is None:
                ranks = tuple(_key(each, _rank_key) for each in (args, _ordered(kwargs)))
                return relaxed_trace(
                    known, ranks, (args, kwargs), lambda new: self._trace(new[0], new[1], given)
                )
            known.primary[key] = self._trace(traced, kwargs, given)
        return known.primary[key]

    def _trace(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], given: list[Any]
    ) -> ConcreteFunction:
        function = converted_for_tracing(self._own_function(), *self._autograph)
        names = self._function_spec.names_of(len(args))

        def traced(creator: Any = None) -> TracedGraph:
            made = function if creator is None else _with_creator(function, creator)
            return trace_function(
                made, args, kwargs, self._name, names, reads_by_value=self._reads_by_value
            )

        if not self._may_run_eagerly:
            return ConcreteFunction(traced(), self._attr_values())
        if not self._may_create:
            return ConcreteFunction(traced(_refuse), self._attr_values())
        if initial_graph().runs_at_once:
            created: list[bool] = []
            graph = traced(_noting(created, given))
            is_first = bool(created)
        else:
            lifted = LiftedVariables(in_graph=True)
            graph = traced(lifted.creator)
            is_first = bool(lifted.made)
            if is_first:
                _initialize_nothing()
        self._may_create = False
        if is_first:  # the next one finds them made
            graph = traced(_refuse)
        return ConcreteFunction(graph, self._attr_values())

    def get_initialization_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """Traces the function, and gives one that gives the variables made by it their values.

        Args:
          *args, **kwargs: what the function is to be traced for.

        Raises:
          RuntimeError: if the function was traced before.
        """
        if not self._may_create or any(True for _ in self._traces):
            raise RuntimeError(
                "get_initialization_function cannot be called after the function has been used"
            )
        args, kwargs = self._function_spec.canonicalize_function_inputs(*args, **kwargs)
        lifted = LiftedVariables(in_graph=False)
        function = converted_for_tracing(self._own_function(), *self._autograph)
        names = self._function_spec.names_of(len(args))
        made = _with_creator(function, lifted.creator)
        body = trace_function(made, args, kwargs, self._name, names)
        self._may_create = False
        with init_scope():
            graph = trace_function(lambda: lifted.assign_all(body), (), {}, "initialize_variables")
            return ConcreteFunction(graph)

    def _attr_values(self) -> dict[str, Any]:
        """Return attributes, numbers or text, as `AttrValue` messages; ValueError for others."""
        from stillflow.functional.defun import attr_value

        return {key: attr_value(key, value) for key, value in self._attributes.items()}

    def _own_function(self) -> Callable[..., Any]:
        """Return the Python function, bound to its object if it is a method."""
        if self._bound is None:
            return self._python_function
        return functools.partial(self._python_function, self._bound())


def _noting(created: list[bool], given: list[Any]) -> Callable[..., Any]:
    """Return a variable creator for eager variables that the function makes, noting each.

    `given` are the values of the function's arguments that are tensors.
    """

    def creator(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        created.append(True)
        return made_in_function(next_creator, given, kwargs)

    return creator


def _initialize_nothing() -> None:
    """Call a function without operations: in graphs, variables have initializers outside."""
    from stillflow.protos import ConfigProto

    config = ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with init_scope():
        body = trace_function(lambda: None, (), {}, "initialize_variables")
        ConcreteFunction(body).add_call(get_default_graph(), [], config.SerializeToString())


def _refuse(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
    raise ValueError("tf.function-decorated function tried to create variables on non-first call.")


def _with_creator(function: Callable[..., Any], creator: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose variables are made by a creator."""

    def creating(*args: Any, **kwargs: Any) -> Any:
        with get_default_graph()._variable_creator_scope(creator):
            return function(*args, **kwargs)

    return creating


def _ordered(kwargs: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((key, kwargs[key]) for key in sorted(kwargs))


def _key(
    structure: Any, of_leaf: Callable[[Any], Any] | None = None
) -> tuple[str, tuple[tuple[Any, ...], ...]]:
    """Return the key that must be equal for a trace to be reused."""
    flat = nest.flatten(structure, expand_composites=True)
    mapped = nest.map_structure(_form, structure)
    form = repr(mapped)
    if "Wrapper(" in form:  # attributes of models: equal to the wrapped objects in a trace
        form = repr(_unwrapped(mapped))
    return form, tuple(map(of_leaf or _leaf_key, flat))


def _unwrapped(structure: Any) -> Any:
    """Return a structure whose lists and dictionaries are plain ones."""
    if isinstance(structure, dict):
        return {key: _unwrapped(value) for key, value in structure.items()}
    if isinstance(structure, (list, tuple)):
        items = map(_unwrapped, structure)
        return list(items) if isinstance(structure, list) else tuple(items)
    return structure


def _form(value: Any) -> Any:
    """Return the part of a composite value's type that its tensors do not have: of a dataset."""
    return value._type_spec if isinstance(value, CompositeTensor) else 0


def _leaf_key(value: Any) -> tuple[Any, ...]:
    if isinstance(value, (Tensor, TensorSpec)):
        dims = value.shape
        kind = ("spec", value.name) if isinstance(value, TensorSpec) else "tensor"
        return kind, value.dtype, None if dims.ndims is None else tuple(dims.as_list())
    if isinstance(value, (bool, int, float, str, bytes, complex, type(None))):
        return type(value), value
    try:
        hash(value)
    except TypeError:  # TensorFlow takes it for a tensor then
        name = type(value).__name__
        raise AttributeError(f"'{name}' object has no attribute 'shape'") from None
    return "object", id(value)


def _rank_key(value: Any) -> tuple[Any, ...]:
    """Return a leaf's key that knows a tensor's rank, not its shape."""
    if isinstance(value, (Tensor, TensorSpec)):
        return "tensor", value.dtype, value.shape.ndims
    return _leaf_key(value)


@export("function", "contrib.eager.function")
def function(
    func: Any = None,
    input_signature: Any = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
    experimental_compile: bool | None = None,
) -> Any:
    """Make a function of the graph's library of a Python function.

    A call adds one operation to the default graph.

    Args:
      func: the function; without it, a decorator is given back.
      input_signature: the shapes and types of the arguments, a sequence of `tf.TensorSpec`.
      autograph: whether Python's `if`, `while` and `for` over tensors are converted.
      experimental_autograph_options: features of `tf.autograph.experimental.Feature`.
      experimental_relax_shapes: whether tensors of ever other shapes have one trace, which knows
        of their shapes what they have in common.
      experimental_compile: whether operations that XLA does not compile are an error of calls
        outside of graphs.  It is an attribute of the function.
    """
    attributes = None if experimental_compile is None else {"_XlaCompile": experimental_compile}

    def decorate(inner: Any) -> Function:
        return Function(
            inner,
            input_signature=input_signature,
            attributes=attributes,
            experimental_relax_shapes=experimental_relax_shapes,
            autograph=(autograph, experimental_autograph_options),
            may_run_eagerly=True,
        )

    return decorate if func is None else decorate(func)


@export("config.experimental_run_functions_eagerly")
def run_functions_eagerly(run_eagerly: bool) -> None:
    """Set if results of `tf.function` run as their Python functions."""
    _eagerly[:] = [True] if run_eagerly else []


def runs_functions_eagerly() -> bool:
    """Return True if `run_functions_eagerly` was asked for."""
    return bool(_eagerly)


@export("contrib.eager.defun")
def defun(
    func: Any = None,
    input_signature: Any = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
) -> Any:
    """Return the older name of `tf.function`; takes the same arguments."""
    return defun_with_attributes(
        func, input_signature, None, autograph, experimental_autograph_options,
        experimental_relax_shapes,
    )  # fmt: skip


def defun_with_attributes(
    func: Any = None,
    input_signature: Any = None,
    attributes: dict[str, Any] | None = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
) -> Any:
    """`defun` with attributes for the definition, as `AttrValue` messages or plain values."""

    def decorate(inner: Any) -> Function:
        return Function(
            inner, None, input_signature, attributes, experimental_relax_shapes,
            autograph=(autograph, experimental_autograph_options),
        )  # fmt: skip

    return decorate if func is None else decorate(func)
