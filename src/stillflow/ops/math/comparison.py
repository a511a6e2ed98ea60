"""Comparisons of two tensors, logic, and checks of finite numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph import dims, dtypes, operation
from stillflow.graph.card import Card, op
from stillflow.graph.constant_value import value_of
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.traits import Scalar
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.math.broadcasting import broadcast_shape
from stillflow.ops.math.kernels import (
    ANY_NUMBER,
    REAL,
    REAL_NUMBER,
    broadcasting_call,
    element_wise,
)
from stillflow.ops.samples import Bad, Sample, Samples


def _comparison(name: str, torch_name: str, in_numpy: Callable[..., Any], scalar: str) -> Card:
    """Return the card of an order relation."""
    card = op(
        f"{name}(x: T, y: T) -> z: bool; T: {REAL_NUMBER}",
        differentiable=False,
        batching="vmap",
        scalar=Scalar(scalar),
    )
    card.shape(broadcast_shape)
    card.value(value_of(in_numpy))
    card.kernel(lambda node: element_wise(node, getattr(torch, torch_name), in_numpy))
    card.samples(_pairs)
    return card


def _pairs() -> Samples:
    x = np.array([[1.0, 2.0, 3.0], [-1.0, 0.0, 2.0]], np.float32)
    yield Sample(x, np.array([1.0, 1.0, 3.0], np.float32))
    yield Sample(x, np.float32(2.0))
    yield Bad(x, np.zeros([2], np.float32), match="must be equal|Incompatible shapes")


less_op = _comparison("Less", "lt", np.less, "{} < {}")
less_equal_op = _comparison("LessEqual", "le", np.less_equal, "{} <= {}")
greater_op = _comparison("Greater", "gt", np.greater, "{} > {}")
greater_equal_op = _comparison("GreaterEqual", "ge", np.greater_equal, "{} >= {}")

_EQUALITY = """(x: T, y: T) -> z: bool
    T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, quint8,\
 qint8, qint32, string, bool, complex128}
    incompatible_shape_error: bool = true
    flags: commutative
"""

equal_op = op("Equal" + _EQUALITY, differentiable=False, batching="vmap", scalar=Scalar("{} == {}"))
not_equal_op = op(
    "NotEqual" + _EQUALITY, differentiable=False, batching="vmap", scalar=Scalar("{} != {}")
)


@equal_op.shape
@not_equal_op.shape
def equal_shape(node: Node) -> OutputDims:
    if node.incompatible_shape_error:
        return broadcast_shape(node)
    x, y = node.dims(0), node.dims(1)
    if x is None or y is None:
        return None
    rank = max(len(x), len(y))
    sizes: list[int | None] = []
    for pair in zip((1,) * (rank - len(x)) + x, (1,) * (rank - len(y)) + y, strict=True):
        if None in pair and 1 not in pair and not (pair == (None, None) and x is y):
            return None  # whether they can be compared decides about the rank
        try:
            sizes.extend(dims.broadcast(pair[:1], pair[1:]) or ())
        except ValueError:
            return ()  # one answer for tensors that cannot be compared element by element
    return tuple(sizes)


def _equality_value(in_numpy: Callable[..., Any]) -> Callable[[Node], Any]:
    known = value_of(in_numpy)

    def value(node: Node) -> Any:
        if dtypes.string == node.T:
            return None
        return known(node)

    return value


def _compare(node: Node, function: Any, in_numpy: Callable[..., Any]) -> Call | Callable[..., Any]:
    strings = dtypes.string == node.T

    def on_strings(x: Any, y: Any) -> torch.Tensor:
        return torch.from_numpy(np.asarray(in_numpy(x, y), dtype=bool))

    compare = on_strings if strings else function
    if node.incompatible_shape_error:
        return broadcasting_call(node, compare)

    def or_one_answer(x: Any, y: Any) -> Any:
        try:
            np.broadcast_shapes(tuple(x.shape), tuple(y.shape))
        except ValueError:
            return torch.tensor(in_numpy is np.not_equal, device=node.device)
        return compare(x, y)

    return or_one_answer


equal_op.value(_equality_value(np.equal))
not_equal_op.value(_equality_value(np.not_equal))


@equal_op.kernel
def equal_kernel(node: Node) -> Kernel:
    return _compare(node, torch.eq, np.equal)


@not_equal_op.kernel
def not_equal_kernel(node: Node) -> Kernel:
    return _compare(node, torch.ne, np.not_equal)


equal_op.samples(_pairs)
not_equal_op.samples(_pairs)

approximate_equal_op = op(
    f"""
    ApproximateEqual(x: T, y: T) -> z: bool
    T: {ANY_NUMBER}
    tolerance: float = 9.9999997e-06
    flags: commutative
