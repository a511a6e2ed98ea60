"""The normal distribution function, its logarithm and its inverse; that of Laplace."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.fill import fill, zeros_like
from stillflow.ops.arrays.select import where_v2
from stillflow.ops.arrays.shape import shape
from stillflow.ops.constants import constant
from stillflow.ops.math.binary import maximum, minimum
from stillflow.ops.math.comparison import greater, less
from stillflow.ops.math.special import erf, erfc
from stillflow.ops.math.unary import abs as abs_
from stillflow.ops.math.unary import exp, log, log1p, sqrt, square

# Below the first, `log_ndtr` is computed by a series; above the second, by `-ndtr(-x)`.
LOGNDTR_FLOAT64_LOWER = np.array(-20, np.float64)
LOGNDTR_FLOAT32_LOWER = np.array(-10, np.float32)
LOGNDTR_FLOAT64_UPPER = np.array(8, np.float64)
LOGNDTR_FLOAT32_UPPER = np.array(5, np.float32)
_LOG_NDTR_BOUNDS: dict[Any, tuple[Any, Any]] = {
    np.float64: (LOGNDTR_FLOAT64_LOWER, LOGNDTR_FLOAT64_UPPER),
    np.float32: (LOGNDTR_FLOAT32_LOWER, LOGNDTR_FLOAT32_UPPER),
}

# Rational approximations of the inverse normal distribution function, from the Cephes library:
# coefficients of numerators and denominators, highest power first.
_CENTRAL = (
    [
        -5.99633501014107895267e1,
        9.80010754185999661536e1,
        -5.66762857469070293439e1,
        1.39312609387279679503e1,
        -1.23916583867381258016e0,
    ],
    [
        1.0,
        1.95448858338141759834e0,
        4.67627912898881538453e0,
        8.63602421390890590575e1,
        -2.25462687854119370527e2,
        2.00260212380060660359e2,
        -8.20372256168333339912e1,
        1.59056225126211695515e1,
        -1.18331621121330003142e0,
    ],
)
_TAIL = (
    [
        4.05544892305962419923e0,
        3.15251094599893866154e1,
        5.71628192246421288162e1,
        4.40805073893200834700e1,
        1.46849561928858024014e1,
        2.18663306850790267539e0,
        -1.40256079171354495875e-1,
        -3.50424626827848203418e-2,
        -8.57456785154685413611e-4,
    ],
    [
        1.0,
        1.57799883256466749731e1,
        4.53907635128879210584e1,
        4.13172038254672030440e1,
        1.50425385692907503408e1,
        2.50464946208309415979e0,
        -1.42182922854787788574e-1,
        -3.80806407691578277194e-2,
        -9.33259480895457427372e-4,
    ],
)
_FAR_TAIL = (
    [
        3.23774891776946035970e0,
        6.91522889068984211695e0,
        3.93881025292474443415e0,
        1.33303460815807542389e0,
        2.01485389549179081538e-1,
        1.23716634817820021358e-2,
        3.01581553508235416007e-4,
        2.65806974686737550832e-6,
        6.23974539184983293730e-9,
    ],
    [
        1.0,
        6.02427039364742014255e0,
        3.67983563856160859403e0,
        1.37702099489081330271e0,
        2.16236993594496635890e-1,
        1.34204006088543189037e-2,
        3.28014464682127739104e-4,
        2.89247864745380683936e-6,
        6.79019408009981274425e-9,
    ],
)


def _float(value: Any, name: str) -> Tensor:
    value = convert_to_tensor(value, name=name)
    if value.dtype.as_numpy_dtype not in (np.float32, np.float64):
        raise TypeError(
            f"{name}.dtype={value.dtype} is not handled, see docstring for supported types."
        )
    return value


def ndtr(x: Any, name: str = "ndtr") -> Tensor:
    """Return the standard normal distribution function of float32 or float64, or TypeError."""
    with name_scope(name, values=[x]):
        return _ndtr(_float(x, "x"))


def _ndtr(x: Any) -> Tensor:
    scale = constant(0.5 * np.sqrt(2.0), dtype=x.dtype, name="half_sqrt_2")
    w = x * scale
    z = abs_(w)
    near = less(z, scale)
    by_erf = 1.0 + erf(w)
    tails = where_v2(greater(w, 0.0), 2.0 - erfc(z), erfc(z))
    return 0.5 * where_v2(near, by_erf, tails)


def ndtri(p: Any, name: str = "ndtri") -> Tensor:
    """Return the inverse of `ndtr`, of float32 or float64; TypeError for others."""
    with name_scope(name, values=[p]):
        return _ndtri(_float(p, "p"))


def _polynomial(x: Any, coefficients: list[float]) -> Tensor:
    """Return the polynomial of `x`, by Horner's rule."""
    numbers = np.array(coefficients, x.dtype.as_numpy_dtype)
    result = zeros_like(x)
    for number in numbers:
        result = number + result * x
    return result


