"""Quotients and remainders: TF has one of each for every way to round."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.lazy import LazyModule, torch
from stillflow.graph.node import Call, Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel
from stillflow.graph.traits import Scalar
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.math import comparison
from stillflow.ops.math.binary import broadcasting_op
from stillflow.ops.math.broadcasting import chain_rule, summing_targets
from stillflow.ops.math.cast import cast
from stillflow.ops.math.complex import conj
from stillflow.ops.math.kernels import (
    NUMPY_TYPES,
    broadcasting_call,
    invalid,
    is_finite,
    no_kernel,
    through_numpy,
)
from stillflow.ops.samples import Bad, Sample, Samples

if TYPE_CHECKING:
    from stillflow.ops.math import unary
else:
    unary = LazyModule("stillflow.ops.math.unary")

_QUOTIENTS = (
    "{bfloat16, half, float, double, uint8, int8, uint16, int16, int32, int64, complex64, "
    "complex128}"
)
_REMAINDERS = "{int32, int64, bfloat16, half, float, double}"
_NO_NAN = "{half, float, double, complex64, complex128}"


# ---- integers: no torch or numpy function divides by zero or the smallest number by -1 as TF does


def _truncated(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """`x / y` rounded towards zero."""
    if x.dtype.kind not in "iu":
        return x / y
    floor, rest = np.divmod(x, y)
    return floor + ((rest != 0) & ((x < 0) != (y < 0))).astype(x.dtype)


def _real(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the quotient of RealDiv, which has no kernel for integers of 16 bits."""
    if x.dtype in (np.int16, np.uint16):
        raise TypeError(x.dtype)
    return _truncated(x, y)


