"""Sums, differences, products and similar functions of two tensors, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.card import Card, op
from stillflow.graph.constant_value import value_of
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.lazy import LazyModule, torch
from stillflow.graph.node import Call, Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel
from stillflow.graph.traits import Scalar
from stillflow.ops.arrays.native_kernels import choose
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.forward_declarations import reduce_sum
from stillflow.ops.math.broadcasting import (
    broadcast_shape,
    broadcast_targets,
    only_first,
    reduce_wanted,
    same_known_shapes,
    summing_targets,
)
from stillflow.ops.math.complex import conj
from stillflow.ops.math.kernels import (
    NUMBER,
    broadcasting_call,
    element_wise,
    invalid,
    is_finite,
    on_strings,
)
from stillflow.ops.samples import Bad, Sample, Samples

if TYPE_CHECKING:
    from stillflow.ops.arrays import fill as fills
    from stillflow.ops.arrays import select as selects
    from stillflow.ops.arrays import shape as shapes
    from stillflow.ops.math import comparison, unary
else:
    fills = LazyModule("stillflow.ops.arrays.fill")
    shapes = LazyModule("stillflow.ops.arrays.shape")
    selects = LazyModule("stillflow.ops.arrays.select")
    comparison = LazyModule("stillflow.ops.math.comparison")
    unary = LazyModule("stillflow.ops.math.unary")


def broadcasting_op(text: str, in_numpy: Callable[..., Any] | None = None, **options: Any) -> Card:
    """Return the card of an element-wise op of two inputs.

    Known values are combined by `in_numpy`.
    """
    card = op(text, **options)
    card.shape(broadcast_shape)
    if in_numpy is not None:
        card.value(value_of(in_numpy))
    return card


def _pairs() -> Samples:
    """Yield samples for functions of any two numbers."""
    x = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]], np.float32)
    yield Sample(x, x + 1.0)
    yield Sample(x, np.array([2.0, -1.0, 4.0], np.float32))
    yield Sample(np.array([[2.0], [3.0]], np.float32), np.float32(1.5))
    wrong = np.zeros([2, 3], np.float32), np.zeros([2], np.float32)
    yield Bad(*wrong, match="must be equal|Incompatible shapes")


# ---- sums and differences

add_op = broadcasting_op(
    """
    Add(x: T, y: T) -> z: T
    T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128,\
 string}
""",
    np.add,
    batching="vmap",
    scalar=Scalar("{} + {}", wraps=True),
)

add_v2_op = broadcasting_op(
    """
    AddV2(x: T, y: T) -> z: T
    T: {bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128}
    flags: commutative, aggregate
""",
    np.add,
    batching="vmap",
    scalar=Scalar("{} + {}", wraps=True),
)

sub_op = broadcasting_op(
    """
    Sub(x: T, y: T) -> z: T
    T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, int64, complex64,\
 complex128}
""",
    np.subtract,
    batching="vmap",
    scalar=Scalar("{} - {}", wraps=True),
)


def _in_parts(function: Any) -> Callable[..., Any]:
    """Torch's sum or difference of complex numbers, which by itself multiplies one of them by 1.

    That makes an infinite number one of which a part is unknown.
    """

    def run(x: Any, y: Any) -> torch.Tensor:
        x, y = (torch.view_as_real(each.resolve_conj().resolve_neg()) for each in (x, y))
        return torch.view_as_complex(function(x, y))

    return run


@add_op.kernel
def add_kernel(node: Node) -> Kernel:
    if node.T.name == "string":
        return on_strings(np.add)
    function = _in_parts(torch.add) if node.T.is_complex else torch.add
    return broadcasting_call(node, function)


@add_v2_op.kernel
def add_v2_kernel(node: Node) -> Kernel:
    function = _in_parts(torch.add) if node.T.is_complex else torch.add
    return broadcasting_call(node, function)


@sub_op.kernel
def sub_kernel(node: Node) -> Kernel:
    function = _in_parts(torch.sub) if node.T.is_complex else torch.sub
    return element_wise(node, function, np.subtract)


@add_op.gradient
@add_v2_op.gradient
def add_gradient(node: Node, grad: Any) -> Gradients:
    x, y = node.inputs
    if only_first(node):
        return grad, None
    if same_known_shapes(x, y, grad):
        return grad, grad
    return reduce_wanted(node, grad, lambda: grad, lambda: grad)


@sub_op.gradient
def sub_gradient(node: Node, grad: Any) -> Gradients:
    x, y = node.inputs
    if only_first(node):
        return grad, None
    if same_known_shapes(x, y, grad):
        return grad, -grad
    return reduce_wanted(node, grad, lambda: grad, lambda: -grad)


add_op.samples(_pairs)
add_v2_op.samples(_pairs)
sub_op.samples(_pairs)


# ---- products

mul_op = broadcasting_op(
    """
    Mul(x: T, y: T) -> z: T
    T: {bfloat16, half, float, double, uint8, int8, uint16, int16, int32, int64, complex64,\
 complex128}
    flags: commutative
