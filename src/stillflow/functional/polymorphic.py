"""`tf.function`: Python functions traced once for every kind of arguments."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow import nest
from stillflow.autograph.hooks import converted_for_tracing
from stillflow.functional.concrete import ConcreteFunction, trace_function
from stillflow.functional.first_values import made_in_function
from stillflow.functional.traces import FunctionCache, Traces, relaxed_trace
from stillflow.functional.wrapped import WrappedFunction
from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph, initial_graph
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.util import tf_inspect
from stillflow.util.function_utils import get_func_name

_eagerly: list[bool] = []  # not empty while functions run as Python


class Function:
    """A Python function that is built into a graph once for every kind of arguments.

    Attributes:
      python_function: the function itself.
      input_signature: the kinds of arguments it takes, if they are fixed.
    """

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
        self._name = name or get_func_name(python_function)
        self.input_signature = _checked_signature(input_signature)
        self._attributes = attributes or {}
        self._relax = experimental_relax_shapes
        self._bound = bound
        self._autograph = autograph  # whether it is converted, and with which features
        self._may_run_eagerly = may_run_eagerly  # as only what `tf.function` makes does
        self._may_create = True  # variables, in the first trace
        self._traces = Traces()
        self._of_instances: weakref.WeakKeyDictionary[Any, Function] = weakref.WeakKeyDictionary()
        self._spec = tf_inspect.getfullargspec(python_function)
        functools.update_wrapper(self, python_function, updated=())

    def __get__(self, instance: Any, owner: Any) -> Any:
        """The function as a method of an object."""
        if instance is None:
            return self
        if instance not in self._of_instances:
            self._of_instances[instance] = Function(
                self._python_function, self._name, self.input_signature, self._attributes,
                self._relax, weakref.ref(instance), self._autograph, self._may_run_eagerly,
            )  # fmt: skip
        return self._of_instances[instance]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Adds a call; gives tensors in the structure in which the function gave them.

        Raises:
          TypeError, ValueError: if arguments do not fit the function or its signature.
        """
        if _eagerly and self._may_run_eagerly:
            bound = () if self._bound is None else (self._bound(),)
            return self._python_function(*bound, *args, **kwargs)
        args, kwargs = self._canonical(args, kwargs)
        function = self._function_for(args, kwargs)
        return function.call_flat(_tensors((args, _ordered(kwargs))))

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The traced function for these arguments; a `TensorSpec` may stand for a tensor."""
        if self.input_signature is not None and not args and not kwargs:
            args = self.input_signature
        args, kwargs = self._canonical(args, kwargs)
        function = self._function_for(args, kwargs)
        function.add_to_graph(get_default_graph())
        return function

    @property
    def function_spec(self) -> Any:
        """The names and defaults of the arguments."""
        return self._spec

    @property
    def _list_all_concrete_functions(self) -> list[ConcreteFunction]:
        return list(self._traces)

    @property
    def _function_cache(self) -> FunctionCache:
        return self._traces.joined()

    # ---- arguments

    def _names(self) -> list[str]:
        skip = 1 if self._bound is not None or tf_inspect.ismethod(self._python_function) else 0
        return list(self._spec.args)[skip:]

    def _canonical(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments by position where they have one, defaults filled in, arrays as tensors."""
        names = self._names()
        defaults = self._spec.defaults or ()
        if self.input_signature is None:
            by_default = dict(zip(names[len(names) - len(defaults) :], defaults, strict=False))
            kwargs = {**(self._spec.kwonlydefaults or {}), **kwargs}
            positional = list(args)
            for name in names[len(args) :]:
                if name in kwargs:
                    positional.append(kwargs.pop(name))
                elif name in by_default:
                    positional.append(by_default[name])
                else:
                    break
            return _as_tensors(tuple(positional)), _as_tensors(kwargs)
        positional = list(args)
        for name in names[len(args) :]:
            if name in kwargs:
                positional.append(kwargs.pop(name))
        if kwargs:
            raise ValueError(
                "Cannot define a TensorFlow function from a Python function with keyword "
                "arguments when input_signature is provided."
            )
        return self._signed(tuple(positional)), {}

    def _signed(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments converted to what the signature says."""
        signature = self.input_signature
        try:
            flat = nest.flatten_up_to(signature, args, expand_composites=True)
        except (ValueError, TypeError):
            raise ValueError(
                "Structure of Python function inputs does not match input_signature:\n"
                f"  inputs: {_shown(args)}\n  input_signature: {_shown(signature)}"
            ) from None
        made = []
        for spec, value in zip(nest.flatten(signature, expand_composites=True), flat, strict=True):
            if not isinstance(value, (Tensor, TensorSpec)):
                value = convert_to_tensor(value, dtype_hint=spec.dtype)
            if value.dtype != spec.dtype or not spec.shape.is_compatible_with(value.shape):
                raise ValueError(
                    "Python inputs incompatible with input_signature:\n"
                    f"  inputs: {_shown(args)}\n  input_signature: {_shown(signature)}"
                )
            made.append(value)
        packed: tuple[Any, ...] = nest.pack_sequence_as(signature, made, expand_composites=True)
        return packed

    # ---- tracing

    def _function_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ConcreteFunction:
        known = self._traces.of(initial_graph())
        traced = args if self.input_signature is None else self.input_signature
        key = (_key(traced), _key(_ordered(kwargs)))
        given = _tensors((args, _ordered(kwargs)))
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
        function = self._python_function
        if self._bound is not None:
            function = functools.partial(function, self._bound())
        function = converted_for_tracing(function, *self._autograph)
        names = self._names()
        if self._spec.varargs:
            names += [f"{self._spec.varargs}_{i}" for i in range(len(args))]
        if not (self._may_run_eagerly and initial_graph().runs_at_once):
            graph = trace_function(function, args, kwargs, self._name, names)
            return ConcreteFunction(graph, self._attributes)
        created: list[bool] = []
        first = _noting_variables(function, created if self._may_create else None, given)
        graph = trace_function(first, args, kwargs, self._name, names)
        self._may_create = False
        if created:  # the next one finds them made
            again = _noting_variables(function, None, [])
            graph = trace_function(again, args, kwargs, self._name, names)
        return ConcreteFunction(graph, self._attributes)


def _noting_variables(
    function: Callable[..., Any], created: list[bool] | None, given: list[Any]
) -> Callable[..., Any]:
    """A function that adds to a list for every variable that it makes; None refuses them.

    Args:
      function: what may make variables.
      created: the list.
      given: the values of its arguments that are tensors.
    """

    def creator(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        if created is None:
            raise ValueError(
                "tf.function-decorated function tried to create variables on non-first call."
            )
        created.append(True)
        return made_in_function(next_creator, given, kwargs)

    def noting(*args: Any, **kwargs: Any) -> Any:
        with get_default_graph()._variable_creator_scope(creator):
            return function(*args, **kwargs)

    return noting


def _ordered(kwargs: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple((key, kwargs[key]) for key in sorted(kwargs))


def _as_tensors(structure: Any) -> Any:
    def one(value: Any) -> Any:
        return convert_to_tensor(value) if isinstance(value, (np.ndarray, np.generic)) else value

    return nest.map_structure(one, structure, expand_composites=True)


def _tensors(structure: Any) -> list[Any]:
    flat = nest.flatten(structure, expand_composites=True)
    return [value for value in flat if isinstance(value, (Tensor, TensorSpec))]


def _key(structure: Any, of_leaf: Callable[[Any], Any] | None = None) -> Any:
    """What must be equal for a trace to be used again."""
    flat = nest.flatten(structure, expand_composites=True)
    form = repr(nest.map_structure(_form, structure))
    return form, tuple(map(of_leaf or _leaf_key, flat))


def _form(value: Any) -> Any:
    """The type of a composite value, of which its tensors do not tell all: that of a dataset."""
    return value._type_spec if isinstance(value, CompositeTensor) else 0


def _leaf_key(value: Any) -> Any:
    if isinstance(value, (Tensor, TensorSpec)):
        dims = value.shape
        return "tensor", value.dtype, None if dims.ndims is None else tuple(dims.as_list())
    if isinstance(value, (bool, int, float, str, bytes, complex, type(None))):
        return type(value), value
    return "object", id(value)


def _rank_key(value: Any) -> Any:
    """A leaf's key that knows a tensor's rank, not its shape."""
    if isinstance(value, (Tensor, TensorSpec)):
        return "tensor", value.dtype, value.shape.ndims
    return _leaf_key(value)


def _checked_signature(signature: Any) -> Any:
    if signature is None:
        return None
    if not isinstance(signature, (tuple, list)):
        raise TypeError(
            f"input_signature must be either a tuple or a list, received {type(signature)}"
        )
    flat = nest.flatten(tuple(signature), expand_composites=True)
    if any(not isinstance(spec, TensorSpec) for spec in flat):
        shown = next(spec for spec in flat if not isinstance(spec, TensorSpec))
        raise TypeError(
            "Invalid input_signature; input_signature must be a possibly nested sequence of "
            f"TensorSpec objects, got {shown!r}"
        )
    return tuple(signature)


def _shown(args: Any) -> str:
    return "(" + ", ".join(str(arg) for arg in nest.flatten(args)) + ")"


@export("function", "contrib.eager.function")
def function(
    func: Any = None,
    input_signature: Any = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
    experimental_compile: bool | None = None,
) -> Any:
    """Makes a function of the graph's library of a Python function.

    A call adds one operation to the default graph.

    Args:
      func: the function; without it, a decorator is given back.
      input_signature: the shapes and types of the arguments, a sequence of `tf.TensorSpec`.
      autograph: whether Python's `if`, `while` and `for` over tensors are converted.
      experimental_autograph_options: features of `tf.autograph.experimental.Feature`.
      experimental_relax_shapes: whether tensors of ever other shapes have one trace, which knows
        of their shapes what they have in common.
      experimental_compile: has no effect.
    """
    del experimental_compile

    def decorate(inner: Any) -> Any:
        return Function(
            inner,
            input_signature=input_signature,
            experimental_relax_shapes=experimental_relax_shapes,
            autograph=(autograph, experimental_autograph_options),
            may_run_eagerly=True,
        )

    return decorate if func is None else decorate(func)


@export("config.experimental_run_functions_eagerly")
def run_functions_eagerly(run_eagerly: bool) -> None:
    """Sets whether what `tf.function` makes runs as the Python function that it is made of."""
    _eagerly[:] = [True] if run_eagerly else []


def runs_functions_eagerly() -> bool:
    """Whether `run_functions_eagerly` was asked for."""
    return bool(_eagerly)


@export("contrib.eager.defun")
def defun(
    func: Any = None,
    input_signature: Any = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
) -> Any:
    """The older name of `tf.function`; takes the same arguments."""
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
    from stillflow.functional.defun import attr_value

    values = {key: attr_value(key, value) for key, value in (attributes or {}).items()}

    def decorate(inner: Any) -> Any:
        return Function(
            inner, None, input_signature, values, experimental_relax_shapes,
            autograph=(autograph, experimental_autograph_options),
        )  # fmt: skip

    return decorate if func is None else decorate(func)


@export("wrap_function")
def wrap_function(
    fn: Callable[..., Any], signature: Any, name: str | None = None
) -> WrappedFunction:
    """Makes a function of a Python function that builds a TF 1 graph.

    Args:
      fn: the function.
      signature: for every argument a `tf.TensorSpec`, a structure of them, or what is handed to
        the function as it is.
      name: of the function.
    """
    arguments = nest.flatten(signature, expand_composites=True)
    specs = tuple(each for each in arguments if isinstance(each, TensorSpec))
    names = [spec.name or f"arg_{i}" for i, spec in enumerate(specs)]

    def call(*tensors: Any) -> Any:
        given = iter(tensors)
        values = [next(given) if isinstance(each, TensorSpec) else each for each in arguments]
        return fn(*nest.pack_sequence_as(signature, values, expand_composites=True))

    name = name or get_func_name(fn)
    graph = trace_function(call, specs, {}, name, names, ordered=False)
    return WrappedFunction(graph)
