"""Operations on the bits of integers: `tf.bitwise`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph.card import Card, op
from stillflow.graph.constant_value import value_of
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.math.broadcasting import broadcast_shape
from stillflow.ops.math.kernels import NUMPY_TYPES, element_wise, through_numpy
from stillflow.ops.samples import Bad, Sample, Samples

_INTEGERS = "{int8, int16, int32, int64, uint8, uint16, uint32, uint64}"


def _binary(name: str, torch_name: str, in_numpy: Callable[..., Any]) -> Card:
    card = op(
        f"{name}(x: T, y: T) -> z: T; T: {_INTEGERS}; flags: commutative", differentiable=False
    )
    card.shape(broadcast_shape)
    card.value(value_of(in_numpy))
    card.kernel(lambda node: element_wise(node, getattr(torch, torch_name), in_numpy))
    card.samples(_samples)
    return card


def _samples() -> Samples:
    yield Sample(np.array([5, -3, 0], np.int32), np.array([[3], [-1]], np.int32))
    yield Bad(
        np.array([1, 2], np.int32),
        np.array([1, 2, 3], np.int32),
        match="must be equal|Incompatible shapes",
    )


bitwise_and_op = _binary("BitwiseAnd", "bitwise_and", np.bitwise_and)
bitwise_or_op = _binary("BitwiseOr", "bitwise_or", np.bitwise_or)
bitwise_xor_op = _binary("BitwiseXor", "bitwise_xor", np.bitwise_xor)

invert_op = op(f"Invert(x: T) -> y: T; T: {_INTEGERS}", differentiable=False)
population_count_op = op(f"PopulationCount(x: T) -> y: uint8; T: {_INTEGERS}", differentiable=False)


@invert_op.shape
@population_count_op.shape
def same_shape(node: Node) -> OutputDims:
    return node.dims(0)


@invert_op.kernel
def invert_kernel(node: Node) -> Kernel:
    return element_wise(node, torch.bitwise_not, np.invert)


def _count_bits(x: np.ndarray) -> np.ndarray:
    counts: np.ndarray = np.bitwise_count(x.view(f"u{x.dtype.itemsize}"))  # not of magnitudes
    return counts


@population_count_op.kernel
def population_count_kernel(node: Node) -> Kernel:
    return through_numpy(_count_bits, node.outputs[0].dtype)


@invert_op.samples
@population_count_op.samples
def one_input_samples() -> Samples:
    yield Sample(np.array([[0, 1], [255, -1]], np.int32))


# ---- shifts

left_shift_op = op(f"LeftShift(x: T, y: T) -> z: T; T: {_INTEGERS}", differentiable=False)
right_shift_op = op(f"RightShift(x: T, y: T) -> z: T; T: {_INTEGERS}", differentiable=False)
left_shift_op.shape(broadcast_shape)
right_shift_op.shape(broadcast_shape)


def _shift_kernel(
    node: Node, shift: Callable[..., Any], in_numpy: Callable[..., Any]
) -> Callable[..., Any]:
    """Shift as TF does: amounts below 0 or above all bits are limited."""
    last = node.T.size * 8 - 1
    if node.T in NUMPY_TYPES:
        return through_numpy(lambda x, y: in_numpy(x, np.clip(y, 0, last)), node.T)
    return lambda x, y: shift(x, y.clamp(0, last))


@left_shift_op.kernel
def left_shift_kernel(node: Node) -> Kernel:
    return _shift_kernel(node, torch.bitwise_left_shift, np.left_shift)


@right_shift_op.kernel
def right_shift_kernel(node: Node) -> Kernel:
    return _shift_kernel(node, torch.bitwise_right_shift, np.right_shift)


@left_shift_op.samples
@right_shift_op.samples
def shift_samples() -> Samples:
    yield Sample(np.array([5, -3, 1], np.int32), np.array([1, 2, 40], np.int32))


# ---- public functions


@export("bitwise.bitwise_and")
@dispatchable
def bitwise_and(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the bits set in both integers, element by element."""
    return bitwise_and_op(x, y, name=name)


@export("bitwise.bitwise_or")
@dispatchable
def bitwise_or(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the bits set in either of two integers, element by element."""
    return bitwise_or_op(x, y, name=name)


@export("bitwise.bitwise_xor")
@dispatchable
def bitwise_xor(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the bits set in exactly one of two integers, element by element."""
    return bitwise_xor_op(x, y, name=name)


@export("bitwise.invert")
@dispatchable
def invert(x: Any, name: str | None = None) -> Tensor:
    """Return the bits not set in an integer, element by element."""
    return invert_op(x, name=name)


@export("bitwise.left_shift")
@dispatchable
def left_shift(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the bits of `x` moved up by `y` places, element by element."""
    return left_shift_op(x, y, name=name)


@export("bitwise.right_shift")
@dispatchable
def right_shift(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the bits of `x` moved down by `y` places; the sign of negative numbers is kept."""
    return right_shift_op(x, y, name=name)
