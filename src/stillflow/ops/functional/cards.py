"""Cards of the ops that call functions, and their gradients.

Plans inline calls (see `runtime/functions/inlining.py`). The kernels here run the remaining calls,
which are recursive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from stillflow import errors, protos
from stillflow.graph import dtypes
from stillflow.graph.call_shapes import shapes_of_call
from stillflow.graph.card import op
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.functions import FunctionCard, call_parts, find_function
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.arrays.fill import zeros_like
from stillflow.ops.control_flow.gradients import zeros_dtype
from stillflow.ops.functional.symbolic import gradient_body

# Kinds of executors that calls may ask for; all of them run alike.
EXECUTORS = ("", "DEFAULT", "SINGLE_THREADED_EXECUTOR")

_PARTITIONED = """
    {}(args: [Tin]) -> output: [Tout]
    Tin: list(type) >= 0
    Tout: list(type) >= 0
    f: func
    config: string = ""
    config_proto: string = ""
    executor_type: string = ""
"""
partitioned_call_op = op(
    _PARTITIONED.format("PartitionedCall"), effect="state", calls=True, inlined=True
)
stateful_partitioned_call_op = op(
    _PARTITIONED.format("StatefulPartitionedCall") + "flags: stateful", calls=True, inlined=True
)
remote_call_op = op(
    """
    RemoteCall(target: string, args: [Tin]) -> output: [Tout]
    Tin: list(type) >= 1
    Tout: list(type) >= 1
    f: func
    flags: stateful
    """,
    calls=True,
    inlined=True,
)
symbolic_gradient_op = op(
    """
    SymbolicGradient(input: [Tin]) -> output: [Tout]
    Tin: list(type) >= 1
    Tout: list(type) >= 1
    f: func
    """,
    effect="state",
    calls=True,
    inlined=True,
)
_IF = """
    {}(cond: Tcond, input: [Tin]) -> output: [Tout]
    Tcond: type
    Tin: list(type) >= 0
    Tout: list(type) >= 0
    then_branch: func
    else_branch: func
    output_shapes: list(shape) = []
"""
if_op = op(_IF.format("If") + "flags: stateful", calls=True, inlined=True)
stateless_if_op = op(_IF.format("StatelessIf"), effect="state", calls=True, inlined=True)
case_op = op(
    """
    Case(branch_index: int32, input: [Tin]) -> output: [Tout]
    Tin: list(type) >= 0
    Tout: list(type) >= 0
    branches: list(func) >= 1
    output_shapes: list(shape) = []
    flags: stateful
    """,
    calls=True,
    inlined=True,
)
_WHILE = """
    {}(input: [T]) -> output: [T]
    T: list(type) >= 0
    cond: func
    body: func
    output_shapes: list(shape) = []
    parallel_iterations: int = 10
"""
while_op = op(_WHILE.format("While") + "flags: stateful", calls=True, inlined=True)
stateless_while_op = op(_WHILE.format("StatelessWhile"), effect="state", calls=True, inlined=True)
for_op = op(
    """
    For(start: int32, limit: int32, delta: int32, input: [T]) -> output: [T]
    T: list(type) >= 0
    body: func
    """,
    effect="state",
    calls=True,
    inlined=True,
    numbers=("start", "limit", "delta"),
)
underscore_if_op = op(
    """
    _If(cond: Tcond, input: [Tin]) -> output: [Tout]
    Tcond: type
    Tin: list(type) >= 1
    Tout: list(type) >= 1
    then_branch: func
    else_branch: func
    flags: stateful
    """,
    calls=True,
    inlined=True,
)
underscore_while_op = op(
    """
    _While(input: [T]) -> output: [T]
    T: list(type) >= 0
    cond: func
    body: func
    flags: stateful
    """,
    calls=True,
    inlined=True,
)
fake_param_op = op("FakeParam() -> output: dtype; dtype: type; shape: shape")


@fake_param_op.shape
def fake_param_shape(node: Node) -> OutputDims:
    return node.op.attrs["shape"]._dims


@fake_param_op.kernel
def fake_param_kernel(node: Node) -> Kernel:
    # Stands where a branch has no value; nothing reads it.
    if node.op.attrs["dtype"] == dtypes.string:
        return lambda: np.array(b"", object)
    return lambda: torch.zeros(())


# ---- shapes


def _stated_shapes(node: Node) -> list[tuple[int | None, ...] | None]:
    """Return the shapes that the node itself states, as the builders of control flow leave them."""
    shapes = node.op.attrs.get("output_shapes") or ()
    if len(shapes) != len(node.outputs):
        return [None] * len(node.outputs)
    return [shape._dims for shape in shapes]


def _unknown(node: Node) -> list[None]:
    return [None] * len(node.outputs)


def _loop_shapes(node: Node) -> list[tuple[int | None, ...] | None]:
    if node.op.attrs.get("output_shapes"):
        return _stated_shapes(node)
    return [node.dims(index) for index in range(len(node.outputs))]


for _card in (if_op, stateless_if_op, case_op):
    _card.shape(_stated_shapes)
for _card in (while_op, stateless_while_op):
    _card.shape(_loop_shapes)
for _card in (remote_call_op, for_op, underscore_if_op, underscore_while_op):
    _card.shape(_unknown)

_being_called: ContextVar[tuple[str, ...]] = ContextVar("_being_called", default=())


def _call_shapes(node: Node) -> Any:
    """Return the shapes of the body's results; unknown for recursive or missing functions."""
    name = node.f.name
    if node.planning or name in _being_called.get():
        return _unknown(node)
    token = _being_called.set((*_being_called.get(), name))
    try:
        body = _body(node)
        fits = body is not None and len(body.inputs) == len(node.inputs)
        if body is None or not fits or len(body.outputs) < len(node.outputs):
            return _unknown(node)
        given = [node.dims(index) for index in range(len(node.inputs))]
        return shapes_of_call(body, node.inputs, given)[: len(node.outputs)]
    finally:
        _being_called.reset(token)


