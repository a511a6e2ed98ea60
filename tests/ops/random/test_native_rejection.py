"""Draws from gamma and Poisson distributions by the loops in C: the numbers drawn without."""

from __future__ import annotations

import numpy as np
import pytest

from stillflow import native
from stillflow.ops.random import gamma, native_kernels, poisson
from stillflow.ops.random.philox import Philox

if native.library() is None:
    pytest.skip("the loops in C were not built", allow_module_level=True)

# Where the counter's words are carried from one to the next.
STREAMS = [Philox(7, 0, 3), Philox(7, 2**32 - 300, 3), Philox(2**64 - 1, 2**64 - 5000, 2**64 - 1)]
SHAPES = np.array([0.0, 1e-3, 0.3, 0.999, 1.0, 1.001, 4.0, 1e5, np.nan, -0.5, -7.0, np.inf])
RATES = np.array([0.0, 0.2, 9.999, 10.0, 55.0, 1e6, np.inf, np.nan, -3.0])
FEW, MANY = 3, 1500  # of the second a thread takes a part


def check(found: np.ndarray | None, expected: np.ndarray) -> None:
    """All as numbers of single precision, and nearly all to the last bit of double precision."""
    assert found is not None
    assert found.shape == expected.shape
    found, expected = without_denormals(found), without_denormals(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-13)
    np.testing.assert_array_equal(found.astype(np.float32), expected.astype(np.float32))


def without_denormals(values: np.ndarray) -> np.ndarray:
    """Zero for those: worker threads that a plan has started flush them, this one does not."""
    return np.where(np.abs(values) < np.finfo(values.dtype).tiny, 0.0, values)


@pytest.mark.parametrize("samples", [0, 1, FEW, MANY])
@pytest.mark.parametrize("stream", STREAMS)
def test_gamma_draws(stream, samples):
    expected = gamma._drawn(stream, SHAPES, samples, 1)
    for threads in (1, 3):
        check(native_kernels.gamma(stream, SHAPES, samples, threads), expected)


@pytest.mark.parametrize("largest", [65504.0, 1e300])
@pytest.mark.parametrize("samples", [1, FEW, MANY])
@pytest.mark.parametrize("stream", STREAMS)
def test_poisson_draws(stream, samples, largest):
    rates = RATES[np.isfinite(RATES) & np.less_equal(RATES, largest)]
    expected = poisson._drawn(stream, rates, samples, largest, 1)
    for threads in (1, 3):
        found = native_kernels.poisson(stream, rates, samples, largest, threads)
        assert found is not None
        np.testing.assert_array_equal(found, expected)


def test_rates_without_room_are_left_to_what_can_be_interrupted():
    assert native_kernels.poisson(STREAMS[0], np.array([1e6]), 2, 65504.0, 1) is None


def test_rates_that_are_no_numbers_draw_none():
    found = poisson.poisson(STREAMS[0], RATES, 2, 1e300)
    assert np.isnan(found).tolist() == [(~np.isfinite(RATES)).tolist()] * 2
