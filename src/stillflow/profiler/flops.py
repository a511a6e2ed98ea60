"""Floating-point operations of operations, counted as TensorFlow 1.15 does."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from stillflow.graph.operation import Operation


class UnknownShape(ValueError):
    """A shape that the count depends on is not known in full."""


def _dims(tensor: Any) -> list[int]:
    shape = tensor.get_shape()
    if not shape.is_fully_defined():
        raise UnknownShape(f"Shape {shape} is not fully defined")
    dims: list[int] = shape.as_list()
    return dims


def _size(tensor: Any) -> int:
    return prod(_dims(tensor))


def _unary(each: int = 1) -> Callable[[Operation], int]:
    return lambda op: each * _size(op.inputs[0])


def _binary(each: int = 1) -> Callable[[Operation], int]:
    return lambda op: each * _size(op.outputs[0])


def _reduction(finalize: int = 0) -> Callable[[Operation], int]:
    return lambda op: _size(op.inputs[0]) + _size(op.outputs[0]) * (finalize - 1)


def _product(op: Operation) -> int:
    dims = _dims(op.inputs[0])
    inner = dims[-2] if op.type == "MatMul" and op.get_attr("transpose_a") else dims[-1]
    return 2 * inner * _size(op.outputs[0])


def _convolution(dimensions: int) -> Callable[[Operation], int]:
    """Return the count of a convolution over that many filter dimensions."""

    def count(op: Operation) -> int:
        _dims(op.inputs[0])
        return 2 * _size(op.outputs[0]) * prod(_dims(op.inputs[1])[:dimensions])

    return count


def _check_format(op: Operation) -> None:
    if op.get_attr("data_format") != b"NHWC":
        raise ValueError("Only NHWC format is supported in flops computations")


def _convolution_gradient(image: Callable[[Operation], Any]) -> Callable[[Operation], float]:
    def count(op: Operation) -> float:
        _check_format(op)
        filters = op.inputs[1] if op.type == "Conv2DBackpropInput" else op.outputs[0]
        dims, strides = _dims(image(op)), op.get_attr("strides")
        return 2 * prod(dims) * _size(filters) / (dims[-1] * strides[1] * strides[2])

    return count


def _pool(of: Callable[[Operation], Any], each: int = 1, more: int = 0) -> Callable[..., Any]:
    def count(op: Operation) -> int:
        _check_format(op)
        return (each * prod(op.get_attr("ksize")) + more) * _size(of(op))

    return count


# {type of operation: the function that counts it}; a count depends on static shapes.
COUNTS: dict[str, Callable[[Operation], float]] = {
    **dict.fromkeys(("Reciprocal", "Square", "Log", "Neg", "AssignSub", "AssignAdd"), _unary()),
    "Rsqrt": _unary(2), "Softmax": _unary(5), "BiasAdd": _unary(),
    "L2Loss": lambda op: 3 * _size(op.inputs[0]) - 1,
    **dict.fromkeys(
        ("Add", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "Pow", "GreaterEqual", "Greater",
         "LessEqual", "Less", "Equal", "NotEqual"), _binary(),
    ),
    "RsqrtGrad": _binary(4), "SquaredDifference": _binary(2),
    **dict.fromkeys(("Sum", "ArgMax", "ArgMin", "BiasAddGrad"), _reduction()),
    "Mean": _reduction(1),
    "AddN": lambda op: _size(op.inputs[0]) * (len(op.inputs) - 1),
    "MatMul": _product, "BatchMatMul": _product,
    "Conv2D": _convolution(3), "Conv3D": _convolution(4),
    "DepthwiseConv2dNative": _convolution(2), "Dilation2D": _convolution(2),
    "Conv2DBackpropInput": _convolution_gradient(lambda op: op.outputs[0]),
    "Conv2DBackpropFilter": _convolution_gradient(lambda op: op.inputs[0]),
    "AvgPool": _pool(lambda op: op.outputs[0]), "MaxPool": _pool(lambda op: op.outputs[0]),
    "AvgPoolGrad": _pool(lambda op: op.inputs[1], each=2),
    "MaxPoolGrad": _pool(lambda op: op.inputs[1], more=1),
}  # fmt: skip
