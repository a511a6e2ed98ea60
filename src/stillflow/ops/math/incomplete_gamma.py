"""Derivatives of the incomplete gamma function and of gamma draws with respect to alpha.

P(a, x) is the regularized lower incomplete gamma function and Q = 1 - P. A power series of P
converges fast up to about x = a, a continued fraction of Q beyond; both are differentiated by `a`
term by term, in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.lazy import torch
from stillflow.ops.math import native_kernels
from stillflow.ops.math.native_kernels import BETWEEN_CHECKS, EPSILON, MOST_TERMS

_Found = tuple[Any, Any]  # a value and its derivative by a


def slope(a: Any, x: Any) -> torch.Tensor:
    """Return the derivative of P(a, x) by a; 0 for x = 0, else NaN outside a > 0, x > 0."""
    result = torch.full_like(a, float("nan"))
    result[x == 0] = 0.0
    return _filled(result, a, x, _slope_near, _slope_far)


def draw_slope(alpha: Any, sample: Any) -> torch.Tensor:
    """Return a gamma draw's derivative by alpha, with its distribution function kept equal.

    That is -(dP/da) / (dP/dx), of the type of alpha; NaN outside alpha > 0, sample >= 0.
    """
    a, x = torch.broadcast_tensors(alpha.double(), sample.double())
    result = torch.zeros_like(x)
    result[(a.isnan() | x.isnan()) | (a <= 0) | (x < 0)] = torch.nan
    return _filled(result, a, x, _draw_near, _draw_far).to(alpha.dtype)


def _filled(result: Any, a: Any, x: Any, near: Any, far: Any) -> torch.Tensor:
    """Fill in the values of two functions where the series or the fraction converges."""
    defined = (a > 0) & (x > 0)
    is_far = defined & (x > 1) & (x > a)
    for chosen, function in ((defined & ~is_far, near), (is_far, far)):
        if chosen.any():
            result[chosen] = function(a[chosen], x[chosen])
    return result


def _slope_near(a: Any, x: Any) -> torch.Tensor:
    """P = x^a e^-x / gamma(a + 1) times the series."""
    total, total_slope = _either("gamma_series", series, a, x)
    log_x = torch.log(x)
    factor = torch.exp(a * log_x - x - torch.lgamma(a + 1))
    return factor * (total * (log_x - torch.digamma(a + 1)) + total_slope)


def _slope_far(a: Any, x: Any) -> torch.Tensor:
    """Q = x^a e^-x / gamma(a) times the fraction."""
    value, value_slope = _either("gamma_fractions", fraction, a, x)
    log_x = torch.log(x)
    factor = torch.exp(a * log_x - x - torch.lgamma(a))
    return -factor * (value_slope + value * (log_x - torch.digamma(a)))


def _draw_near(a: Any, x: Any) -> torch.Tensor:
    total, total_slope = _either("gamma_series", series, a, x)
    return -(total_slope + total * (torch.log(x) - torch.digamma(a + 1))) * x / a


def _draw_far(a: Any, x: Any) -> torch.Tensor:
    value, value_slope = _either("gamma_fractions", fraction, a, x)
    return (value_slope + value * (torch.log(x) - torch.digamma(a))) * x


def _either(loop: str, function: Callable[[Any, Any], _Found], a: Any, x: Any) -> _Found:
    found = native_kernels.incomplete(loop, (a, x), 2)
    return function(a, x) if found is None else (found[0], found[1])


# ---- without a loop in C, which gives the same


def series(a: Any, x: Any) -> _Found:
    """1 + x/(a+1) + x^2/((a+1)(a+2)) + ..."""
    kept = _Kept(x)
    term, total = torch.ones_like(a), torch.ones_like(a)
    slope, total_slope = torch.zeros_like(a), torch.zeros_like(a)
    for n in range(1, MOST_TERMS + 1):
        divisor = a + n
        ratio = x / divisor
        slope = ratio * (slope - term / divisor)
        term = term * ratio
        total_slope = total_slope + slope
        total = total + term
        if n % BETWEEN_CHECKS:
            continue
        going = slope.abs() > EPSILON * total_slope.abs()  # NaN does not continue
        if kept.all_but(going, total, total_slope):
            break
        a, x, term, total, slope, total_slope = (
            part[going] for part in (a, x, term, total, slope, total_slope)
        )
    return kept.with_last(total, total_slope)


def fraction(a: Any, x: Any) -> _Found:
    """p/q of two recurrences. Only ratios matter: they are scaled so that they stay finite."""
    kept = _Kept(x)
    y, z = 1 - a, x + 2 - a
    p0, q0, p1, q1 = torch.ones_like(x), x, x + 1, z * x
    dp0, dq0, dp1, dq1 = torch.zeros_like(x), torch.zeros_like(x), torch.zeros_like(x), -x
    value = p1 / q1
    slope = (dp1 - value * dq1) / q1
    for n in range(1, MOST_TERMS + 1):
        y, z = y + 1, z + 2
        share = y * n
        p, q = p1 * z - p0 * share, q1 * z - q0 * share
        dp = dp1 * z - p1 - dp0 * share + p0 * n
        dq = dq1 * z - q1 - dq0 * share + q0 * n
        value = p / q
        pull = value * dq
        before, slope = slope, (dp - pull) / q
        scale = torch.where(p.abs() > 2.0**52, 2.0**-52, 1.0)
        p0, q0, p1, q1 = p1 * scale, q1 * scale, p * scale, q * scale
        dp0, dq0, dp1, dq1 = dp1 * scale, dq1 * scale, dp * scale, dq * scale
        if n % BETWEEN_CHECKS:
            continue
        # The last bits of both parts of the slope never come to rest.
        noise = slope.abs() + (pull / q).abs()
        going = (slope - before).abs() > 4 * EPSILON * noise
        if kept.all_but(going, value, slope):
            break
        y, z, value, slope, p0, q0, p1, q1, dp0, dq0, dp1, dq1 = (
            part[going] for part in (y, z, value, slope, p0, q0, p1, q1, dp0, dq0, dp1, dq1)
        )
    return kept.with_last(value, slope)


class _Kept:
    """Results of elements that leave a computation as they converge: a few need many more terms."""

    def __init__(self, like: Any) -> None:
        self.results = torch.empty_like(like), torch.empty_like(like)
        self.places = torch.arange(len(like), device=like.device)

    def all_but(self, going: Any, *values: Any) -> bool:
        """Keep the values of elements that do not go on; return whether none does."""
        for result, value in zip(self.results, values, strict=True):
            result[self.places[~going]] = value[~going]
        self.places = self.places[going]
        return not len(self.places)

    def with_last(self, *values: Any) -> _Found:
        """Return the results; of elements that have gone on to the end, the last values."""
        if len(self.places):
            self.all_but(torch.zeros_like(self.places, dtype=torch.bool), *values)
        return self.results