""",
    np.multiply,
    batching="vmap",
    scalar=Scalar("{} * {}", wraps=True),
)

mul_no_nan_op = broadcasting_op("""
    MulNoNan(x: T, y: T) -> z: T
    T: {half, float, double, complex64, complex128}
""")

squared_difference_op = broadcasting_op(
    f"""
    SquaredDifference(x: T, y: T) -> z: T
    T: {NUMBER}
    flags: commutative
""",
    batching="vmap",
)


@mul_op.kernel
def mul_kernel(node: Node) -> Kernel:
    return element_wise(node, torch.mul, np.multiply)


def _mul_no_nan(x: Any, y: Any) -> torch.Tensor:
    result = torch.mul(x, y)
    return result if is_finite(result) else result.masked_fill_(y == 0, 0)


@mul_no_nan_op.kernel
def mul_no_nan_kernel(node: Node) -> Kernel:
    return broadcasting_call(node, _mul_no_nan)


def difference_squared(x: Any, y: Any) -> torch.Tensor:
    return torch.square(torch.sub(x, y))


def _squared_modulus(x: Any, y: Any) -> torch.Tensor:
    difference = torch.sub(x, y)
    return difference * difference.conj()


@squared_difference_op.kernel
def squared_difference_kernel(node: Node) -> Kernel:
    function = _squared_modulus if node.T.is_complex else difference_squared
    return broadcasting_call(node, function)


@mul_op.gradient
def mul_gradient(node: Node, grad: Any) -> Gradients:
    x, y = node.inputs
    if only_first(node):
        return mul_op(grad, conj(y)), None
    if same_known_shapes(x, y, grad) and grad.dtype.name in ("int32", "float32"):
        return mul_op(grad, y), mul_op(grad, x)
    to_x, to_y = broadcast_targets(x, y, grad)
    x, y = conj(x), conj(y)
    return (
        None if 0 in node.skipped else to_x.fit(mul_op(grad, y)),
        None if 1 in node.skipped else to_y.fit(mul_op(x, grad)),
    )


@mul_no_nan_op.gradient
def mul_no_nan_gradient(node: Node, grad: Any) -> Gradients:
    x, y = node.inputs
    if same_known_shapes(x, y, grad):
        return mul_no_nan_op(grad, y), mul_no_nan_op(x, grad)
    to_x, to_y = summing_targets(x, y)
    return to_x.reduce(mul_no_nan_op(grad, y)), to_y.reduce(mul_no_nan_op(x, grad))


@squared_difference_op.gradient
def squared_difference_gradient(node: Node, grad: Any) -> Gradients:
    x, y = node.inputs
    with control_dependencies([grad]):
        x_grad = scalar_mul(2.0, grad) * (x - y)
    if same_known_shapes(x, y, grad):
        return x_grad, -x_grad
    to_x, to_y = broadcast_targets(x, y, grad)
    return (
        None if 0 in node.skipped else to_x.fit(x_grad),
        None if 1 in node.skipped else -to_y.fit(x_grad),
    )


mul_op.samples(_pairs)
mul_no_nan_op.samples(_pairs)
squared_difference_op.samples(_pairs)


# ---- powers, larger and smaller ones

pow_op = broadcasting_op(
    """
    Pow(x: T, y: T) -> z: T
    T: {bfloat16, float, half, double, int32, int64, complex64, complex128}
""",
    batching="vmap",
)

maximum_op = broadcasting_op(
    """
    Maximum(x: T, y: T) -> z: T
    T: {bfloat16, half, float, double, int32, int64}
""",
    lambda x, y: np.where(x < y, y, x),
    batching="vmap",
    scalar=Scalar("max({}, {})"),
)

minimum_op = broadcasting_op(
    """
    Minimum(x: T, y: T) -> z: T
    T: {bfloat16, half, float, double, int32, int64}
