"""Special functions missing in torch, by series and continued fractions in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.lazy import torch
from stillflow.ops.math import native_kernels
from stillflow.ops.math.native_kernels import BETWEEN_CHECKS, EPSILON, MOST_TERMS


def in_double(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that broadcasts, computes in double precision and converts back."""

    def run(*tensors: Any) -> torch.Tensor:
        dtype = tensors[0].dtype
        wide = torch.broadcast_tensors(*[tensor.double() for tensor in tensors])
        return function(*wide).to(dtype)

    return run


# ---- functions that torch has with other values at the edges


def digamma(x: Any) -> torch.Tensor:
    """Return the digamma function, infinite at 0 and negative whole numbers."""
    at_pole = (x <= 0) & (x == torch.floor(x))
    return torch.digamma(x).masked_fill_(at_pole, float("inf"))


def igamma(a: Any, x: Any) -> torch.Tensor:
    """P(a, x); 0 for x = 0, else NaN outside a > 0, x > 0."""
    result = torch.igamma(a, x).masked_fill_((a <= 0) | (x < 0), float("nan"))
    return result.masked_fill_(x == 0, 0.0)


def igammac(a: Any, x: Any) -> torch.Tensor:
    """Q(a, x); NaN outside a > 0, x >= 0."""
    return torch.igammac(a, x).masked_fill_((a <= 0) | (x < 0), float("nan"))


# ---- the regularized incomplete beta function


def betainc(a: Any, b: Any, x: Any) -> torch.Tensor:
    """I_x(a, b); NaN outside a, b > 0, 0 <= x <= 1."""
    inside = (a > 0) & (b > 0) & (x > 0) & (x < 1)
    result = torch.full_like(x, float("nan"))
    positive = ~((a <= 0) | (b <= 0))  # or not a number, which does not matter at the ends
    result[positive & (x == 0)] = 0.0
    result[positive & (x == 1)] = 1.0
    a, b, x = a[inside], b[inside], x[inside]
    flipped = x > (a + 1) / (a + b + 2)  # where the fraction converges for 1 - x instead
    first, second = torch.where(flipped, b, a), torch.where(flipped, a, b)
    at = torch.where(flipped, 1 - x, x)
    log_beta = torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)
    # log1p of the smaller side keeps accuracy near both ends.
    factor = torch.exp(a * torch.log(x) + b * torch.log1p(-x) - log_beta) / first
    value = factor * _beta_fraction(first, second, at)
    result[inside] = torch.where(flipped, 1 - value, value)
    return result


def _beta_fraction(a: Any, b: Any, x: Any) -> torch.Tensor:
    """Return the continued fraction of the incomplete beta function, by Lentz's method."""
    found = native_kernels.incomplete("beta_fractions", (a, b, x), 1)
    return beta_fraction(a, b, x) if found is None else found[0]


def beta_fraction(a: Any, b: Any, x: Any) -> torch.Tensor:
    """Return the fraction without a loop in C, which gives the same.

    Elements leave the computation as they converge: a few need hundreds of times more terms.
    """
    value = torch.empty_like(x)
    places = torch.arange(len(x), device=x.device)
    c = torch.ones_like(x)
    d = 1 / _not_zero(1 - (a + b) * x / (a + 1))
    result = d
    for m in range(1, MOST_TERMS + 1):
        twice = a + 2 * m
        even = m * (b - m) * x / ((twice - 1) * twice)
        d = 1 / _not_zero(1 + even * d)
        c = _not_zero(1 + even / c)
        result = result * d * c
        odd = -(a + m) * (a + b + m) * x / (twice * (twice + 1))
        d = 1 / _not_zero(1 + odd * d)
        c = _not_zero(1 + odd / c)
        step = d * c
        result = result * step
        if m % BETWEEN_CHECKS:
            continue
        going = (step - 1).abs() > 4 * EPSILON  # NaN stays NaN
        value[places[~going]] = result[~going]
        a, b, x, c, d, result, places = (part[going] for part in (a, b, x, c, d, result, places))
        if not len(places):
            break
    value[places] = result
    return value


def _not_zero(value: Any) -> torch.Tensor:
    tiny = 1e-300
    return torch.where(value.abs() < tiny, tiny, value)


# ---- derivatives of the digamma function


def polygamma(n: Any, x: Any) -> torch.Tensor:
    """Return the n-th derivative of digamma at x; NaN where n is not a whole number >= 0."""
    sign = torch.where(torch.fmod(n, 2) == 0, -1.0, 1.0).to(x.dtype)
    factor = sign * torch.exp(torch.lgamma(n + 1))
    if not n.dim() and (found := native_kernels.scaled_zeta(n + 1, x, factor)) is not None:
        return found
    derivative = factor * native_kernels.zeta(n + 1, x)
    result = torch.where(n == 0, digamma(x), derivative)
    return torch.where((n < 0) | (n != torch.floor(n)), float("nan"), result)
