"""Trigonometric and hyperbolic functions and their inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.api import control_dependencies
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel
from stillflow.graph.traits import Cost
from stillflow.ops.constants import constant
from stillflow.ops.dispatch import dispatchable, map_sparse_values
from stillflow.ops.math.binary import add, broadcasting_op, subtract
from stillflow.ops.math.complex import conj
from stillflow.ops.math.element_loops import tangents
from stillflow.ops.math.kernels import FIELD, NUMBER, REAL, broadcasting_call
from stillflow.ops.math.unary import (
    reciprocal,
    slope_op,
    sqrt,
    square,
    unary_function,
    unary_op,
)
from stillflow.ops.samples import Sample, Samples

_WITHIN_ONE = np.array([[-0.75, -0.2], [0.3, 0.6]], np.float32)
_ABOVE_ONE = np.array([[1.25, 2.0], [3.0, 7.5]], np.float32)

sin_op = unary_op("Sin", FIELD, "sin", cost=Cost(soon=True), batching="vmap")
cos_op = unary_op("Cos", FIELD, "cos", cost=Cost(soon=True), batching="vmap")
tan_op = unary_op("Tan", NUMBER, "tan", _WITHIN_ONE, cost=Cost(soon=True), batching="vmap")
asin_op = unary_op("Asin", NUMBER, "asin", _WITHIN_ONE, cost=Cost(soon=True), batching="vmap")
acos_op = unary_op("Acos", NUMBER, "acos", _WITHIN_ONE, cost=Cost(soon=True), batching="vmap")
atan_op = unary_op("Atan", NUMBER, "atan", cost=Cost(soon=True), batching="vmap")
sinh_op = unary_op("Sinh", FIELD, "sinh", batching="vmap")
cosh_op = unary_op("Cosh", FIELD, "cosh", batching="vmap")
tanh_op = unary_op("Tanh", FIELD, tangents, cost=Cost(soon=True), batching="vmap")
asinh_op = unary_op("Asinh", FIELD, "asinh", cost=Cost(nanoseconds=20.0), batching="vmap")
acosh_op = unary_op(
    "Acosh", FIELD, "acosh", _ABOVE_ONE, cost=Cost(nanoseconds=15.0), batching="vmap"
)
atanh_op = unary_op("Atanh", FIELD, "atanh", _WITHIN_ONE, batching="vmap")


def _tanh_grad(y: Any, dy: Any) -> torch.Tensor:
    return dy * (1 - y * y)


tanh_grad_op = slope_op("TanhGrad", _tanh_grad, fused="tanh_backward")


@sin_op.gradient
def sin_gradient(node: Node, grad: Any) -> Gradients:
    with control_dependencies([grad]):
        return grad * cos(conj(node.inputs[0]))


@cos_op.gradient
def cos_gradient(node: Node, grad: Any) -> Gradients:
    with control_dependencies([grad]):
        x = conj(node.inputs[0])
        return -grad * sin(x)


@tan_op.gradient
def tan_gradient(node: Node, grad: Any) -> Gradients:
    with control_dependencies([grad]):
        secant = reciprocal(cos(conj(node.inputs[0])))
        return square(secant) * grad


def _one_minus_square(node: Node, grad: Any) -> Tensor:
    squared = square(conj(node.inputs[0]))
    one = constant(1, dtype=grad.dtype)
    return subtract(one, squared)


@asin_op.gradient
def asin_gradient(node: Node, grad: Any) -> Gradients:
    with control_dependencies([grad]):
        inverse = reciprocal(sqrt(_one_minus_square(node, grad)))
        return grad * inverse


@acos_op.gradient
def acos_gradient(node: Node, grad: Any) -> Gradients:
    with control_dependencies([grad]):
        inverse = reciprocal(sqrt(_one_minus_square(node, grad)))
        return -grad * inverse


@atan_op.gradient
def atan_gradient(node: Node, grad: Any) -> Gradients:
    with control_dependencies([grad]):
        squared = square(conj(node.inputs[0]))
        one = constant(1, dtype=grad.dtype)
        return grad * reciprocal(add(one, squared))


@sinh_op.gradient
def sinh_gradient(node: Node, grad: Any) -> Gradients:
    with control_dependencies([grad]):
        return grad * cosh(conj(node.inputs[0]))


@cosh_op.gradient
def cosh_gradient(node: Node, grad: Any) -> Gradients:
    with control_dependencies([grad]):
        return grad * sinh(conj(node.inputs[0]))


@tanh_op.gradient
def tanh_gradient(node: Node, grad: Any) -> Gradients:
    with control_dependencies([grad]):
        return tanh_grad_op(conj(node.outputs[0]), grad)


@tanh_grad_op.gradient
def tanh_grad_gradient(node: Node, grad: Any) -> Gradients:
    with control_dependencies([grad]):
        a, b = conj(node.inputs[0]), conj(node.inputs[1])
        return grad * -2.0 * b * a, tanh_grad_op(a, grad)


@asinh_op.gradient
def asinh_gradient(node: Node, grad: Any) -> Gradients:
    with control_dependencies([grad]):
        return grad / cosh(conj(node.outputs[0]))


@acosh_op.gradient
def acosh_gradient(node: Node, grad: Any) -> Gradients:
    with control_dependencies([grad]):
        return grad / sinh(conj(node.outputs[0]))


@atanh_op.gradient
def atanh_gradient(node: Node, grad: Any) -> Gradients:
    with control_dependencies([grad]):
        return grad * reciprocal(_one_minus_square(node, grad))


atan2_op = broadcasting_op(
    f"""
    Atan2(y: T, x: T) -> z: T
    T: {REAL}