def _floored(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.floor_divide(x, y) if x.dtype.kind in "iu" else np.floor(x / y)


def _nonzero(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a numpy function of two arrays that raises an error for integer divisors of 0."""

    def run(x: Any, y: Any) -> Any:
        if y.dtype.kind in "iu" and x.size and not y.all():
            raise ZeroDivisionError
        return function(x, y)

    return run


def _divide_floor(x: Any, y: Any) -> torch.Tensor:
    return torch.div(x, y, rounding_mode="floor")


def _divide_truncate(x: Any, y: Any) -> torch.Tensor:
    return torch.div(x, y, rounding_mode="trunc")


_BY_ZERO = "Integer division by zero|only integer div and mod should have errors"


def _refusal(node: Node) -> errors.OpError | None:
    """Return TF's error for zero divisors; None where its kernels give all ones for them."""
    kind = node.op.type
    if kind == "RealDiv" or (dtypes.int8 == node.T and kind in ("Div", "TruncateDiv")):
        return None
    if kind.startswith("Truncate"):
        return errors.internal(
            "Unexpected error in binary operator (only integer div and mod should have errors)"
        )
    return invalid("Integer division by zero")


def _checked(node: Node, divide: Callable[..., Any], opposite: bool) -> Callable[..., Any]:
    """Return an integer division that survives any divisor.

    For zero, and for the smallest number by -1, the processor would trap in `divide`. If `opposite`
    dividing by -1 gives `-x`, else 0, as remainders do.
    """

    def run(x: Any, y: Any) -> torch.Tensor:
        if y.numel() and y.amin().item() > 0:  # the usual divisors, found out in one look
            return divide(x, y)
        if not torch.all(y) and x.numel():
            refused = _refusal(node)
            if refused is not None:
                raise refused
            is_zero = y == 0
            ones = torch.iinfo(y.dtype).max if node.T.is_unsigned else -1
            return torch.where(is_zero, ones, run(x, torch.where(is_zero, 1, y)))
        minus = y == -1
        if not torch.any(minus):
            return divide(x, y)
        result = divide(x, torch.where(minus, 1, y))
        return torch.where(minus, torch.neg(x) if opposite else 0, result)

    return run


def _divide_integers(
    node: Node, divide: Callable[..., Any], in_numpy: Callable[..., Any], opposite: bool
) -> Any:
    """Return the kernel of an integer division; a known harmless divisor needs no checks."""
    if node.T in NUMPY_TYPES:

        def in_numpy_checked(x: Any, y: Any) -> Any:
            if not y.all() and x.size:
                raise _refusal(node) or AssertionError("of signed numbers alone")
            return in_numpy(x, y)

        return through_numpy(in_numpy_checked, node.T)
    divisor = node.value(1)
    if divisor is not None and divisor.all() and (node.T.is_unsigned or not (divisor == -1).any()):
        return broadcasting_call(node, divide)
    return broadcasting_call(node, _checked(node, divide, opposite))


# ---- quotients

div_op = broadcasting_op(
    f"Div(x: T, y: T) -> z: T; T: {_QUOTIENTS}", _nonzero(_truncated), batching="vmap"
)
real_div_op = broadcasting_op(
    f"RealDiv(x: T, y: T) -> z: T; T: {_QUOTIENTS}", _nonzero(_real), batching="vmap"
)
truncate_div_op = broadcasting_op(
    f"TruncateDiv(x: T, y: T) -> z: T; T: {_QUOTIENTS}", _nonzero(_truncated)
)
floor_div_op = broadcasting_op(
    f"FloorDiv(x: T, y: T) -> z: T; T: {_QUOTIENTS}",
    _nonzero(_floored),
    batching="vmap",
    scalar=Scalar("{} // {}", divides=True),
)
div_no_nan_op = broadcasting_op(f"DivNoNan(x: T, y: T) -> z: T; T: {_NO_NAN}", batching="vmap")
xdivy_op = broadcasting_op(f"Xdivy(x: T, y: T) -> z: T; T: {_NO_NAN}")
xlogy_op = broadcasting_op(f"Xlogy(x: T, y: T) -> z: T; T: {_NO_NAN}")


def _quotient_kernel(node: Node) -> Call | Callable[..., Any]:
    if node.op.type == "RealDiv" and node.T in (dtypes.int16, dtypes.uint16):
        raise no_kernel(node)
    if node.T.is_integer:
        return _divide_integers(node, _divide_truncate, _truncated, opposite=True)
    return broadcasting_call(node, torch.div)


div_op.kernel(_quotient_kernel)
real_div_op.kernel(_quotient_kernel)
truncate_div_op.kernel(_quotient_kernel)


def _floor_of_quotient(x: Any, y: Any) -> torch.Tensor:
    return torch.floor(torch.div(x, y))


@floor_div_op.kernel
def floor_div_kernel(node: Node) -> Kernel:
    if node.T.is_integer:
        return _divide_integers(node, _divide_floor, np.floor_divide, opposite=True)
    return broadcasting_call(node, _floor_of_quotient)


def _div_no_nan(x: Any, y: Any) -> torch.Tensor:
    result = torch.div(x, y)
    return result if is_finite(result) else result.masked_fill_(y == 0, 0)


@div_no_nan_op.kernel
def div_no_nan_kernel(node: Node) -> Kernel:
    return broadcasting_call(node, _div_no_nan)


def _xdivy(x: Any, y: Any) -> torch.Tensor:
    result = torch.div(x, y)
    return result if is_finite(result) else result.masked_fill_(x == 0, 0)


@xdivy_op.kernel
def xdivy_kernel(node: Node) -> Kernel:
    return broadcasting_call(node, _xdivy)


def _xlogy(x: Any, y: Any) -> torch.Tensor:
    result = torch.mul(x, torch.log(y))
    return result if is_finite(result) else result.masked_fill_(x == 0, 0)


@xlogy_op.kernel
def xlogy_kernel(node: Node) -> Kernel:
    return broadcasting_call(node, _xlogy)


@div_op.gradient
def div_gradient(node: Node, grad: Any) -> Gradients:
    return _ratio_gradient(node, grad, divide)


@real_div_op.gradient
def real_div_gradient(node: Node, grad: Any) -> Gradients:
    return _ratio_gradient(node, grad, realdiv)


@div_no_nan_op.gradient
def div_no_nan_gradient(node: Node, grad: Any) -> Gradients:
    return _ratio_gradient(node, grad, div_no_nan)


def _ratio_gradient(node: Node, grad: Any, over: Callable[..., Any]) -> tuple[Tensor, Tensor]:
    """Return the gradient of a quotient, written with the same kind of quotient."""
    x, y = node.inputs
    to_x, to_y = summing_targets(x, y)
    x, y = conj(x), conj(y)
    gx = to_x.reduce(over(grad, y))
    return gx, to_y.reduce(grad * over(over(-x, y), y))


@floor_div_op.gradient
@truncate_div_op.gradient
def no_gradient(node: Node, grad: Any) -> Gradients:
    return None, None


def _is_not_zero(x: Tensor) -> Tensor:
    """1 where `x` is not 0, else 0."""
    return cast(comparison.not_equal(x, cast(0.0, dtype=x.dtype)), dtype=x.dtype)


@xlogy_op.gradient
def xlogy_gradient(node: Node, grad: Any) -> Gradients:
    return chain_rule(node, grad, lambda x, y: (xlogy_op(_is_not_zero(x), y), xdivy_op(x, y)))


@xdivy_op.gradient
def xdivy_gradient(node: Node, grad: Any) -> Gradients:
    def partials(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return xdivy_op(_is_not_zero(x), y), xdivy_op(unary.negative(x), y**2)

    return chain_rule(node, grad, partials)


@div_op.samples
@real_div_op.samples
@div_no_nan_op.samples
@xdivy_op.samples
def quotient_samples() -> Samples:
    x = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]], np.float32)
    yield Sample(x, np.array([2.0, -1.0, 4.0], np.float32))
    yield Sample(np.array([[2.0], [3.0]], np.float32), x)