""",
    lambda x, y: np.where(y < x, y, x),
    batching="vmap",
    scalar=Scalar("min({}, {})"),
)


def _integer_pow(x: Any, y: Any) -> torch.Tensor:
    if torch.any(y < 0):
        raise invalid("Integers to negative integer powers are not allowed")
    return torch.pow(x, y)


# Exponents for which multiplying and dividing gives the same as a power, sooner.
_EASY_EXPONENTS = (-2.0, -1.0, 2.0, 3.0)


@pow_op.kernel
def pow_kernel(node: Node) -> Kernel:
    exponent = node.value(1) if node.T.is_floating else None
    if exponent is not None and exponent.ndim == 0 and float(exponent) in _EASY_EXPONENTS:
        return node.call(torch.pow, node.inputs[0], float(exponent))
    return broadcasting_call(node, _integer_pow if node.T.is_integer else torch.pow)


# Where an input is NaN, TF gives the first one; torch gives NaN. Only the second input matters.


def larger(x: Any, y: Any) -> torch.Tensor:
    return torch.maximum(x, y) if is_finite(y) else choose(x < y, y, x)


def smaller(x: Any, y: Any) -> torch.Tensor:
    return torch.minimum(x, y) if is_finite(y) else choose(y < x, y, x)


def _extreme_kernel(node: Node, function: Any, exact: Any) -> Call | Callable[..., Any]:
    y = node.value(1)
    if node.T.is_integer or (y is not None and not np.isnan(y.astype(np.float64)).any()):
        return broadcasting_call(node, function)
    return broadcasting_call(node, exact)


@maximum_op.kernel
def maximum_kernel(node: Node) -> Kernel:
    return _extreme_kernel(node, torch.maximum, larger)


@minimum_op.kernel
def minimum_kernel(node: Node) -> Kernel:
    return _extreme_kernel(node, torch.minimum, smaller)


@pow_op.gradient
def pow_gradient(node: Node, grad: Any) -> Gradients:
    x, y = node.inputs
    if only_first(node):
        x, y = conj(x), conj(y)
        return grad * y * pow(x, y - 1), None
    to_x, to_y = broadcast_targets(x, y, grad)
    x, y = conj(x), conj(y)
    gx = None if 0 in node.skipped else to_x.fit(grad * y * pow(x, y - 1))
    if 1 in node.skipped:
        return gx, None
    z = conj(node.outputs[0])
    # The logarithm's argument is replaced where it has none, so that no NaN arises.
    mask = comparison.not_equal(x, 0) if x.dtype.is_complex else x > 0
    safe_x = selects.where(mask, x, fills.ones_like(x))
    log_x = selects.where(mask, unary.log(safe_x), fills.zeros_like(x))
    return gx, to_y.fit(grad * z * log_x)


def _extreme_gradient(
    node: Node, grad: Tensor, chooses_x: Any
) -> tuple[Tensor | None, Tensor | None]:
    x, y = node.inputs
    if only_first(node):
        zeros = fills.zeros_like(grad)
        return selects.where(chooses_x(x, y), grad, zeros), None
    sx, sy = shapes.shape(x), shapes.shape(y)
    zeros = fills.zeros(shapes.shape(grad), grad.dtype)
    mask = chooses_x(x, y)
    rx, ry = shapes.broadcast_gradient_args_op(sx, sy)
    gx = gy = None
    if 0 not in node.skipped:
        gx = shapes.reshape(reduce_sum.value(selects.where(mask, grad, zeros), rx), sx)
    if 1 not in node.skipped:
        gy = shapes.reshape(reduce_sum.value(selects.where(mask, zeros, grad), ry), sy)
    return gx, gy


@maximum_op.gradient
def maximum_gradient(node: Node, grad: Any) -> Gradients:
    return _extreme_gradient(node, grad, comparison.greater_equal)


@minimum_op.gradient
def minimum_gradient(node: Node, grad: Any) -> Gradients:
    return _extreme_gradient(node, grad, comparison.less_equal)


@pow_op.samples
def pow_samples() -> Samples:
    x = np.array([[0.5, 2.0, 3.0], [1.5, 1.0, 0.25]], np.float32)
    yield Sample(x, np.array([2.0, -1.0, 0.5], np.float32))
    yield Sample(x, x)
    yield Bad(np.array([2], np.int32), np.array([-1], np.int32), match="negative integer powers")


@maximum_op.samples
@minimum_op.samples
def distinct_samples() -> Samples:
    x = np.array([[1.5, -2.0, 0.5], [3.0, 0.25, -1.0]], np.float32)
    yield Sample(x, np.array([2.0, -1.0, 4.0], np.float32))
    yield Sample(x, np.float32(1.0))


# ---- public functions


@export("math.add", "add")
@dispatchable
def add(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x + y`, element by element, with broadcasting.

    Args:
      x: a tensor of numbers or strings; strings are joined.
      y: a tensor of the same type.
      name: of the operation.

    Example:
      >>> print(tf.Session().run(tf.add([[1], [2]], [10, 20])))
      [[11 21]
       [12 22]]
    """
    return add_op(x, y, name=name)


