"""Logarithm, sine and cosine of float32 arrays, rounded the way the C library rounds them.

Normal draws pass through these three functions, and the C library's float32 versions are not
correctly rounded: one result in seventy differs from the double-precision one in its last bit. To
draw the very same normals, their method is followed: polynomials in double precision whose
coefficients are those of Arm's Optimized Routines (MIT licence), which glibc has used since 2.28.
"""

from __future__ import annotations

import numpy as np

LN2 = float.fromhex("0x1.62e42fefa39efp-1")
PI_2 = float.fromhex("0x1.921fb54442d18p+0")

# (1/c, log c) for sixteen subintervals of the mantissa's range [0x1.66p-1, 0x1.66p0).
_LOG_INTERVALS = (
    ("0x1.661ec79f8f3bep+0", "-0x1.57bf7808caadep-2"),
    ("0x1.571ed4aaf883dp+0", "-0x1.2bef0a7c06ddbp-2"),
    ("0x1.49539f0f010bp+0", "-0x1.01eae7f513a67p-2"),
    ("0x1.3c995b0b80385p+0", "-0x1.b31d8a68224e9p-3"),
    ("0x1.30d190c8864a5p+0", "-0x1.6574f0ac07758p-3"),
    ("0x1.25e227b0b8eap+0", "-0x1.1aa2bc79c81p-3"),
    ("0x1.1bb4a4a1a343fp+0", "-0x1.a4e76ce8c0e5ep-4"),
    ("0x1.12358f08ae5bap+0", "-0x1.1973c5a611cccp-4"),
    ("0x1.0953f419900a7p+0", "-0x1.252f438e10c1ep-5"),
    ("0x1p+0", "0x0p+0"),
    ("0x1.e608cfd9a47acp-1", "0x1.aa5aa5df25984p-5"),
    ("0x1.ca4b31f026aap-1", "0x1.c5e53aa362eb4p-4"),
    ("0x1.b2036576afce6p-1", "0x1.526e57720db08p-3"),
    ("0x1.9c2d163a1aa2dp-1", "0x1.bc2860d22477p-3"),
    ("0x1.886e6037841edp-1", "0x1.1058bc8a07ee1p-2"),
    ("0x1.767dcf5534862p-1", "0x1.4043057b6ee09p-2"),
)
_LOG_OFFSET = 0x3F330000
_LOG_BITS = 4
_LOG_COEFFICIENTS = tuple(
    map(float.fromhex, ("-0x1.ffffef20a4123p-2", "0x1.5575b0be00b6ap-2", "-0x1.00ea348b88334p-2"))
)
_COS_COEFFICIENTS = tuple(
    map(
        float.fromhex,
        (
            "-0x1.ffffffd0c621cp-2",
            "0x1.55553e1068f19p-5",
            "-0x1.6c087e89a359dp-10",
            "0x1.99343027bf8c3p-16",
        ),
    )
)
_SIN_COEFFICIENTS = tuple(
    map(
        float.fromhex,
        ("-0x1.555545995a603p-3", "0x1.1107605230bc4p-7", "-0x1.994eb3774cf24p-13"),
    )
)
# pi/2 in two parts: a small integer times the first is exact.
_PI_2_UPPER = float(np.float32(PI_2))
_PI_2_LOWER = PI_2 - _PI_2_UPPER


def _log_tables() -> tuple[np.ndarray, np.ndarray]:
    """1/c and log c for the sixteen subintervals of every binade below one, smallest first."""
    inverse, log = [], []
    for exponent in range(-_BINADES, 1):
        for inverse_c, log_c in _LOG_INTERVALS:
            inverse.append(float.fromhex(inverse_c) * 2.0**-exponent)
            log.append(float.fromhex(log_c) + exponent * LN2)
    return np.array(inverse), np.array(log)


_BINADES = 24
_INVERSE, _LOG = _log_tables()


def log_of_unit(x: np.ndarray) -> np.ndarray:
    """Return log x for a float32 array with 2**-24 <= x < 1."""
    interval = x.view(np.int32) - np.int32(_LOG_OFFSET - (_BINADES << 23))
    interval >>= np.int32(23 - _LOG_BITS)
    index = interval.astype(np.intp)
    r = x.astype(np.float64)
    scale = _INVERSE.take(index)
    r *= scale
    r -= 1.0
    log_c = _LOG.take(index, out=scale, mode="clip")
    log_c += r
    square = r * r
    a, b, c = _LOG_COEFFICIENTS
    r *= b
    r += a
    np.multiply(square, c, out=(term := np.empty_like(square)))
    r += term
    r *= square
    r += log_c
    return r.astype(np.float32)


def sin_cos(angle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(sin, cos) of a float32 array of angles from 0 to 2 pi."""
    x = angle.astype(np.float64)
    term = x * (1 / PI_2)
    quarter = np.rint(term, out=term).astype(np.int32)
    product = term * _PI_2_UPPER
    x -= product
    term *= _PI_2_LOWER
    x -= term
    square = np.multiply(x, x, out=product)
    sine = _sin_polynomial(x, square, term)
    cosine = _cos_polynomial(square, x, term)
    _turn(sine.view(np.int32), cosine.view(np.int32), quarter)
    return sine, cosine


def _sin_polynomial(x: np.ndarray, square: np.ndarray, term: np.ndarray) -> np.ndarray:
    s1, s2, s3 = _SIN_COEFFICIENTS
    cube = square * x
    np.multiply(cube, s1, out=term)
    total = x + term
    np.multiply(square, s3, out=term)
    term += s2
    cube *= square
    term *= cube
    total += term
    return total.astype(np.float32)


def _cos_polynomial(square: np.ndarray, total: np.ndarray, term: np.ndarray) -> np.ndarray:
    c1, c2, c3, c4 = _COS_COEFFICIENTS
    np.multiply(square, c1, out=total)
    total += 1.0
    fourth = square * square
    np.multiply(fourth, c2, out=term)
    total += term
    np.multiply(square, c4, out=term)
    term += c3
    fourth *= square
    term *= fourth
    total += term
    return total.astype(np.float32)


def _turn(sine: np.ndarray, cosine: np.ndarray, quarter: np.ndarray) -> None:
    """Turn sine and cosine, given as their bits, by `quarter` quarters of a circle."""
    odd = quarter & np.int32(1)
    np.negative(odd, out=odd)
    swapped = sine ^ cosine
    swapped &= odd
    sine ^= swapped
    cosine ^= swapped
    sign = np.left_shift(quarter, np.int32(30), out=swapped)
    sign &= np.int32(-(2**31))
    sine ^= sign
    quarter += np.int32(1)
    np.left_shift(quarter, np.int32(30), out=sign)
    sign &= np.int32(-(2**31))
    cosine ^= sign