@floor_div_op.samples
@truncate_div_op.samples
def whole_quotient_samples() -> Samples:
    yield Sample(np.array([-7, 7, 8], np.int32), np.array([2, -2, 4], np.int32))
    yield Sample(np.array([-7.5, 7.5], np.float32), np.array([2.0, -2.0], np.float32))
    yield Bad(np.array([1], np.int32), np.array([0], np.int32), match=_BY_ZERO)


@xlogy_op.samples
def xlogy_samples() -> Samples:
    yield Sample(np.array([0.5, -2.0], np.float32), np.array([[2.0], [0.5]], np.float32))


# ---- remainders

floor_mod_op = broadcasting_op(
    f"FloorMod(x: T, y: T) -> z: T; T: {_REMAINDERS}",
    _nonzero(np.mod),
    batching="vmap",
    scalar=Scalar("{} % {}", divides=True),
)
truncate_mod_op = broadcasting_op(
    f"TruncateMod(x: T, y: T) -> z: T; T: {_REMAINDERS}", _nonzero(np.fmod)
)
mod_op = broadcasting_op(
    "Mod(x: T, y: T) -> z: T; T: {int32, int64, half, half, bfloat16, float, double}",
    _nonzero(np.fmod),
)


@floor_mod_op.kernel
def floor_mod_kernel(node: Node) -> Kernel:
    if node.T.is_integer:
        return _divide_integers(node, torch.remainder, np.mod, opposite=False)
    return broadcasting_call(node, torch.remainder)


@mod_op.kernel
@truncate_mod_op.kernel
def truncate_mod_kernel(node: Node) -> Kernel:
    if node.T.is_integer:
        return _divide_integers(node, torch.fmod, np.fmod, opposite=False)
    return broadcasting_call(node, torch.fmod)


@floor_mod_op.gradient
def floor_mod_gradient(node: Node, grad: Any) -> Gradients:
    x, y = conj(node.inputs[0]), conj(node.inputs[1])
    to_x, to_y = summing_targets(x, y)
    floor_xy = floor_div(x, y)
    gx = to_x.reduce(grad)
    return gx, to_y.reduce(grad * unary.negative(floor_xy))


@floor_mod_op.samples
@truncate_mod_op.samples
@mod_op.samples
def remainder_samples() -> Samples:
    yield Sample(np.array([-7, 7, 8], np.int32), np.array([2, -2, 4], np.int32))
    yield Sample(np.array([-7.5, 7.25], np.float32), np.array([[2.0], [-2.0]], np.float32))
    yield Bad(np.array([1], np.int32), np.array([0], np.int32), match=_BY_ZERO)


# ---- public functions

# Types of integers for an exact division.
_EXACT: dict[DType, DType | None] = {
    dtypes.uint8: dtypes.float32,
    dtypes.int8: dtypes.float32,
    dtypes.uint16: dtypes.float32,
    dtypes.int16: dtypes.float32,
    dtypes.int32: dtypes.float64,
    dtypes.int64: dtypes.float64,
    dtypes.bfloat16: None,
    dtypes.float16: None,
    dtypes.float32: None,
    dtypes.float64: None,
    dtypes.complex64: None,
    dtypes.complex128: None,
}


def check_same_type(x: Any, y: Any) -> DType:
    """Return the base dtype of both; TypeError if they differ."""
    first, second = x.dtype.base_dtype, y.dtype.base_dtype
    if first != second:
        raise TypeError(f"x and y must have the same dtype, got {first!r} != {second!r}")
    return first


