"""Series and fractions of the incomplete gamma and beta functions, in C and without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special
import torch

from stillflow import native
from stillflow.ops.math import incomplete_gamma, native_kernels
from stillflow.ops.math import special_kernels as kernels

EDGES = [0.0, -1.0, np.nan, np.inf]


def numbers(seed: int, low: float, high: float) -> Any:
    """Positive numbers of all magnitudes between two powers of e, float64."""
    return torch.from_numpy(np.exp(np.random.RandomState(seed).uniform(low, high, 3001)))


SHAPES, VALUES = numbers(1, -5, 7), numbers(2, -9, 8)
IS_FAR = (VALUES > 1) & (VALUES > SHAPES)


@pytest.mark.parametrize(
    ("loop", "function", "where"),
    [
        ("gamma_series", incomplete_gamma.series, ~IS_FAR),
        ("gamma_fractions", incomplete_gamma.fraction, IS_FAR),
    ],
)
def test_terms_of_the_gamma_function_are_the_same_either_way(loop, function, where):
    if native.library() is None:
        pytest.skip("the loops in C were not built")
    found = native_kernels.incomplete(loop, (SHAPES[where], VALUES[where]), 2)
    assert found is not None
    for one, other in zip(found, function(SHAPES[where], VALUES[where]), strict=True):
        assert torch.equal(one, other)


def test_terms_of_the_beta_function_are_the_same_either_way():
    if native.library() is None:
        pytest.skip("the loops in C were not built")
    others, x = numbers(3, -5, 7), torch.linspace(1e-9, 1 - 1e-9, 3001, dtype=torch.float64)
    found = native_kernels.incomplete("beta_fractions", (SHAPES, others, x), 1)
    assert found is not None
    assert torch.equal(found[0], kernels.beta_fraction(SHAPES, others, x))


def test_few_terms_are_enough(monkeypatch):
    """The last bits of a fraction's slope never rest: nothing may wait for that."""
    a, x = SHAPES[IS_FAR], VALUES[IS_FAR]
    expected = incomplete_gamma.fraction(a, x)
    monkeypatch.setattr(incomplete_gamma, "MOST_TERMS", 160)
    for one, other in zip(incomplete_gamma.fraction(a, x), expected, strict=True):
        assert torch.equal(one, other)


@pytest.mark.usefixtures("either_way")
def test_slope_is_that_of_the_function():
    a, x = SHAPES.numpy(), VALUES.numpy()
    step = 1e-6 * a
    upper, lower = (scipy.special.gammainc(a + s, x) for s in (step, -step))
    expected = (upper - lower) / (2 * step)
    np.testing.assert_allclose(
        incomplete_gamma.slope(SHAPES, VALUES), expected, rtol=2e-4, atol=1e-8
    )


@pytest.mark.usefixtures("either_way")
def test_draws_move_so_that_the_distribution_stays():
    near = (VALUES < 3 * SHAPES + 5) & (VALUES > SHAPES / 3)
    a, x = SHAPES[near], VALUES[near]
    density = torch.exp((a - 1) * torch.log(x) - x - torch.lgamma(a))
    expected = -incomplete_gamma.slope(a, x) / density
    torch.testing.assert_close(incomplete_gamma.draw_slope(a, x), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("edge", EDGES)
def test_edges_are_where_they_were(edge):
    edges, ones = (torch.tensor([number], dtype=torch.float64) for number in (edge, 1.0))
    assert incomplete_gamma.slope(edges, ones).isnan().item()
    drawn, slope = incomplete_gamma.draw_slope(ones, edges), incomplete_gamma.slope(ones, edges)
    assert drawn.isnan().item() == slope.isnan().item() == (edge != 0)
    if edge == 0:
        assert drawn.item() == slope.item() == 0