@export("math.subtract", "subtract")
@dispatchable
def subtract(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x - y`, element by element, with broadcasting.

    Args:
      x, y: tensors of one type, numbers, whose shapes broadcast.
      name: of the operation.

    Returns:
      A tensor of that type and the broadcast shape.

    Example:
      >>> print(tf.Session().run(tf.subtract([5, 7], [1, 2])))
      [4 5]
    """
    return sub_op(x, y, name=name)


@export("math.multiply", "multiply")
@dispatchable
def multiply(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x * y`, element by element, with broadcasting.

    Args:
      x, y: tensors of one type, numbers, whose shapes broadcast.
      name: of the operation.

    Returns:
      A tensor of that type and the broadcast shape.

    Example:
      >>> print(tf.Session().run(tf.multiply([[1], [2]], [10, 20])))
      [[10 20]
       [20 40]]
    """
    return mul_op(x, y, name=name)


@export("math.multiply_no_nan")
@dispatchable
def multiply_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x * y`, but 0 wherever `y` is 0, even if `x` is infinite or NaN there.

    Raises:
      TypeError: if the types differ.
    """
    with name_scope(name, "multiply_no_nan", [x, y]) as scope:
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y", dtype=x.dtype.base_dtype)
        return mul_no_nan_op(x, y, name=scope)


@export("math.scalar_mul", "scalar_mul")
@dispatchable
def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """`scalar * x` for a tensor or `IndexedSlices` `x`.

    Raises:
      ValueError: if `scalar` is known not to be a scalar.
    """
    scalar = convert_to_tensor(scalar, dtype=x.dtype.base_dtype, name="scalar")
    shape = scalar.get_shape()
    if shape.ndims != 0:
        raise ValueError(f"Only scalar multiply works, got shape {shape}")
    if isinstance(x, IndexedSlices):
        return IndexedSlices(mul_op(scalar, x.values, name=name), x.indices, x.dense_shape)
    return mul_op(scalar, x, name=name)


@export("math.squared_difference", "squared_difference")
@dispatchable
def squared_difference(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`(x - y)` squared, element by element, with broadcasting.

    Args:
      x, y: tensors of one type, numbers, whose shapes broadcast.
      name: of the operation.

    Returns:
      A tensor of that type and the broadcast shape.

    Example:
      >>> print(tf.Session().run(tf.squared_difference([1, 5], [3, 2])))
      [4 9]
    """
    return squared_difference_op(x, y, name=name)


@export("math.pow", "pow")
@dispatchable
def pow(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x` to the power of `y`, element by element, with broadcasting.

    Args:
      x, y: tensors of one type, floats, complex numbers, int32 or int64, whose shapes broadcast.
      name: of the operation.

    Returns:
      A tensor of that type and the broadcast shape.

    Raises:
      InvalidArgumentError: when run, for negative powers of integers.

    Example:
      >>> print(tf.Session().run(tf.pow([2, 3], [3, 2])))
      [8 9]
    """
    with name_scope(name, "Pow", [x]) as scope:
        return pow_op(x, y, name=scope)


@export("math.maximum", "maximum")
@dispatchable
def maximum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the larger of `x` and `y`, element by element, with broadcasting.

    Args:
      x, y: tensors of one type, a real one, whose shapes broadcast.
      name: of the operation.

    Returns:
      A tensor of that type and the broadcast shape.

    Example:
      >>> print(tf.Session().run(tf.maximum([1, 5, 3], 3)))
      [3 5 3]
    """
    return maximum_op(x, y, name=name)


@export("math.minimum", "minimum")
@dispatchable
def minimum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the smaller of `x` and `y`, element by element, with broadcasting.

    Args:
      x, y: tensors of one type, a real one, whose shapes broadcast.
      name: of the operation.

    Returns:
      A tensor of that type and the broadcast shape.

    Example:
      >>> print(tf.Session().run(tf.minimum([1, 5, 3], 3)))
      [1 3 3]
    """
    return minimum_op(x, y, name=name)
