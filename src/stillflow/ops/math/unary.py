"""Elementary functions of one tensor: signs, roots, powers, exponentials, rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dims
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.card import Card, op
from stillflow.graph.constant_value import value_of
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.lazy import aten, torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel
from stillflow.graph.traits import Cost, Scalar
from stillflow.ops.arrays import fill as fills
from stillflow.ops.arrays import shape as shapes
from stillflow.ops.constants import constant
from stillflow.ops.dispatch import dispatchable, map_sparse_values
from stillflow.ops.math.complex import complex_abs_op, conj
from stillflow.ops.math.element_loops import square_roots
from stillflow.ops.math.kernels import FIELD, NUMBER, REAL, is_finite, no_kernel
from stillflow.ops.samples import Sample

ANYWHERE = np.array([[-2.25, -1.0, -0.3], [0.2, 0.75, 3.5]], np.float32)
POSITIVE = np.array([[0.25, 1.0, 0.3], [0.2, 1.75, 3.5]], np.float32)


def unary_op(
    name: str,
    kinds: str,
    function: str | Callable[..., Any],
    samples: np.ndarray = ANYWHERE,
    in_numpy: Callable[..., Any] | None = None,
    **traits: Any,
) -> Card:
    """Return the card of an element-wise function of one input; a name is one of torch's.

    Where TF's signature takes integers of which its own kernels make nothing, nor do we.
    """
    card = op(f"{name}(x: T) -> y: T; T: {kinds}", **traits)
    card.shape(_same_shape)
    if in_numpy is not None:
        card.value(value_of(in_numpy))

    @card.kernel
    def kernel(node: Node) -> Kernel:
        if node.T.is_integer and in_numpy is None:
            raise no_kernel(node)
        run = getattr(torch, function) if isinstance(function, str) else function
        return node.call(run, *node.inputs)

    card.samples(lambda: iter([Sample(samples)]))
    return card


def slope_op(name: str, function: Callable[..., Any], fused: str = "") -> Card:
    """Return the card of an op that turns a function's value y and a gradient dy into its gradient.

    `fused` is torch's own name for `function`, `f(y, dy)`, as `f(dy, y)` of real numbers.
    """
    card = op(f"{name}(y: T, dy: T) -> z: T; T: {FIELD}", batching="vmap")
    card.shape(_same_shape)

    @card.kernel
    def kernel(node: Node) -> Kernel:
        y, dy = node.dims(0), node.dims(1)
        run, operands = function, node.inputs
        if fused and not node.T.is_complex:
            run, operands = getattr(aten, fused).default, node.inputs[::-1]
        if dims.is_known(y) and y == dy:
            return node.call(run, *operands)
        return lambda y, dy: function(y, _in_the_shape(dy, y))

    card.samples(lambda: iter([Sample(POSITIVE / 4, ANYWHERE)]))
    return card


def _in_the_shape(dy: Any, y: Any) -> torch.Tensor:
    """Reshape `dy`, which has as many elements, to the shape of `y`."""
    if dy.shape == y.shape:
        return dy
    count = y.numel()
    if dy.numel() < count:
        raise errors.invalid_argument(f"dy has {dy.numel()} elements, less than the {count} of y")
    return dy.reshape(-1)[:count].view(y.shape)


def _same_shape(node: Node) -> tuple[int | None, ...] | None:
    return node.dims(0)


# ---- signs

abs_op = unary_op(
    "Abs",
    "{bfloat16, half, float, double, int8, int16, int32, int64}",
    "abs",
    in_numpy=np.abs,
    batching="vmap",
)
neg_op = unary_op(
    "Neg", NUMBER, "neg", in_numpy=np.negative, batching="vmap", scalar=Scalar("-{}", wraps=True)
)
sign_op = op(f"Sign(x: T) -> y: T; T: {NUMBER}", batching="vmap")
sign_op.shape(_same_shape)
sign_op.value(value_of(lambda x: np.where(np.isnan(x), 0, np.sign(x))))
sign_op.samples(lambda: iter([Sample(ANYWHERE)]))


@sign_op.kernel
def sign_kernel(node: Node) -> Kernel:
    return node.call(torch.sgn if node.T.is_complex else torch.sign, *node.inputs)


@abs_op.gradient
def abs_gradient(node: Node, grad: Tensor) -> Gradients:
    return grad * sign(node.inputs[0])


@neg_op.gradient
def neg_gradient(node: Node, grad: Any) -> Gradients:
    return -grad


@sign_op.gradient
def sign_gradient(node: Node, grad: Any) -> Gradients:
    x = node.inputs[0]
    return fills.zeros(shapes.shape(x), dtype=x.dtype)


# ---- powers and roots

square_op = unary_op("Square", NUMBER, "square", in_numpy=np.square, batching="vmap")
sqrt_op = unary_op("Sqrt", FIELD, square_roots, POSITIVE, cost=Cost(soon=True), batching="vmap")
rsqrt_op = unary_op("Rsqrt", FIELD, "rsqrt", POSITIVE, batching="vmap")
inv_op = unary_op("Inv", NUMBER, "reciprocal", batching="vmap")
reciprocal_op = unary_op("Reciprocal", NUMBER, "reciprocal", batching="vmap")


def _conj(x: Any) -> torch.Tensor:
    return torch.conj_physical(x) if x.is_complex() else x


def _zero_with(dy: Any, result: Any) -> torch.Tensor:
    """Return `result`, but 0 where `dy` is 0, even if the slope is infinite."""
    return result if is_finite(result) else torch.where(dy == 0, dy, result)


def _sqrt_grad(y: Any, dy: Any) -> torch.Tensor:
    return _zero_with(dy, torch.div(dy * 0.5, _conj(y)))


def _rsqrt_grad(y: Any, dy: Any) -> torch.Tensor:
    y = _conj(y)
    return _zero_with(dy, (dy * -0.5) * (y * y * y))


def _reciprocal_grad(y: Any, dy: Any) -> torch.Tensor:
    y = _conj(y)
    return _zero_with(dy, torch.neg(dy) * (y * y))


sqrt_grad_op = slope_op("SqrtGrad", _sqrt_grad)
rsqrt_grad_op = slope_op("RsqrtGrad", _rsqrt_grad)
inv_grad_op = slope_op("InvGrad", _reciprocal_grad)
reciprocal_grad_op = slope_op("ReciprocalGrad", _reciprocal_grad)


@square_op.gradient
def square_gradient(node: Node, grad: Any) -> Gradients:
    from stillflow.ops.math.binary import multiply

    x = node.inputs[0]
    with control_dependencies([grad]):
        x = conj(x)
        two = constant(2.0, dtype=x.dtype)
        return multiply(grad, multiply(x, two))


@sqrt_op.gradient
def sqrt_gradient(node: Node, grad: Any) -> Gradients:
    return sqrt_grad_op(node.outputs[0], grad)


@sqrt_grad_op.gradient
def sqrt_grad_gradient(node: Node, grad: Any) -> Gradients:
    with control_dependencies([grad]):
        ga = grad / node.inputs[0]
        return -conj(ga) * node.outputs[0], 0.5 * ga


@rsqrt_op.gradient
def rsqrt_gradient(node: Node, grad: Any) -> Gradients:
    return rsqrt_grad_op(node.outputs[0], grad)


@rsqrt_grad_op.gradient
def rsqrt_grad_gradient(node: Node, grad: Any) -> Gradients:
    a, b = node.inputs
    with control_dependencies([grad]):
        ca, cg = conj(a), conj(grad)
        grad_a = -1.5 * cg * b * square(ca)
        return grad_a, rsqrt_grad_op(ca, grad)


@inv_op.gradient
@reciprocal_op.gradient
def reciprocal_gradient(node: Node, grad: Any) -> Gradients:
    return reciprocal_grad_op(node.outputs[0], grad)


@inv_grad_op.gradient
@reciprocal_grad_op.gradient
def reciprocal_grad_gradient(node: Node, grad: Any) -> Gradients:
    b = node.inputs[1]
    with control_dependencies([grad]):
        ca, cg = conj(node.inputs[0]), conj(grad)
        return cg * -2.0 * b * ca, reciprocal_grad_op(ca, grad)


# ---- exponentials and logarithms

exp_op = unary_op("Exp", FIELD, "exp", cost=Cost(soon=True), batching="vmap")
expm1_op = unary_op("Expm1", FIELD, "expm1", cost=Cost(soon=True), batching="vmap")
log_op = unary_op("Log", FIELD, "log", POSITIVE, cost=Cost(soon=True), batching="vmap")
log1p_op = unary_op("Log1p", FIELD, "log1p", POSITIVE, cost=Cost(soon=True), batching="vmap")
sigmoid_op = unary_op("Sigmoid", FIELD, "sigmoid", batching="vmap")


def _sigmoid_grad(y: Any, dy: Any) -> torch.Tensor:
    return dy * y * (1 - y)


sigmoid_grad_op = slope_op("SigmoidGrad", _sigmoid_grad, fused="sigmoid_backward")


@exp_op.gradient
def exp_gradient(node: Node, grad: Any) -> Gradients:
    with control_dependencies([grad]):
        return grad * conj(node.outputs[0])


@expm1_op.gradient
def expm1_gradient(node: Node, grad: Any) -> Gradients:
    with control_dependencies([grad]):
        return grad * exp(conj(node.inputs[0]))


@log_op.gradient
def log_gradient(node: Node, grad: Any) -> Gradients:
    with control_dependencies([grad]):
        return grad * reciprocal(conj(node.inputs[0]))


@log1p_op.gradient
def log1p_gradient(node: Node, grad: Any) -> Gradients:
    with control_dependencies([grad]):
        return grad * reciprocal(1 + conj(node.inputs[0]))


@sigmoid_op.gradient
def sigmoid_gradient(node: Node, grad: Any) -> Gradients:
    with control_dependencies([grad]):
        return sigmoid_grad_op(conj(node.outputs[0]), grad)


@sigmoid_grad_op.gradient
def sigmoid_grad_gradient(node: Node, grad: Any) -> Gradients:
    with control_dependencies([grad]):
        a, b = conj(node.inputs[0]), conj(node.inputs[1])
        gb = grad * b
        return gb - 2.0 * gb * a, sigmoid_grad_op(a, grad)


# ---- rounding

floor_op = unary_op(
    "Floor", REAL, "floor", in_numpy=np.floor, cost=Cost(soon=True), batching="vmap"
)
ceil_op = unary_op("Ceil", REAL, "ceil", in_numpy=np.ceil, batching="vmap")
rint_op = unary_op("Rint", REAL, "round", in_numpy=np.rint, cost=Cost(soon=True))
round_op = unary_op(
    "Round", NUMBER, "round", in_numpy=np.rint, cost=Cost(soon=True), batching="vmap"
)


@floor_op.gradient
@ceil_op.gradient
@rint_op.gradient
@round_op.gradient
def rounding_gradient(node: Node, grad: Any) -> Gradients:
    return None


# ---- public functions


def unary_function(
    card: Card, name: str, what: str, example: tuple[str, str] | None = None
) -> Callable[..., Any]:
    """Return the public function that adds one node of `card`.

    Args:
      card: of the operation.
      name: of the function.
      what: first line of its docstring.
      example: an argument and its result, as text.
    """

    def function(x: Any, name: str | None = None) -> Tensor:
        return card(x, name=name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{what}, element by element.\n\n"
        f"Args:\n  x: a tensor of one of the types {card.text.partition('T: {')[2].strip()[:-1]}."
        "\n  name: of the operation.\n\n"
        "Returns:\n  A tensor of the type and shape of `x`."
    )
    if example is not None:
        x, result = example
        call = f"print(tf.Session().run(tf.{name}({x})))"
        function.__doc__ += f"\n\nExample:\n  >>> {call}\n  {result}"
    return dispatchable(function)


negative = export("math.negative", "negative")(unary_function(neg_op, "negative", "`-x`"))
sign = export("math.sign", "sign")(
    unary_function(
        sign_op,
        "sign",
        "-1, 0 or 1 by the sign of `x`; for complex numbers `x / |x|`",
        ("[-3.0, 0.0, 7.0]", "[-1.  0.  1.]"),
    )
)
square = export("math.square", "square")(
    unary_function(square_op, "square", "`x * x`", ("[2, -3]", "[4 9]"))
)
sqrt = export("math.sqrt", "sqrt")(
    unary_function(sqrt_op, "sqrt", "The square root of `x`", ("[4.0, 9.0]", "[2. 3.]"))
)
rsqrt = export("math.rsqrt", "rsqrt")(
    unary_function(
        rsqrt_op,
        "rsqrt",
        "The reciprocal of the square root of `x`",
        ("[4.0, 16.0]", "[0.5  0.25]"),
    )
)
reciprocal = export("math.reciprocal", "reciprocal")(
    unary_function(reciprocal_op, "reciprocal", "`1 / x`")
)
exp = export("math.exp", "exp")(
    unary_function(exp_op, "exp", "The exponential of `x`", ("[0.0]", "[1.]"))
)
expm1 = export("math.expm1", "expm1")(
    unary_function(expm1_op, "expm1", "`exp(x) - 1`, exactly also near 0")
)
log = export("math.log", "log")(
    unary_function(log_op, "log", "The natural logarithm of `x`", ("[1.0]", "[0.]"))
)
log1p = export("math.log1p", "log1p")(
    unary_function(log1p_op, "log1p", "`log(1 + x)`, exactly also near 0")
)
floor = export("math.floor", "floor")(
    unary_function(
        floor_op, "floor", "The largest whole number not above `x`", ("[1.7, -1.2]", "[ 1. -2.]")
    )
)
ceil = export("math.ceil", "ceil")(
    unary_function(ceil_op, "ceil", "The smallest whole number not below `x`")
)
rint = export("math.rint", "rint")(
    unary_function(rint_op, "rint", "The whole number nearest to `x`; halves go to the even one")
)


@export("math.abs", "abs")
@dispatchable
def abs(x: Any, name: str | None = None) -> Tensor:
    """Return the absolute value of `x`, element by element.

    Of complex numbers, their real modulus.

    Args:
      x: a tensor or `SparseTensor` of numbers.
      name: of the operation.

    Returns:
      A tensor of the shape of `x` and its type; of complex64 float32, of complex128 float64.

    Example:
      >>> print(tf.Session().run(tf.abs([-1.5, 2.0])))
      [1.5 2. ]
    """
    with name_scope(name, "Abs", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        if x.dtype.is_complex:
            return complex_abs_op(x, Tout=x.dtype.real_dtype.base_dtype, name=scope)
        return abs_op(x, name=scope)


@export("math.round", "round")
@dispatchable
def round(x: Any, name: str | None = None) -> Tensor:
    """Return the whole number nearest to `x`, halves going to the even one.

    Integers as they are.

    Args:
      x: a tensor of numbers.
      name: of the operation.

    Returns:
      A tensor of the type and shape of `x`.

    Example:
      >>> print(tf.Session().run(tf.round([0.5, 1.5, -2.3])))
      [ 0.  2. -2.]
    """
    x = convert_to_tensor(x, name="x")
    if x.dtype.is_integer:
        return x
    return round_op(x, name=name)


@export("math.sigmoid", "nn.sigmoid", "sigmoid")
@dispatchable
def sigmoid(x: Any, name: str | None = None) -> Tensor:
    """`1 / (1 + exp(-x))`, element by element.

    Args:
      x: a tensor of floats or complex numbers.
      name: of the operation.

    Returns:
      A tensor of the type and shape of `x`.

    Example:
      >>> print(tf.Session().run(tf.nn.sigmoid([0.0, 100.0])))
      [0.5 1. ]
    """
    with name_scope(name, "Sigmoid", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return sigmoid_op(x, name=scope)


@export("math.reciprocal_no_nan")
@dispatchable
def reciprocal_no_nan(x: Any, name: str | None = None) -> Tensor:
    """`1 / x`, but 0 wherever `x` is 0."""
    from stillflow.ops.math.division import div_no_nan_op

    with name_scope(name, "reciprocal_no_nan", [x]) as scope:
        divisor = convert_to_tensor(x, name="x")
        numerator = constant(1, divisor.dtype.base_dtype, name="one")
        return div_no_nan_op(numerator, divisor, name=scope)


# Of a sparse tensor, the elements that are given are mapped.
for _function in (abs, negative, sign, square, sqrt):
    map_sparse_values(_function)
