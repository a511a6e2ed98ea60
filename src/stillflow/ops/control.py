"""Ops that only order or hand on: NoOp, Identity, StopGradient, group, tuple."""

from __future__ import annotations

from typing import Any

from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor

no_op_op = op("NoOp()")


def _nothing() -> None:
    return None


@no_op_op.kernel
def no_op_kernel(node: Node) -> Any:
    return node.call(_nothing)


def _same_shape(node: Node) -> Any:
    return node.dims(0)


def _same(node: Node) -> Any:
    return node.same(0)


identity_op = op("Identity(input: T) -> output: T; T: type", view=True)
identity_op.shape(_same_shape)
identity_op.kernel(_same)


@identity_op.value
def identity_value(node: Node) -> Any:
    return node.value(0)


@identity_op.gradient
def identity_gradient(node: Node, grad: Tensor) -> Tensor:
    return grad


@export("no_op")
def no_op(name: str | None = None) -> Any:
    """An operation that does nothing; a place for control dependencies."""
    return no_op_op(name=name)


@export("identity")
def identity(input: Any, name: str | None = None) -> Tensor:
    """A tensor with the value of `input`."""
    return identity_op(input, name=name)