def _ndtri(p: Any) -> Tensor:
    # By symmetry only the lower half is approximated.
    mirrored = where_v2(p > -np.expm1(-2.0), 1.0 - p, p)
    half = np.array(0.5, p.dtype.as_numpy_dtype)
    safe = where_v2(mirrored <= 0.0, fill(shape(p), half), mirrored)
    w = safe - 0.5
    squared = w**2
    top, bottom = _CENTRAL
    central = w + w * squared * (_polynomial(squared, top) / _polynomial(squared, bottom))
    central *= -np.sqrt(2.0 * np.pi)
    z = sqrt(-2.0 * log(safe))
    leading = z - log(z) / z
    corrections = [
        # One reciprocal for each polynomial, as the original graph has it.
        _polynomial(1.0 / z, top) / _polynomial(1.0 / z, bottom) / z
        for top, bottom in (_FAR_TAIL, _TAIL)
    ]
    far, tail = (leading - correction for correction in corrections)
    x = where_v2(safe > np.exp(-2.0), central, where_v2(z >= 8.0, far, tail))
    x = where_v2(p > 1.0 - np.exp(-2.0), x, -x)
    infinite = constant(np.inf, dtype=p.dtype)
    infinity = fill(shape(p), infinite)
    return where_v2(p <= 0.0, -infinity, where_v2(p >= 1.0, infinity, x))


def log_ndtr(x: Any, series_order: int = 3, name: str = "log_ndtr") -> Tensor:
    """Return the logarithm of `ndtr`, precise far below zero, of float32 or float64.

    `series_order`, terms of the asymptotic series, is 0 to 30.
    """
    if not isinstance(series_order, int):
        raise TypeError("series_order must be a Python integer.")
    if not 0 <= series_order <= 30:
        limit = "<= 30" if series_order > 0 else "non-negative"
        raise ValueError(f"series_order must be {limit}.")
    with name_scope(name, values=[x]):
        x = convert_to_tensor(x, name="x")
        bounds = _LOG_NDTR_BOUNDS.get(x.dtype.as_numpy_dtype)
        if bounds is None:
            raise TypeError(f"x.dtype={x.dtype} is not supported.")
        lower, upper = bounds
        is_above, above = greater(x, upper), -_ndtr(-x)
        is_between = greater(x, lower)
        between = log(_ndtr(maximum(x, lower)))
        below = _log_ndtr_far_below(minimum(x, lower), series_order)
        return where_v2(is_above, above, where_v2(is_between, between, below))


def _log_ndtr_far_below(x: Any, series_order: int) -> Tensor:
    log_scale = -0.5 * square(x) - log(-x) - 0.5 * np.log(2.0 * np.pi)
    return log_scale + log(_asymptotic_series(x, series_order))


def _asymptotic_series(x: Any, order: int) -> Any:
    dtype = x.dtype.as_numpy_dtype
    if order <= 0:
        return np.array(1, dtype)
    squared = square(x)
    sums = [zeros_like(x), zeros_like(x)]
    power = squared
    for n in range(1, order + 1):
        double_factorial = np.prod(np.arange(2 * n - 1, 1, -2))
        sums[n % 2] += np.array(double_factorial, dtype) / power
        power *= squared
    return 1.0 + sums[0] - sums[1]


def erfinv(x: Any, name: str = "erfinv") -> Tensor:
    """Return the inverse of the error function, of float32 or float64; TypeError for others."""
    with name_scope(name, values=[x]):
        x = _float(x, "x")
        return ndtri((x + 1.0) / 2.0) / np.sqrt(2)


def log_cdf_laplace(x: Any, name: str = "log_cdf_laplace") -> Tensor:
    """Return the logarithm of Laplace's distribution function."""
    with name_scope(name, values=[x]):
        x = convert_to_tensor(x, name="x")
        # The absolute value keeps the branch that is not taken from overflowing.
        below, above = -np.log(2.0) + x, log1p(-0.5 * exp(-abs_(x)))
        return where_v2(x < 0.0, below, above)