def exact_type(dtype: DType) -> DType | None:
    """Return the type to convert to before an exact division; None where none is needed."""
    if dtype not in _EXACT:
        raise TypeError(f"Invalid dtype {dtype!r} in __truediv__")
    return _EXACT[dtype]


@export("math.truediv", "truediv")
@dispatchable
def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the exact quotient `x / y`; integers become float32 (8, 16 bits) or float64 first.

    Raises:
      TypeError: if the types differ.
    """
    with name_scope(name, "truediv", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y")
        dtype = exact_type(check_same_type(x, y))
        if dtype is not None:
            x = cast(x, dtype)
            y = cast(y, dtype)
        return real_div_op(x, y, name=scope)


class _Named:
    """An operand whose operators give their result a name."""

    def __init__(self, x: Any, name: str) -> None:
        self.x, self.name = x, name

    def __truediv__(self, y: Any) -> Tensor:
        return truediv(self.x, y, self.name)


@export("math.divide", "divide")
@dispatchable
def divide(x: Any, y: Any, name: str | None = None) -> Any:
    """`x / y` as Python divides: exactly.

    Args:
      x, y: tensors of one type, or plain numbers, whose quotient is then a plain number.
      name: of the operation.

    Example:
      >>> print(tf.Session().run(tf.divide(tf.constant([7, -7]), 2)))
      [ 3.5 -3.5]
    """
    if name is not None:
        return _Named(x, name) / y
    return x / y


@export("div")
@dispatchable
def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x / y` as Python 2 divided: exactly for floats, rounded down for integers.

    Args:
      x, y: tensors of one type, numbers, whose shapes broadcast.
      name: of the operation.

    Returns:
      A tensor of that type and the broadcast shape.

    Raises:
      TypeError: if the types differ.

    Example:
      >>> print(tf.Session().run(tf.div([7, -7], 2)), tf.Session().run(tf.div([7.0], 2.0)))
      [ 3 -4] [3.5]
    """
    with name_scope(name, "div", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y", dtype=x.dtype.base_dtype)
        dtype = check_same_type(x, y)
        if dtype.is_floating or dtype.is_complex:
            return real_div_op(x, y, name=scope)
        return floor_div_op(x, y, name=scope)


@export("math.divide_no_nan", "div_no_nan")
@dispatchable
def div_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x / y`, but 0 wherever `y` is 0.

    Raises:
      TypeError: if the types differ.
    """
    with name_scope(name, "div_no_nan", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y", dtype=x.dtype.base_dtype)
        check_same_type(x, y)
        return div_no_nan_op(x, y, name=scope)


@export("math.floordiv", "floordiv")
@dispatchable
def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x / y` rounded down.

    Raises:
      InvalidArgumentError: when run, if an integer is divided by 0.
    """
    with name_scope(name, "floordiv", [x, y]) as scope:
        return floor_div_op(x, y, name=scope)


@export("floor_div")
@dispatchable
def floor_div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x / y` rounded down; see `floordiv`."""
    return floor_div_op(x, y, name=name)


@export("realdiv")
@dispatchable
def realdiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x / y` for real and complex numbers."""
    return real_div_op(x, y, name=name)


@export("truncatediv")
@dispatchable
def truncatediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x / y` rounded towards zero, for integers."""
    return truncate_div_op(x, y, name=name)


@export("math.floormod", "floormod", "math.mod", "mod")
@dispatchable
def floormod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the remainder of `floordiv(x, y)`: it has the sign of `y`.

    Args:
      x, y: tensors of one type, a real one, whose shapes broadcast.
      name: of the operation.

    Returns:
      A tensor of that type and the broadcast shape.

    Example:
      >>> print(tf.Session().run(tf.mod([7, -7], 3)))
      [1 2]
    """
    return floor_mod_op(x, y, name=name)


mod = floormod


@export("truncatemod")
@dispatchable
def truncatemod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the remainder of `truncatediv(x, y)`: it has the sign of `x`."""
    return truncate_mod_op(x, y, name=name)


@export("math.xdivy")
@dispatchable
def xdivy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x / y`, but 0 wherever `x` is 0, even if `y` is 0 too."""
    return xdivy_op(x, y, name=name)


@export("math.xlogy")
@dispatchable
def xlogy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x * log(y)`, but 0 wherever `x` is 0, even if `y` is 0 too."""
    return xlogy_op(x, y, name=name)
