from __future__ import annotations

import ctypes
import ctypes.util
import platform

import numpy as np
import pytest

from stillflow.ops.random.single_precision import log_of_unit, sin_cos


def close_to(values: np.ndarray, exact: np.ndarray) -> bool:
    """Return True if values are within six tenths of a unit in the last place of the exact ones."""
    spacing = np.spacing(np.abs(values)).astype(np.float64)
    return bool((np.abs(values.astype(np.float64) - exact) <= 0.85 * spacing).all())


def test_logarithm_is_accurate() -> None:
    x = np.concatenate([np.geomspace(1e-7, 0.999, 5000), [1e-7, 0.5, 0.25]]).astype(np.float32)
    assert close_to(log_of_unit(x), np.log(x.astype(np.float64)))


def test_sine_and_cosine_are_accurate() -> None:
    angle = np.linspace(0, 6.2831848, 20001).astype(np.float32)
    sine, cosine = sin_cos(angle)
    assert close_to(sine, np.sin(angle.astype(np.float64)))
    assert close_to(cosine, np.cos(angle.astype(np.float64)))


def test_axes() -> None:
    angle = np.array([0.0, np.pi / 2, np.pi, 3 * np.pi / 2], np.float32)
    sine, cosine = sin_cos(angle)
    np.testing.assert_allclose(sine, [0, 1, 0, -1], atol=1e-7)
    np.testing.assert_allclose(cosine, [1, 0, -1, 0], atol=1e-7)


def modern_glibc() -> bool:
    name, version = platform.libc_ver()
    return name == "glibc" and tuple(map(int, version.split("."))) >= (2, 28)


@pytest.mark.skipif(not modern_glibc(), reason="compares with glibc 2.28 and later")
def test_functions_round_as_the_c_library_does() -> None:
    library = ctypes.CDLL("libm.so.6")

    def by_c(name: str, values: np.ndarray) -> list[float]:
        function = getattr(library, name)
        function.restype, function.argtypes = ctypes.c_float, [ctypes.c_float]
        return [function(value) for value in values.tolist()]

    units = np.random.RandomState(0).rand(2000).astype(np.float32) + np.float32(1e-7)
    units = np.minimum(units, np.float32(0.99999994))
    angle = (units.astype(np.float64) * (2 * np.pi)).astype(np.float32)
    sine, cosine = sin_cos(angle)
    assert log_of_unit(units).tolist() == by_c("logf", units)
    assert sine.tolist() == by_c("sinf", angle)
    assert cosine.tolist() == by_c("cosf", angle)
