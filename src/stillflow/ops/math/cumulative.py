"""Running sums, products and log-sum-exps along an axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.card import Card, op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dims import to_string
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel
from stillflow.ops import forward_declarations
from stillflow.ops.arrays import select as selects
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.kernels import torch_type
from stillflow.ops.math.comparison import greater, less
from stillflow.ops.math.kernels import ANY_NUMBER, NUMPY_TYPES, invalid, through_numpy
from stillflow.ops.math.unary import exp, log
from stillflow.ops.samples import Bad, Sample, Samples

_SIGNATURE = """(x: T, axis: Tidx) -> out: T
    exclusive: bool = false
    reverse: bool = false
    T: {kinds}
    Tidx: {{int32, int64}} = int32
"""


def _scan_op(name: str, kinds: str = ANY_NUMBER) -> Card:
    card = op(name + _SIGNATURE.format(kinds=kinds), numbers=("axis",))
    card.shape(lambda node: node.dims(0))
    card.samples(_samples)
    return card


def _samples() -> Samples:
    x = np.array([[1.0, -2.0, 3.5], [0.5, 4.0, -1.5]], np.float32)
    for exclusive in (False, True):
        for reverse in (False, True):
            attrs = {"exclusive": exclusive, "reverse": reverse}
            # The logarithm of an empty sum is too large to differentiate.
            yield Sample(x, np.int32(1), fixed=(1,), grad=not exclusive, **attrs)
    yield Sample(x, np.int32(-2), fixed=(1,))
    yield Sample(x.astype(np.float16), np.int32(1), fixed=(1,), exclusive=True, grad=False)
    yield Bad(x, np.int32(2), match="Expected scan axis in the range")


cumsum_op = _scan_op("Cumsum")
cumprod_op = _scan_op("Cumprod")
cumulative_logsumexp_op = _scan_op("CumulativeLogsumexp", "{half, float, double}")


def _axis(x: Any, axis: Any) -> int:
    if axis.ndim != 0:
        raise invalid(f"ScanOp: axis must be a scalar, not {to_string(tuple(axis.shape))}")
    number = int(axis)
    if not -x.dim() <= number < x.dim():
        counted = number + x.dim() if number < 0 else number
        raise invalid(
            f"ScanOp: Expected scan axis in the range [{-x.dim()}, {x.dim()}), but got {counted}"
        )
    return number


def _scan_kernel(
    node: Node, scan: Callable[[Any, int], Any], start: Any
) -> Call | Callable[..., Any]:
    """Return the kernel of an inclusive `scan` along an axis, which is exclusive from `start`."""
    exclusive, reverse = node.exclusive, node.reverse

    def run(x: Any, axis: Any) -> torch.Tensor:
        axis = _axis(x, axis)
        if x.numel() == 0:
            return x.clone()
        x = x.flip(axis) if reverse else x
        if exclusive:
            first = torch.full_like(x.narrow(axis, 0, 1), start)
            x = torch.cat([first, x.narrow(axis, 0, x.shape[axis] - 1)], axis)
        result = scan(x, axis)
        return result.flip(axis) if reverse else result

    axis = node.value(1)
    if axis is None:
        return run
    shape = node.dims(0)
    exists = shape is not None and axis.ndim == 0 and -len(shape) <= axis < len(shape)
    if exists and not exclusive and not reverse:
        return node.call(scan, node.inputs[0], int(axis))
    return node.call(run, node.inputs[0], axis)


def _numpy_scan(node: Node, scan: Callable[..., Any], start: int) -> Callable[..., Any]:
    exclusive, reverse = node.exclusive, node.reverse

    def run(x: Any, axis: Any) -> torch.Tensor:
        number = _axis(x, axis)

        def on_array(array: np.ndarray) -> np.ndarray:
            array = np.flip(array, number) if reverse else array
            result = scan(array, axis=number, dtype=array.dtype)
            if exclusive:
                result = np.roll(result, 1, number)
                np.moveaxis(result, number, 0)[:1] = start
            return np.ascontiguousarray(np.flip(result, number) if reverse else result)

        return through_numpy(on_array, node.T)(x)

    return run


def _in_numpy(node: Node) -> bool:
    """Return True if torch does not add in this type: TF rounds every partial sum to it."""
    return node.T in NUMPY_TYPES or (node.T is dtypes.float16 and str(node.device) == "cpu")


@cumsum_op.kernel
def cumsum_kernel(node: Node) -> Kernel:
    if _in_numpy(node):
        return _numpy_scan(node, np.cumsum, 0)
    kind = torch_type(node.T)
    return _scan_kernel(node, lambda x, axis: torch.cumsum(x, axis, dtype=kind), 0)


@cumprod_op.kernel
def cumprod_kernel(node: Node) -> Kernel:
    if _in_numpy(node):
        return _numpy_scan(node, np.cumprod, 1)
    kind = torch_type(node.T)
    return _scan_kernel(node, lambda x, axis: torch.cumprod(x, axis, dtype=kind), 1)


@cumulative_logsumexp_op.kernel
def cumulative_logsumexp_kernel(node: Node) -> Kernel:
    # TF starts from the lowest finite number, so that is the logarithm of 0.
    lowest = float(node.T.min)

    def scan(x: Any, axis: int) -> torch.Tensor:
        x = torch.where(torch.isnan(x), lowest, x)  # TF passes over NaNs
        return torch.logcumsumexp(x, axis).clamp_(min=lowest)

    return _scan_kernel(node, scan, lowest)


@cumsum_op.gradient
def cumsum_gradient(node: Node, grad: Tensor) -> Gradients:
    result = cumsum(grad, node.inputs[1], exclusive=node.exclusive, reverse=not node.reverse)
    return [result, None]


@cumprod_op.gradient
def cumprod_gradient(node: Node, grad: Tensor) -> Gradients:
    x, axis = node.inputs
    product = cumprod(x, axis, exclusive=node.exclusive, reverse=node.reverse)
    out = cumsum(product * grad, axis, exclusive=node.exclusive, reverse=not node.reverse)
    return [out / x, None]


@cumulative_logsumexp_op.gradient
def cumulative_logsumexp_gradient(node: Node, grad: Tensor) -> Gradients:
    x, axis = node.inputs
    y = node.outputs[0]
    lowest = grad.dtype.min
    # Logarithms take positive and negative gradients apart.
    log_positive = selects.where_v2(greater(grad, 0), log(grad), lowest)
    log_negative = selects.where_v2(less(grad, 0), log(-grad), lowest)

    def scanned(log_grad: Tensor) -> Tensor:
        return exp(
            cumulative_logsumexp(
                log_grad - y, axis=axis, reverse=not node.reverse, exclusive=node.exclusive
            )
            + x
        )

    return [scanned(log_positive) - scanned(log_negative), None]


@export("math.cumsum", "cumsum")
@dispatchable
def cumsum(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Compute running sums of `x` along an axis.

    Args:
      x: a tensor of numbers.
      axis: a scalar.
      exclusive: leave each element itself out of its sum.
      reverse: sum from the end.
      name: of the operation.
    """
    with name_scope(name, "Cumsum", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return cumsum_op(x, axis, exclusive=exclusive, reverse=reverse, name=scope)


@export("math.cumprod", "cumprod")
@dispatchable
def cumprod(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Compute running products of `x` along an axis; see `cumsum`."""
    with name_scope(name, "Cumprod", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return cumprod_op(x, axis, exclusive=exclusive, reverse=reverse, name=scope)


forward_declarations.cumprod.provide(cumprod)


@export("math.cumulative_logsumexp")
@dispatchable
def cumulative_logsumexp(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Compute running logarithms of sums of exponentials of `x` along an axis; see `cumsum`."""
    with name_scope(name, "CumulativeLogsumexp", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return cumulative_logsumexp_op(x, axis, exclusive=exclusive, reverse=reverse, name=scope)
