"""Gradient of a whole function: the result of SymbolicGradient."""

from __future__ import annotations

import threading
import weakref
from typing import Any

from stillflow import errors
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.function_defs import body_of
from stillflow.graph.functions import find_function
from stillflow.graph.graph import Graph

_lock = threading.RLock()
_made: weakref.WeakKeyDictionary[Any, dict[bytes, FuncGraph]] = weakref.WeakKeyDictionary()


def gradient_body(graph: Graph, named: Any, count: int) -> FuncGraph:
    """Return the body of a function's gradient; `count` is the number of its arguments.

    It takes the function's arguments and the gradients of its results; it gives the gradients of
    the arguments, zeros where the results do not depend on them. NotFoundError if there is no such
    function, LookupError if something in it has no gradient.
    """
    function = find_function(graph, named.name)
    if function is None:
        raise errors.not_found(f"Function {named.name} is not defined.")
    if function.grad_func_name:
        gradient = find_function(graph, function.grad_func_name)
        if gradient is None:
            raise errors.not_found(f"Function {function.grad_func_name} is not defined.")
        return gradient.instantiate(graph, named.attr)
    with _lock:
        made = _made.setdefault(function, {})
        key = named.SerializeToString(deterministic=True)
        if key not in made:
            made[key] = _build(graph, function, named, count)
        return made[key]


def _build(graph: Graph, function: Any, named: Any, count: int) -> FuncGraph:
    from stillflow.ops.arrays.fill import zeros, zeros_like
    from stillflow.ops.control_flow.gradients import zeros_dtype
    from stillflow.ops.gradients.gradients import gradients, is_trainable
    from stillflow.ops.variables.resource import variable_shape

    body = body_of(function.definition, graph, dict(named.attr))
    body._trust = function.trust  # it computes the function again
    for inner, traced in zip(
        body.inputs, function.instantiate(graph, named.attr).inputs, strict=True
    ):
        inner._handle_dims, inner._handle_dtype = traced._handle_dims, traced._handle_dtype
        if inner._dims is None:
            inner._dims = traced._dims
    outputs, inputs = body.outputs, list(body.inputs)
    if len(inputs) != count:
        raise errors.invalid_argument(
            f"The function {named.name} has {len(inputs)} arguments, not {count}"
        )
    with body.as_default():
        given = [body.add_argument(t.dtype.base_dtype, t._dims) for t in outputs]
        pairs = [(y, g) for y, g in zip(outputs, given, strict=True) if is_trainable(y)]
        made: list[Any] = [None] * count
        if pairs:
            ys, grads = zip(*pairs, strict=True)
            made = gradients(list(ys), inputs, list(grads))
        body.outputs = []
        for x, gradient in zip(inputs, made, strict=True):
            if gradient is None and x.dtype.name != "resource":
                gradient = zeros_like(x)
            elif gradient is None:
                gradient = zeros(variable_shape(x), dtype=zeros_dtype(x))
            body.outputs.append(convert_to_tensor(gradient))
    body.control_outputs = []
    return body