def _body(node: Node) -> FuncGraph | None:
    """Return the body of the function that is called.

    None if there is none, as the run will tell.
    """
    function = find_function(node.op.graph, node.f.name)
    try:
        return None if function is None else function.instantiate(node.op.graph, node.f.attr)
    except (errors.OpError, ValueError, TypeError, KeyError):
        return None


for _card in (partitioned_call_op, stateful_partitioned_call_op):
    _card.shape(_call_shapes)


@symbolic_gradient_op.shape
def symbolic_gradient_shape(node: Node) -> OutputDims:
    """Gradients have the shapes of the arguments, or of the variables that these stand for."""
    inputs = node.inputs[: len(node.outputs)]
    return [
        node.dims(index) if tensor._handle_dims is None else tensor._handle_dims
        for index, tensor in enumerate(inputs)
    ]


# ---- kernels


def _bare(values: Sequence[Any]) -> torch.Tensor | list[torch.Tensor]:
    return values[0] if len(values) == 1 else values


def _caller(node: Node, named: Any) -> Callable[..., Sequence[Any]]:
    """Return the callable of a function, compiled at the first call, which may be recursive."""
    compiled: list[Any] = []

    def call(*values: Any) -> Sequence[Any]:
        if not compiled:
            compiled.append(node.function(named))
        return compiled[0](*values)

    return call


def _call_kernel(node: Node) -> Callable[..., Any]:
    call = _caller(node, node.f)
    return lambda *values: _bare(call(*values))


for _card in (partitioned_call_op, stateful_partitioned_call_op):
    _card.kernel(_call_kernel)


@remote_call_op.kernel
def remote_call_kernel(node: Node) -> Kernel:
    call = _caller(node, node.f)
    return lambda target, *values: _bare(call(*values))


@symbolic_gradient_op.kernel
def symbolic_gradient_kernel(node: Node) -> Kernel:
    body: list[FuncGraph] = []

    def call(*values: Any) -> Any:
        if not body:
            body.append(gradient_body(node.op.graph, node.f, len(node.outputs)))
        return _bare(node.function(body[0])(*values))

    return call


def _holds(value: Any) -> bool:
    if value.ndim:
        return bool(value.size if hasattr(value, "strides") else value.numel())
    return bool(value[()] if hasattr(value, "strides") else value)


def _if_kernel(node: Node) -> Callable[..., Any]:
    branches = _caller(node, node.else_branch), _caller(node, node.then_branch)
    return lambda condition, *values: _bare(branches[_holds(condition)](*values))


for _card in (if_op, stateless_if_op, underscore_if_op):
    _card.kernel(_if_kernel)


@case_op.kernel
def case_kernel(node: Node) -> Kernel:
    branches = [_caller(node, named) for named in node.branches]

    def call(index: Any, *values: Any) -> Any:
        position = int(index)
        there = 0 <= position < len(branches)
        return _bare(branches[position if there else -1](*values))

    return call


def _while_kernel(node: Node) -> Callable[..., Any]:
    test, body = _caller(node, node.cond), _caller(node, node.body)

    def call(*values: Any) -> Any:
        current: Sequence[Any] = values
        while _holds(test(*current)[0]):
            current = body(*current)
        return _bare(current)

    return call


for _card in (while_op, stateless_while_op, underscore_while_op):
    _card.kernel(_while_kernel)


@for_op.kernel
def for_kernel(node: Node) -> Kernel:
    body = _caller(node, node.body)

    def call(start: Any, limit: Any, delta: Any, *values: Any) -> Any:
        current: Sequence[Any] = values
        for number in range(int(start), int(limit), int(delta)):
            current = body(torch.tensor(number, dtype=torch.int32), *current)
        return _bare(current)

    return call


def _function_kernel(node: Node) -> Callable[..., Any]:
    call = _caller(node, node.op.type)
    return lambda *values: _bare(call(*values))


# ---- gradients


def _gradients_of(outputs: Sequence[Tensor], grads: Sequence[Any]) -> list[Any]:
    """Return the gradients of a call's results, zeros where there are none."""
    return [
        zeros_like(output) if grad is None else grad
        for output, grad in zip(outputs, grads, strict=True)
    ]


def symbolic(operation: Operation, name: str, grads: Sequence[Any]) -> list[Any]:
    """Return the gradient of a call as a SymbolicGradient of the function it calls."""
    named = protos.NameAttrList(name=name)
    for key, value in operation.node_def.attr.items():
        named.attr[key].CopyFrom(value)
    given = _gradients_of(operation._outputs, grads)
    types = [zeros_dtype(tensor) for tensor in operation._inputs]
    made = symbolic_gradient_op([*operation._inputs, *given], Tout=types, f=named)
    return list(made) if isinstance(made, (list, tuple)) else [made]


def _call_gradient(node: Node, *grads: Any) -> list[Tensor]:
    function = find_function(node.op.graph, node.f.name)
    if function is not None and function.python_grad_func is not None:
        return function.python_grad_func(node.op, *grads)
    return symbolic(node.op, node.f.name, grads)


for _card in (partitioned_call_op, stateful_partitioned_call_op):
    _card.gradient(_call_gradient)


def _function_gradient(node: Node, *grads: Any) -> Any:
    card = node.op.card
    assert isinstance(card, FunctionCard)
    python = card.function.python_grad_func
    if python is not None:
        return python(node.op, *grads)
    return symbolic(node.op, node.op.type, grads)


call_parts.provide((_function_kernel, _function_gradient))
