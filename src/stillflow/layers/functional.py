"""Layers of `tf.layers` and their functions, derived from the layers of Keras."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from stillflow.graph.operation import Tensor
from stillflow.layers.descriptions import docstring
from stillflow.layers.names import to_snake_case
from stillflow.layers.signatures import (
    by_name,
    compiled,
    constructor,
    functional,
    parameters_of,
    place,
    scoped,
)
from stillflow.variables.initializers import Ones, Zeros

_Function = TypeVar("_Function", bound=Callable[..., Any])
_INITIALIZERS = {"glorot_uniform": None, "zeros": Zeros(), "ones": Ones()}


def scoped_constructor(function: _Function, *missing: str, **defaults: Any) -> _Function:
    """Make the constructor of a layer of `tf.layers` from that of Keras' layer.

    `tf.layers` has no arguments `missing`; `defaults` do not follow from Keras'.
    """
    return constructor(function, scoped(parameters_of(function), _INITIALIZERS, missing, defaults))


def layer_function(
    kind: Any,
    summary: str,
    call: Mapping[str, Any] | None = None,
    reuse: bool = True,
    after: str | None = None,
    example: str = "",
    **arguments: str,
) -> Callable[..., Any]:
    """Make the function of `tf.layers` that makes a layer and calls it.

    `summary` is the first line of its docstring. `call` has default values of the arguments of
    `call` that the function takes. `reuse` says whether the layer has variables, which can be
    shared. Arguments of the call and of scopes follow `after`, by default the last; `arguments`
    describes those that no other layer has, including `inputs`; `example` has lines of a session
    of Python.
    """
    call = call or {}
    own = parameters_of(kind.__init__)[1:-1]
    parameters = functional(parameters_of(kind.__init__), call, reuse, after)
    scope = ", _scope=name, _reuse=reuse" if reuse else ""
    named = "".join(f", {name}={name}" for name in call)
    body = f"kind({by_name(own)}{scope}).apply(inputs{named})"
    name = to_snake_case(kind.__name__)
    function = compiled(name, parameters, body, {"kind": kind}, place())
    function.__annotations__["return"] = Tensor
    function.__doc__ = docstring(summary, [x.name for x in parameters], arguments, example)
    return function