""",
    differentiable=False,
)


@approximate_equal_op.check
def approximate_equal_check(node: Node) -> None:
    x, y = node.dims(0), node.dims(1)
    if node.planning and dims.is_known(x) and dims.is_known(y) and x != y:
        raise ValueError(
            f"x and y must be of the same shape. x shape: {dims.to_string(x)}. "
            f"y shape: {dims.to_string(y)}"
        )
    dims.merge(x, y)


@approximate_equal_op.shape
def approximate_equal_shape(node: Node) -> OutputDims:
    return dims.merge(node.dims(0), node.dims(1))


@approximate_equal_op.kernel
def approximate_equal_kernel(node: Node) -> Kernel:
    tolerance = node.tolerance

    def close(x: Any, y: Any) -> Any:
        if x.is_floating_point():
            return (x - y).abs_() <= tolerance
        if x.is_complex():
            return torch.abs(x - y) <= tolerance
        # A difference of integers that is not 0 is at least 1, also where it overflows.
        return torch.eq(x, y) if tolerance <= 1 else torch.abs(x.double() - y.double()) < tolerance

    return close


@approximate_equal_op.samples
def approximate_equal_samples() -> Samples:
    x = np.array([1.0, 2.0, 3.0], np.float32)
    yield Sample(x, x + np.array([0.0, 0.05, 0.5], np.float32), tolerance=0.1)
    yield Bad(x, np.zeros([2], np.float32), match="must be equal")


# ---- logic

_LOGIC = "(x: bool, y: bool) -> z: bool; flags: commutative"

logical_and_op = op(
    "LogicalAnd" + _LOGIC, differentiable=False, batching="vmap", scalar=Scalar("{} and {}")
)
logical_or_op = op(
    "LogicalOr" + _LOGIC, differentiable=False, batching="vmap", scalar=Scalar("{} or {}")
)
logical_not_op = op(
    "LogicalNot(x: bool) -> y: bool", differentiable=False, batching="vmap", scalar=Scalar("not {}")
)

for _card, _in_numpy in ((logical_and_op, np.logical_and), (logical_or_op, np.logical_or)):
    _card.shape(broadcast_shape)
    _card.value(value_of(_in_numpy))


@logical_and_op.kernel
def logical_and_kernel(node: Node) -> Kernel:
    return broadcasting_call(node, torch.logical_and)


@logical_or_op.kernel
def logical_or_kernel(node: Node) -> Kernel:
    return broadcasting_call(node, torch.logical_or)


@logical_not_op.shape
def logical_not_shape(node: Node) -> OutputDims:
    return node.dims(0)


logical_not_op.value(value_of(np.logical_not))


@logical_not_op.kernel
def logical_not_kernel(node: Node) -> Kernel:
    return node.call(torch.logical_not, *node.inputs)


@logical_and_op.samples
@logical_or_op.samples
def logic_samples() -> Samples:
    yield Sample(np.array([[True], [False]]), np.array([True, False]))


@logical_not_op.samples
def logical_not_samples() -> Samples:
    yield Sample(np.array([True, False]))


# ---- kinds of numbers


def finite_ones(x: Any) -> torch.Tensor:
    return torch.lt(torch.abs(x), torch.inf)  # torch.isfinite takes twice as many operations


def _kind(name: str, torch_name: str = "", function: Any = None) -> Card:
    card = op(f"{name}(x: T) -> y: bool; T: {REAL}", differentiable=False)
    card.shape(lambda node: node.dims(0))
    card.kernel(lambda node: node.call(function or getattr(torch, torch_name), *node.inputs))
    card.samples(lambda: iter([Sample(np.array([1.0, np.nan, np.inf, -np.inf], np.float32))]))
    return card


is_nan_op = _kind("IsNan", "isnan")
is_inf_op = _kind("IsInf", "isinf")
is_finite_op = _kind("IsFinite", function=finite_ones)


# ---- public functions


@export("math.less", "less")
@dispatchable
def less(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return True if `x < y`, element by element, with broadcasting.

    Args:
      x, y: tensors of one type, a real one, whose shapes broadcast.
      name: of the operation.

    Returns:
      A bool tensor of the broadcast shape.

    Example:
      >>> print(tf.Session().run(tf.less([1, 2, 3], 2)))
      [ True False False]
    """
    return less_op(x, y, name=name)


