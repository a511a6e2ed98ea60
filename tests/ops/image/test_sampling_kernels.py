"""Sampling kernels: their values, and the weights that they give."""

from __future__ import annotations

import numpy as np
import pytest

from stillflow.ops.image.sampling_kernels import KERNELS, sampled


@pytest.mark.parametrize("name", sorted(KERNELS))
def test_kernels_vanish_beyond_their_radius(name: str) -> None:
    kernel = KERNELS[name]
    beyond = np.float32(kernel.radius) + np.linspace(0.01, 3, 50, dtype=np.float32)
    assert (kernel.weight(beyond) == 0).all()


@pytest.mark.parametrize("name", sorted(set(KERNELS) - {"gaussian", "mitchellcubic"}))
def test_interpolating_kernels_keep_the_pixels(name: str) -> None:
    whole = np.arange(5, dtype=np.float32)
    np.testing.assert_allclose(KERNELS[name].weight(whole), [1, 0, 0, 0, 0], atol=1e-6)


@pytest.mark.parametrize("name", sorted(KERNELS))
@pytest.mark.parametrize("scale", [0.3, 1.0, 2.7])
def test_weights_of_pixels_inside_sum_to_one(name: str, scale: float) -> None:
    taps = sampled(11, round(11 * scale), scale, 0.0, name, True)
    np.testing.assert_allclose(taps.shares.sum(0), 1, rtol=1e-5)
    assert taps.places.min() >= 0
    assert taps.places.max() <= 10


def test_outputs_that_lie_outside_are_empty() -> None:
    taps = sampled(4, 8, 1.0, 3.0, "triangle", False)
    np.testing.assert_array_equal(taps.shares.sum(0) > 0, [0, 0, 0, 1, 1, 1, 1, 0])
