"""Signatures that derive from others: constructors of layers, and the functions of `tf.layers`.

The arguments of a layer stand once, in the constructor of its class in `keras.layers`. Classes of
other ranks change default values. `tf.layers` adds the arguments of variable scopes. This module
imports the standard library only: tools/derived_signatures.py applies its rules for the stubs.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from types import CodeType, FunctionType
from typing import Any, NamedTuple, TypeVar, cast

_Function = TypeVar("_Function", bound=Callable[..., Any])
Parameters = list[Parameter]
RECURRENT_FLAGS = ("return_sequences", "return_state", "go_backwards", "stateful", "unroll")
_IN_SCOPES = {"trainable": True, "name": None}


# ---- rules


def changed(parameters: Sequence[Parameter], defaults: Mapping[str, Any]) -> Parameters:
    """Return parameters with other default values; TypeError for a name that there is not."""
    if unknown := defaults.keys() - {parameter.name for parameter in parameters}:
        raise TypeError(f"No parameters of these names: {sorted(unknown)}")
    return [
        parameter.replace(default=defaults[parameter.name])
        if parameter.name in defaults
        else parameter
        for parameter in parameters
    ]


def scoped(
    parameters: Sequence[Parameter],
    equivalents: Mapping[Any, Any],
    missing: Sequence[str],
    defaults: Mapping[str, Any],
) -> Parameters:
    """Return the parameters of a layer of `tf.layers`, from those of Keras' layer.

    Keras' have `self` and `**kwargs`. `equivalents` are initializers by Keras' names; `tf.layers`
    does not have `missing`.
    """
    *own, kwargs = (parameter for parameter in parameters if parameter.name not in missing)
    for i, parameter in enumerate(own):
        if parameter.name == "data_format":
            own[i] = parameter.replace(default="channels_last")
        elif isinstance(parameter.default, str) and parameter.default in equivalents:
            own[i] = parameter.replace(default=equivalents[parameter.default])
    present = {parameter.name for parameter in own}.union(missing)
    own += [_optional(*item) for item in _IN_SCOPES.items() if item[0] not in present]
    return changed([*own, kwargs], defaults)


def functional(
    parameters: Sequence[Parameter],
    call: Mapping[str, Any],
    reuse: bool = True,
    after: str | None = None,
) -> Parameters:
    """Return the parameters of a function of `tf.layers`, from those of the layer's constructor.

    The constructor's have `self` and `**kwargs`; for the others see `layer_function`.
    """
    own = [x for x in parameters[1:-1] if x.name not in _IN_SCOPES]
    scope = [x for name in _IN_SCOPES for x in parameters if x.name == name]
    place = next((i for i, x in enumerate(own, 1) if x.name == after), len(own))
    own[place:place] = [*(_optional(*item) for item in call.items()), *scope]
    if reuse:
        own.insert(place + len(call) + len(scope), _optional("reuse", None))
    kind = Parameter.POSITIONAL_OR_KEYWORD
    return [Parameter("inputs", kind, annotation="Any"), *own]


def inserted(parameters: Sequence[Parameter], before: str, **new: Any) -> Parameters:
    """Return parameters with others before one of a name; the new ones have default values."""
    place = next(i for i, x in enumerate(parameters) if x.name == before)
    return [*parameters[:place], *(_optional(*item) for item in new.items()), *parameters[place:]]


def recurrent(
    cell: Sequence[Parameter], before: str = "kwargs", flags: Sequence[str] = RECURRENT_FLAGS
) -> Parameters:
    """Return the parameters of a recurrent layer, from those of its cell's constructor.

    The cell's have `self` and `**kwargs`; flags, False by default, stand before `before`.
    """
    made = inserted(cell, "kernel_constraint", activity_regularizer=None)
    return inserted(made, before, **dict.fromkeys(flags, False))


def _optional(name: str, default: Any) -> Parameter:
    kind = Parameter.POSITIONAL_OR_KEYWORD
    return Parameter(name, kind, default=default, annotation="Any")


# ---- functions


class Place(NamedTuple):
    """The line at which a derived function stands."""

    module: str
    file: str
    line: int


def place() -> Place:
    """Return the line outside the modules that derive functions which asks for one."""
    frame = sys._getframe(1)
    while frame.f_globals["__name__"] in _DERIVING and frame.f_back:
        frame = frame.f_back
    return Place(frame.f_globals["__name__"], frame.f_code.co_filename, frame.f_lineno)


_DERIVING = {__name__, "stillflow.layers.functional"}


class _Constructor:
    """A constructor that is made when the class that it belongs to exists."""

    def __init__(self, make: Callable[[type, str], FunctionType]) -> None:
        self._make = make

    def __set_name__(self, owner: type, name: str) -> None:
        made = self._make(owner, name)
        made.__qualname__, made.__module__ = f"{owner.__qualname__}.{name}", owner.__module__
        setattr(owner, name, made)


def with_defaults(function: _Function, **defaults: Any) -> _Function:
    """Copy a constructor with other default values, as `__init__` of the class that is defined.

    TypeError if it has no argument of a name.
    """
    parameters = changed(parameters_of(function), defaults)
    code, scope, cells = function.__code__, function.__globals__, function.__closure__

    def make(owner: type, name: str) -> FunctionType:
        return _described(FunctionType(code, scope, name, None, cells), parameters)

    return cast(_Function, _Constructor(make))


def constructor(function: _Function, parameters: Sequence[Parameter]) -> _Function:
    """Make the `__init__` of the class that is defined; it hands its arguments to the next one.

    `function`, a base's constructor, is for type checkers.
    """
    self, *given = parameters
    body = f"super(owner, {self.name}).__init__({by_name(given)})"
    at = place()

    def make(owner: type, name: str) -> FunctionType:
        return compiled(name, parameters, body, {"owner": owner}, at)

    return cast(_Function, _Constructor(make))


def without(function: _Function, *names: str, **defaults: Any) -> _Function:
    """Make the `__init__` of the class that is defined from one with more arguments.

    `function` gets its own default values for `names`, which do not stand in the signature.
    """
    kept = [x for x in parameters_of(function) if x.name not in names]
    return constructor(function, changed(kept, defaults))


def recurrent_constructor(
    cell: _Function, before: str = "kwargs", flags: Sequence[str] = RECURRENT_FLAGS
) -> _Function:
    """Make the `__init__` of the recurrent layer that is defined from the one of its cell.

    The cell's has the layer's default values; flags, False by default, stand before `before`.
    """
    return constructor(cell, recurrent(parameters_of(cell), before, flags))


def arguments(given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a constructor, from the `locals()` with which it begins."""
    names = [name for name in given if name not in ("self", "__class__", "kwargs")]
    return {**{name: given[name] for name in names}, **given.get("kwargs", {})}