@export("math.less_equal", "less_equal")
@dispatchable
def less_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return True if `x <= y`, element by element, with broadcasting.

    Args:
      x, y: tensors of one type, a real one, whose shapes broadcast.
      name: of the operation.

    Returns:
      A bool tensor of the broadcast shape.

    Example:
      >>> print(tf.Session().run(tf.less_equal([1, 2, 3], 2)))
      [ True  True False]
    """
    return less_equal_op(x, y, name=name)


@export("math.greater", "greater")
@dispatchable
def greater(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return True if `x > y`, element by element, with broadcasting.

    Args:
      x, y: tensors of one type, a real one, whose shapes broadcast.
      name: of the operation.

    Returns:
      A bool tensor of the broadcast shape.

    Example:
      >>> print(tf.Session().run(tf.greater([1, 2, 3], 2)))
      [False False  True]
    """
    return greater_op(x, y, name=name)


@export("math.greater_equal", "greater_equal")
@dispatchable
def greater_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return True if `x >= y`, element by element, with broadcasting.

    Args:
      x, y: tensors of one type, a real one, whose shapes broadcast.
      name: of the operation.

    Returns:
      A bool tensor of the broadcast shape.

    Example:
      >>> print(tf.Session().run(tf.greater_equal([1, 2, 3], 2)))
      [False  True  True]
    """
    return greater_equal_op(x, y, name=name)


@export("math.equal", "equal")
@dispatchable
def equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return True if `x` equals `y`, element by element, with broadcasting.

    Args:
      x, y: tensors of one type whose shapes broadcast.
      name: of the operation.

    Returns:
      A bool tensor of the broadcast shape.

    Example:
      >>> print(tf.Session().run(tf.equal([1, 2, 3], [1, 0, 3])))
      [ True False  True]
    """
    return equal_op(x, y, name=name)


operation.equal.provide(equal)


@export("math.not_equal", "not_equal")
@dispatchable
def not_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return True if `x` differs from `y`, element by element, with broadcasting.

    Args:
      x, y: tensors of one type whose shapes broadcast.
      name: of the operation.

    Returns:
      A bool tensor of the broadcast shape.

    Example:
      >>> print(tf.Session().run(tf.not_equal([1, 2, 3], [1, 0, 3])))
      [False  True False]
    """
    return not_equal_op(x, y, name=name)


operation.not_equal.provide(not_equal)


@export("math.logical_and", "logical_and")
@dispatchable
def logical_and(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return True if both `x` and `y` are true, element by element.

    Args:
      x, y: bool tensors whose shapes broadcast.
      name: of the operation.

    Returns:
      A bool tensor of the broadcast shape.

    Example:
      >>> print(tf.Session().run(tf.logical_and([True, True], [True, False])))
      [ True False]
    """
    return logical_and_op(x, y, name=name)


@export("math.logical_or", "logical_or")
@dispatchable
def logical_or(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return True if `x` or `y` is true, element by element.

    Args:
      x, y: bool tensors whose shapes broadcast.
      name: of the operation.

    Returns:
      A bool tensor of the broadcast shape.

    Example:
      >>> print(tf.Session().run(tf.logical_or([True, False], [False, False])))
      [ True False]
    """
    return logical_or_op(x, y, name=name)


@export("math.logical_not", "logical_not")
@dispatchable
def logical_not(x: Any, name: str | None = None) -> Tensor:
    """Return True if `x` is false, element by element.

    Args:
      x: a bool tensor.
      name: of the operation.

    Returns:
      A bool tensor of the shape of `x`.

    Example:
      >>> print(tf.Session().run(tf.logical_not([True, False])))
      [False  True]
    """
    return logical_not_op(x, name=name)


@export("math.logical_xor", "logical_xor")
@dispatchable
def logical_xor(x: Any, y: Any, name: str | None = "LogicalXor") -> Tensor:
    """Return True if exactly one of `x` and `y` is true, element by element."""
    return logical_and(logical_or(x, y), logical_not(logical_and(x, y)), name=name)


@export("math.is_nan", "debugging.is_nan", "is_nan")
@dispatchable
def is_nan(x: Any, name: str | None = None) -> Tensor:
    """Return True where elements of `x` are NaN."""
    return is_nan_op(x, name=name)


@export("math.is_inf", "debugging.is_inf", "is_inf")
@dispatchable
def is_inf(x: Any, name: str | None = None) -> Tensor:
    """Return True where elements of `x` are infinite."""
    return is_inf_op(x, name=name)


@export("math.is_finite", "debugging.is_finite", "is_finite")
@dispatchable
def is_finite(x: Any, name: str | None = None) -> Tensor:
    """Return True where elements of `x` are neither infinite nor NaN."""
    return is_finite_op(x, name=name)
