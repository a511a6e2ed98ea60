"""Special functions that torch lacks, by series and continued fractions in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.lazy import torch
from stillflow.ops.math import zeta_loops

_EPSILON = 2.0**-53
_MAX_TERMS = 5000


def in_double(function: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel that broadcasts its inputs, computes in double precision and converts back."""

    def run(*tensors: Any) -> Any:
        dtype = tensors[0].dtype
        wide = torch.broadcast_tensors(*[tensor.double() for tensor in tensors])
        return function(*wide).to(dtype)

    return run


# ---- functions that torch has with other values at the edges


def digamma(x: Any) -> Any:
    """The digamma function, infinite at 0 and negative whole numbers."""
    at_pole = (x <= 0) & (x == torch.floor(x))
    return torch.digamma(x).masked_fill_(at_pole, float("inf"))


def igamma(a: Any, x: Any) -> Any:
    """P(a, x); 0 for x = 0, else NaN outside a > 0, x > 0."""
    result = torch.igamma(a, x).masked_fill_((a <= 0) | (x < 0), float("nan"))
    return result.masked_fill_(x == 0, 0.0)


def igammac(a: Any, x: Any) -> Any:
    """Q(a, x); NaN outside a > 0, x >= 0."""
    return torch.igammac(a, x).masked_fill_((a <= 0) | (x < 0), float("nan"))


# ---- d/da of the regularized lower incomplete gamma function P(a, x)


def igamma_grad_a(a: Any, x: Any) -> Any:
    """The derivative of P(a, x) by a; NaN outside a > 0, x >= 0."""
    defined = (a > 0) & (x > 0)
    tail = defined & (x > 1) & (x > a)
    result = torch.full_like(a, float("nan"))
    result[x == 0] = 0.0
    near = defined & ~tail
    result[near] = _gamma_series_slope(a[near], x[near])
    result[tail] = -_gamma_fraction_slope(a[tail], x[tail])
    return result


def _gamma_series_slope(a: Any, x: Any) -> Any:
    """By the power series of P, which converges fast up to about x = a."""
    term, total = torch.ones_like(a), torch.ones_like(a)
    slope, total_slope = torch.zeros_like(a), torch.zeros_like(a)
    for n in range(1, _MAX_TERMS):
        ratio = x / (a + n)
        slope = slope * ratio - term * ratio / (a + n)
        term = term * ratio
        total = total + term
        total_slope = total_slope + slope
        if torch.all(slope.abs() <= _EPSILON * total_slope.abs()):
            break
    log_x = torch.log(x)
    factor = torch.exp(a * log_x - x - torch.lgamma(a + 1))
    return factor * (total * (log_x - torch.digamma(a + 1)) + total_slope)


def _gamma_fraction_slope(a: Any, x: Any) -> Any:
    """The derivative of Q = 1 - P by its continued fraction, differentiated term by term."""
    y, z = 1 - a, x + 2 - a
    p0, q0, p1, q1 = torch.ones_like(x), x, x + 1, z * x
    dp0, dq0, dp1, dq1 = torch.zeros_like(x), torch.zeros_like(x), torch.zeros_like(x), -x
    value = p1 / q1
    slope = (dp1 - value * dq1) / q1
    for c in range(1, _MAX_TERMS):
        y, z = y + 1, z + 2
        yc = y * c
        p, q = p1 * z - p0 * yc, q1 * z - q0 * yc
        dp = dp1 * z - p1 - dp0 * yc + p0 * c
        dq = dq1 * z - q1 - dq0 * yc + q0 * c
        value = p / q
        new_slope = (dp - value * dq) / q
        moved = (new_slope - slope).abs()
        slope = new_slope
        # Only ratios matter: scaled so that the recurrence cannot overflow.
        scale = torch.where(p.abs() > 2.0**52, 2.0**-52, 1.0)
        p0, q0, p1, q1 = p1 * scale, q1 * scale, p * scale, q * scale
        dp0, dq0, dp1, dq1 = dp1 * scale, dq1 * scale, dp * scale, dq * scale
        if torch.all(moved <= _EPSILON * slope.abs()):
            break
    log_x = torch.log(x)
    factor = torch.exp(a * log_x - x - torch.lgamma(a))
    return factor * (slope + value * (log_x - torch.digamma(a)))


# ---- the regularized incomplete beta function


def betainc(a: Any, b: Any, x: Any) -> Any:
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


_BETWEEN_CHECKS = 8


def _beta_fraction(a: Any, b: Any, x: Any) -> Any:
    """The continued fraction of the incomplete beta function, by Lentz's method.

    Elements leave the computation as they converge: a few need hundreds of times more terms.
    """
    value = torch.empty_like(x)
    places = torch.arange(len(x), device=x.device)
    c = torch.ones_like(x)
    d = 1 / _not_zero(1 - (a + b) * x / (a + 1))
    result = d
    for m in range(1, _MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d = 1 / _not_zero(1 + even * d)
        c = _not_zero(1 + even / c)
        result = result * d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / _not_zero(1 + odd * d)
        c = _not_zero(1 + odd / c)
        step = d * c
        result = result * step
        if m % _BETWEEN_CHECKS:
            continue
        going = (step - 1).abs() > 4 * _EPSILON  # NaN stays NaN
        value[places[~going]] = result[~going]
        a, b, x, c, d, result, places = (part[going] for part in (a, b, x, c, d, result, places))
        if not len(places):
            break
    value[places] = result
    return value


def _not_zero(value: Any) -> Any:
    tiny = 1e-300
    return torch.where(value.abs() < tiny, tiny, value)


# ---- derivatives of the digamma function


def polygamma(n: Any, x: Any) -> Any:
    """The n-th derivative of digamma at x; NaN where n is not a whole number >= 0."""
    sign = torch.where(torch.fmod(n, 2) == 0, -1.0, 1.0).to(x.dtype)
    factor = sign * torch.exp(torch.lgamma(n + 1))
    if not n.dim() and (found := zeta_loops.scaled(n + 1, x, factor)) is not None:
        return found
    derivative = factor * torch.special.zeta(n + 1, x)
    result = torch.where(n == 0, digamma(x), derivative)
    return torch.where((n < 0) | (n != torch.floor(n)), float("nan"), result)
