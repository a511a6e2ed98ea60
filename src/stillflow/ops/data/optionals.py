"""Ops on values that may be missing: OptionalFromValue, OptionalGetValue and the like."""

from __future__ import annotations

from typing import Any

from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops.data.pipeline import TYPED, component_dims, invalid
from stillflow.ops.data.walk import Element
from stillflow.ops.kernels import zeros_of


class OptionalValue:
    """Components, or None."""

    __slots__ = ("components",)
    shape = ()

    def __init__(self, components: Element | None) -> None:
        self.components = components

    def zeros_like(self) -> OptionalValue:
        """Return the same with components of zeros."""
        if self.components is None:
            return self
        return OptionalValue(tuple([zeros_of(value) for value in self.components]))

    def __add__(self, other: OptionalValue) -> OptionalValue:
        if (self.components is None) != (other.components is None):
            raise invalid("Cannot add optionals because one has a value and the other doesn't.")
        if self.components is None or other.components is None:
            return self
        if len(self.components) != len(other.components):
            raise invalid("Cannot add optionals because they have different numbers of components.")
        pairs = zip(self.components, other.components, strict=True)
        return OptionalValue(tuple([a + b for a, b in pairs]))


def _scalar_shape(node: Node) -> Any:
    return ()


optional_from_value_op = op(
    "OptionalFromValue(components: [Toutput_types]) -> optional: variant\n"
    "Toutput_types: list(type) >= 1",
    view=True, effect="state", devices="host first", handle="optional")  # fmt: skip
optional_from_value_op.shape(_scalar_shape)
optional_from_value_op.kernel(lambda node: lambda *components: OptionalValue(components))

optional_none_op = op(
    "OptionalNone() -> optional: variant",
    differentiable=False,
    effect="state",
    devices="host first",
    handle="optional",
)
optional_none_op.shape(_scalar_shape)
optional_none_op.kernel(lambda node: lambda: OptionalValue(None))

optional_has_value_op = op(
    "OptionalHasValue(optional: variant) -> has_value: bool",
    differentiable=False,
    effect="state",
    devices="host first",
    handle="optional",
)
optional_has_value_op.shape(_scalar_shape)


def _as_optional(value: Any) -> OptionalValue:
    if not isinstance(value, OptionalValue) and getattr(value, "shape", None) == ():
        value = value.item()
    if not isinstance(value, OptionalValue):
        raise invalid("Input to OptionalHasValue must be an OptionalVariant object.")
    return value


@optional_has_value_op.kernel
def optional_has_value_kernel(node: Node) -> Kernel:
    return lambda value: torch.tensor(_as_optional(value).components is not None)


optional_get_value_op = op(
    f"OptionalGetValue(optional: variant) -> components: [output_types]{TYPED}",
    view=True, effect="state", devices="host first", handle="optional")  # fmt: skip


@optional_get_value_op.shape
def optional_get_value_shape(node: Node) -> OutputDims:
    return component_dims(node)


@optional_get_value_op.kernel
def optional_get_value_kernel(node: Node) -> Kernel:
    bare = len(node.outputs) == 1
    types = list(node.output_types)

    def run(value: Any) -> Any:
        components = _as_optional(value).components
        if components is None:
            raise invalid("The given optional does not have a value.")
        if len(components) != len(types):
            raise invalid(
                f"The given optional has {len(components)} components, expected {len(types)}."
            )
        return components[0] if bare else components

    return run


@optional_from_value_op.gradient
def optional_from_value_gradient(node: Node, grad: Tensor) -> Gradients:
    types = [tensor.dtype for tensor in node.inputs]
    shapes = [tensor.shape for tensor in node.inputs]
    return optional_get_value_op(grad, output_types=types, output_shapes=shapes)


@optional_get_value_op.gradient
def optional_get_value_gradient(node: Node, *grads: Tensor) -> Gradients:
    return optional_from_value_op(list(grads))