def with_fixed(
    function: Callable[..., Any],
    name: str,
    doc: str,
    defaults: Mapping[str, Any] | None = None,
    **values: Any,
) -> FunctionType:
    """Make a function that calls another one, by name, with fixed values of some arguments."""
    free = [x for x in parameters_of(function) if x.name not in values]
    parameters = changed(free, defaults or {})
    body = f"function({by_name(parameters)}, **values)"
    made = compiled(name, parameters, body, {"function": function, "values": values}, place())
    made.__doc__ = doc
    return made


def parameters_of(function: Callable[..., Any]) -> Parameters:
    """Return the parameters of a function."""
    return list(signature(function).parameters.values())


def by_name(parameters: Sequence[Parameter]) -> str:
    """Return the text of arguments that hands parameters on by name."""
    return ", ".join(
        f"**{x.name}" if x.kind is Parameter.VAR_KEYWORD else f"{x.name}={x.name}"
        for x in parameters
    )


def compiled(
    name: str, parameters: Sequence[Parameter], body: str, scope: dict[str, Any], at: Place
) -> FunctionType:
    """Compile a function of one expression, `body`, as if it stood at a line of a file.

    Tracebacks, `inspect` and the filter of the library's frames see that line. `scope` has the
    names that the expression uses; parameters give default values and annotations.
    """
    head = ", ".join(
        f"**{x.name}" if x.kind is Parameter.VAR_KEYWORD
        else x.name if x.default is Parameter.empty
        else f"{x.name}=None"
        for x in parameters
    )  # fmt: skip
    code = _code(f"def function({head}): return {body}")
    code = code.replace(co_name=name, co_filename=at.file, co_firstlineno=at.line)
    function = _described(FunctionType(code, scope, name), parameters)
    function.__qualname__, function.__module__ = name, at.module
    return function


@functools.cache
def _code(text: str) -> CodeType:
    """Compile a definition; layers of all ranks share one."""
    module = compile(text, "", "exec", dont_inherit=True)
    return next(value for value in module.co_consts if isinstance(value, CodeType))


def _described(function: FunctionType, parameters: Sequence[Parameter]) -> FunctionType:
    """Give a function the default values and annotations of its parameters."""
    empty = Parameter.empty
    function.__defaults__ = tuple(x.default for x in parameters if x.default is not empty)
    function.__annotations__ = {
        x.name: x.annotation for x in parameters if x.annotation is not empty
    }
    return function