""",
    batching="vmap",
)


@atan2_op.kernel
def atan2_kernel(node: Node) -> Kernel:
    return broadcasting_call(node, torch.atan2)


@atan2_op.gradient
def atan2_gradient(node: Node, grad: Any) -> Gradients:
    y, x = node.inputs
    with control_dependencies([grad]):
        grad_inv = grad / (square(x) + square(y))
        return x * grad_inv, -y * grad_inv


@atan2_op.samples
def atan2_samples() -> Samples:
    x = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]], np.float32)
    yield Sample(x, x + 1.25)
    # TF does not sum the gradient of an input that was broadcast.
    yield Sample(x, np.array([2.0, -1.0, 4.0], np.float32), grad=False)


sin = export("math.sin", "sin")(
    unary_function(sin_op, "sin", "The sine of `x`, in radians", ("[0.0]", "[0.]"))
)
cos = export("math.cos", "cos")(
    unary_function(cos_op, "cos", "The cosine of `x`, in radians", ("[0.0]", "[1.]"))
)
tan = export("math.tan", "tan")(unary_function(tan_op, "tan", "The tangent of `x`, in radians"))
asin = export("math.asin", "asin")(
    unary_function(asin_op, "asin", "The angle between -pi/2 and pi/2 whose sine is `x`")
)
acos = export("math.acos", "acos")(
    unary_function(acos_op, "acos", "The angle between 0 and pi whose cosine is `x`")
)
atan = export("math.atan", "atan")(
    unary_function(atan_op, "atan", "The angle between -pi/2 and pi/2 whose tangent is `x`")
)
sinh = export("math.sinh", "sinh")(unary_function(sinh_op, "sinh", "The hyperbolic sine of `x`"))
cosh = export("math.cosh", "cosh")(unary_function(cosh_op, "cosh", "The hyperbolic cosine of `x`"))
tanh = export("math.tanh", "nn.tanh", "tanh")(
    unary_function(tanh_op, "tanh", "The hyperbolic tangent of `x`", ("[0.0, 100.0]", "[0. 1.]"))
)
asinh = export("math.asinh", "asinh")(
    unary_function(asinh_op, "asinh", "The inverse of the hyperbolic sine at `x`")
)
acosh = export("math.acosh", "acosh")(
    unary_function(acosh_op, "acosh", "The inverse of the hyperbolic cosine at `x`")
)
atanh = export("math.atanh", "atanh")(
    unary_function(atanh_op, "atanh", "The inverse of the hyperbolic tangent at `x`")
)


@export("math.atan2", "atan2")
@dispatchable
def atan2(y: Any, x: Any, name: str | None = None) -> Tensor:
    """Return the angle of the point `(x, y)`, between -pi and pi, element by element."""
    return atan2_op(y, x, name=name)


map_sparse_values(tanh)
