"""Error functions, the gamma and beta functions and their relatives, Bessel functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.card import Card, op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops.arrays import fill as fills
from stillflow.ops.arrays import select as selects
from stillflow.ops.constants import constant
from stillflow.ops.dispatch import dispatchable, map_sparse_values
from stillflow.ops.math import incomplete_gamma, native_kernels
from stillflow.ops.math import special_kernels as kernels
from stillflow.ops.math.binary import broadcasting_op
from stillflow.ops.math.broadcasting import chain_rule, summing_targets
from stillflow.ops.math.complex import conj
from stillflow.ops.math.kernels import REAL, broadcasting_call
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ops.math.unary import (
    POSITIVE,
    abs,
    exp,
    log,
    reciprocal,
    sign,
    square,
    unary_function,
    unary_op,
)
from stillflow.ops.samples import Bad, Sample, Samples

# ---- functions of one argument

erf_op = unary_op("Erf", REAL, "erf", cost=Cost(soon=True), batching="vmap")
erfc_op = unary_op("Erfc", REAL, "erfc", cost=Cost(soon=True))
lgamma_op = unary_op("Lgamma", REAL, "lgamma", POSITIVE, cost=Cost(soon=True))
digamma_op = op(f"Digamma(x: T) -> y: T; T: {REAL}", cost=Cost(nanoseconds=15.0))


@digamma_op.shape
def digamma_shape(node: Node) -> OutputDims:
    return node.dims(0)


@digamma_op.kernel
def digamma_kernel(node: Node) -> Kernel:
    return node.call(kernels.digamma, *node.inputs)


@digamma_op.samples
def digamma_samples() -> Samples:
    yield Sample(POSITIVE)


def _bessel_op(name: str, function: str) -> Card:
    card = op(f"{name}(x: T) -> y: T; T: {REAL}", cost=Cost(nanoseconds=18.0))
    card.shape(lambda node: node.dims(0))
    card.kernel(lambda node: node.call(getattr(torch.special, function), *node.inputs))
    card.samples(lambda: iter([Sample(POSITIVE)]))
    return card


bessel_i0e_op = _bessel_op("BesselI0e", "i0e")
bessel_i1e_op = _bessel_op("BesselI1e", "i1e")


def _erf_slope(node: Node, grad: Tensor, factor: float) -> Tensor:
    x = node.inputs[0]
    scale = constant(factor / np.sqrt(np.pi), dtype=grad.dtype)
    with control_dependencies([grad]):
        x = conj(x)
        return grad * scale * exp(-square(x))


@erf_op.gradient
def erf_gradient(node: Node, grad: Tensor) -> Gradients:
    return _erf_slope(node, grad, 2.0)


@erfc_op.gradient
def erfc_gradient(node: Node, grad: Tensor) -> Gradients:
    return _erf_slope(node, grad, -2.0)


@lgamma_op.gradient
def lgamma_gradient(node: Node, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        return grad * digamma(conj(node.inputs[0]))


@digamma_op.gradient
def digamma_gradient(node: Node, grad: Tensor) -> Gradients:
    with control_dependencies([grad]):
        x = conj(node.inputs[0])
        return grad * polygamma(constant(1, dtype=x.dtype), x)


@bessel_i0e_op.gradient
def bessel_i0e_gradient(node: Node, grad: Tensor) -> Gradients:
    x, y = node.inputs[0], node.outputs[0]
    with control_dependencies([grad]):
        return grad * (bessel_i1e(x) - sign(x) * y)


@bessel_i1e_op.gradient
def bessel_i1e_gradient(node: Node, grad: Tensor) -> Gradients:
    x, y = node.inputs[0], node.outputs[0]
    with control_dependencies([grad]):
        # At 0 the formula divides by 0, and the limit is one half.
        eps = np.finfo(x.dtype.as_numpy_dtype).eps
        zeros = fills.zeros_like(x)
        not_tiny = abs(x) > eps
        safe_x = selects.where(not_tiny, x, eps + zeros)
        slope = bessel_i0e(safe_x) - y * (sign(safe_x) + reciprocal(safe_x))
        slope = selects.where(not_tiny, slope, 0.5 + zeros)
        return grad * slope


erf = export("math.erf", "erf")(unary_function(erf_op, "erf", "The error function of `x`"))
erfc = export("math.erfc", "erfc")(
    unary_function(erfc_op, "erfc", "The complement of the error function, `1 - erf(x)`")
)
lgamma = export("math.lgamma", "lgamma")(
    unary_function(lgamma_op, "lgamma", "The logarithm of the absolute value of the gamma function")
)
digamma = export("math.digamma", "digamma")(
    unary_function(digamma_op, "digamma", "The derivative of `lgamma` at `x`")
)
bessel_i0e = export("math.bessel_i0e")(
    unary_function(bessel_i0e_op, "bessel_i0e", "`exp(-|x|)` times the Bessel function I0")
)
bessel_i1e = export("math.bessel_i1e")(
    unary_function(bessel_i1e_op, "bessel_i1e", "`exp(-|x|)` times the Bessel function I1")
)


for _function in (erf, bessel_i0e, bessel_i1e):
    map_sparse_values(_function)


@export("math.bessel_i0")
@dispatchable
def bessel_i0(x: Any, name: str | None = None) -> Tensor:
    """Return the modified Bessel function I0 of `x`; `bessel_i0e` does not overflow."""
    with name_scope(name, "bessel_i0", [x]):
        return exp(abs(x)) * bessel_i0e(x)


@export("math.bessel_i1")
@dispatchable
def bessel_i1(x: Any, name: str | None = None) -> Tensor:
    """Return the modified Bessel function I1 of `x`; `bessel_i1e` does not overflow."""
    with name_scope(name, "bessel_i1", [x]):
        return exp(abs(x)) * bessel_i1e(x)


# ---- functions of two arguments

igamma_op = broadcasting_op(
    "Igamma(a: T, x: T) -> z: T; T: {float, double}", cost=Cost(nanoseconds=100.0, soon=True)
)
igammac_op = broadcasting_op(
    "Igammac(a: T, x: T) -> z: T; T: {float, double}", cost=Cost(nanoseconds=100.0, soon=True)
)
igamma_grad_a_op = broadcasting_op(
    "IgammaGradA(a: T, x: T) -> z: T; T: {float, double}", cost=Cost(nanoseconds=200.0, soon=True)
)
zeta_op = broadcasting_op("Zeta(x: T, q: T) -> z: T; T: {float, double}")
polygamma_op = broadcasting_op("Polygamma(a: T, x: T) -> z: T; T: {float, double}")


@igamma_op.kernel
def igamma_kernel(node: Node) -> Kernel:
    return broadcasting_call(node, kernels.igamma)


@igammac_op.kernel
def igammac_kernel(node: Node) -> Kernel:
    return broadcasting_call(node, kernels.igammac)


@igamma_grad_a_op.kernel
def igamma_grad_a_kernel(node: Node) -> Kernel:
    return kernels.in_double(incomplete_gamma.slope)


@zeta_op.kernel
def zeta_kernel(node: Node) -> Kernel:
    return broadcasting_call(node, native_kernels.zeta)


@polygamma_op.kernel
def polygamma_kernel(node: Node) -> Kernel:
    return broadcasting_call(node, kernels.polygamma)


def _igamma_slopes(node: Node, grad: Tensor) -> tuple[Tensor, Tensor]:
    def partials(a: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        return igamma_grad_a_op(a, x), exp(-x + (a - 1) * log(x) - lgamma(a))

    return chain_rule(node, grad, partials)


@igamma_op.gradient
def igamma_gradient(node: Node, grad: Tensor) -> Gradients:
    return _igamma_slopes(node, grad)


@igammac_op.gradient
def igammac_gradient(node: Node, grad: Tensor) -> Gradients:
    by_a, by_x = _igamma_slopes(node, grad)
    return -by_a, -by_x


@zeta_op.gradient
def zeta_gradient(node: Node, grad: Tensor) -> Gradients:
    def partials(x: Tensor, q: Tensor) -> tuple[None, Tensor]:
        x, q = conj(x), conj(q)
        return None, -x * zeta(x + 1, q)

    return chain_rule(node, grad, partials)


@polygamma_op.gradient
def polygamma_gradient(node: Node, grad: Tensor) -> Gradients:
    def partials(n: Tensor, x: Tensor) -> tuple[None, Tensor]:
        n, x = conj(n), conj(x)
        return None, polygamma(n + 1, x)

    return chain_rule(node, grad, partials)


@igamma_op.samples
@igammac_op.samples
@igamma_grad_a_op.samples
def igamma_samples() -> Samples:
    yield Sample(np.array([0.5, 2.0, 7.5]), np.array([[0.25], [3.0], [12.0]]))


@zeta_op.samples
def zeta_samples() -> Samples:
    yield Sample(np.array([1.5, 2.0, 7.5]), np.array([[0.25], [3.0]]))


@polygamma_op.samples
def polygamma_samples() -> Samples:
    yield Sample(np.array([0.0, 1.0, 3.0]), np.array([[0.25], [3.0]]))


@export("math.igamma", "igamma")
@dispatchable
def igamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """Return the lower regularized incomplete gamma function P(a, x), element by element.

    Args:
      a, x: tensors of float32 or float64 of shapes that broadcast; `a > 0`, `x >= 0`.
      name: of the operation.
    """
    return igamma_op(a, x, name=name)


@export("math.igammac", "igammac")
@dispatchable
def igammac(a: Any, x: Any, name: str | None = None) -> Tensor:
    """Return the upper regularized incomplete gamma function Q(a, x) = 1 - P(a, x).

    See `igamma`.
    """
    return igammac_op(a, x, name=name)


@export("math.zeta", "zeta")
@dispatchable
def zeta(x: Any, q: Any, name: str | None = None) -> Tensor:
    """Return the Hurwitz zeta function: the sum of `(q + n) ** -x` over all n from 0."""
    return zeta_op(x, q, name=name)


@export("math.polygamma", "polygamma")
@dispatchable
def polygamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """Return the derivative of order `a` of the digamma function at `x`."""
    return polygamma_op(a, x, name=name)


# ---- beta functions

betainc_op = op(
    "Betainc(a: T, b: T, x: T) -> z: T; T: {float, double}", cost=Cost(nanoseconds=200.0, soon=True)
)


@betainc_op.shape
def betainc_shape(node: Node) -> OutputDims:
    """Scalars go with anything; the others must have one shape."""
    given = [node.dims(i) for i in range(3)]
    others = [shape for shape in given if shape != ()]
    if not others:
        return ()
    if len(others) == 1:
        return others[0]
    result: Any = None
    for shape in others:
        try:
            result = dims.merge(result, shape)
        except ValueError:
            if not node.planning:
                raise
            raise ValueError(
                "Shapes of a, b, and x are inconsistent: "
                + " vs. ".join(dims.to_string(shape) for shape in given)
            ) from None
    return result


@betainc_op.kernel
def betainc_kernel(node: Node) -> Kernel:
    return kernels.in_double(kernels.betainc)


@betainc_op.gradient
def betainc_gradient(node: Node, grad: Tensor) -> Gradients:
    a, b, x = node.inputs
    _, to_x = summing_targets(a, x)
    log_beta = lgamma_op(a) + lgamma_op(b) - lgamma_op(a + b)
    partial_x = exp((b - 1) * log(1 - x) + (a - 1) * log(x) - log_beta)
    return None, None, to_x.reduce(partial_x * grad)


@betainc_op.samples
def betainc_samples() -> Samples:
    x = np.array([0.1, 0.5, 0.9])
    yield Sample(np.array([0.5, 2.0, 7.5]), np.array([1.5, 3.0, 0.25]), x)
    yield Sample(np.float64(2.0), np.float64(3.0), x)
    yield Bad(x, x[:2], x, match="must be equal|inconsistent")


@export("math.betainc", "betainc")
@dispatchable
def betainc(a: Any, b: Any, x: Any, name: str | None = None) -> Tensor:
    """Return the regularized incomplete beta function I_x(a, b), element by element.

    Args:
      a, b, x: tensors of float32 or float64 of one shape, or scalars; `a, b > 0`, `0 <= x <= 1`.
      name: of the operation.
    """
    return betainc_op(a, b, x, name=name)


@export("math.lbeta", "lbeta")
@dispatchable
def lbeta(x: Any, name: str | None = None) -> Tensor:
    """Return log(|beta|) of the numbers in the last axis."""
    with name_scope(name, "lbeta", [x]):
        numbers = convert_to_tensor(x, name="x")
        parts, total = (reduce_sum(each, axis=[-1]) for each in (lgamma(numbers), numbers))
        return parts - lgamma(total)
