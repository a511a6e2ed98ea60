"""Weighted sums along one dimension of images, whichever way they are added up."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from stillflow.ops.image import taps
from stillflow.ops.image.sampling_kernels import sampled

pytestmark = pytest.mark.usefixtures("either_way")

FOUND = {
    "cubic": taps.cubic(13, 20, False, True), "area": taps.area(13, 5, False),
    "one": taps.cubic(13, 1, True, False), "many": taps.area(13, 1, False),
}  # fmt: skip


def one_by_one(image: np.ndarray, found: taps.Taps, axis: int) -> np.ndarray:
    """Tap after tap, in float32."""
    moved = np.moveaxis(image.astype(np.float32), axis, -1)
    parts = [moved[..., p] * s for p, s in zip(found.places, found.shares, strict=True)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return np.moveaxis(total, -1, axis)


@pytest.mark.parametrize("name", FOUND)
@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int32])
def test_the_sums_are_those_of_the_formula(
    name: str, axis: int, channels: int, dtype: type
) -> None:
    image = (np.random.default_rng(0).random((2, 13, 13, channels)) * 250).astype(dtype)
    found = taps.gather(torch.from_numpy(image), FOUND[name], axis)
    expected = one_by_one(image, FOUND[name], axis)
    if name == "many":  # as a product of matrices in another order
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    else:
        np.testing.assert_array_equal(found, expected)


def test_large_images_are_shared_out_among_threads() -> None:
    image = np.random.default_rng(1).random((2, 13, 400, 3), np.float32)
    wide = taps.cubic(400, 13_000, False, False)
    found = taps.gather(torch.from_numpy(image), wide, 2)
    np.testing.assert_array_equal(found, one_by_one(image, wide, 2))


def test_images_moved_to_nowhere_are_read_no_further_than_they_go() -> None:
    with np.errstate(invalid="ignore"):
        found = sampled(13, 20, 1.0, float("nan"), "lanczos3", True)
    assert taps.gather(torch.ones(1, 13, 9, 3), found, 1).isnan().all()


def test_no_image_gives_none() -> None:
    assert taps.gather(torch.zeros(0, 13, 9, 3), FOUND["cubic"], 1).shape == (0, 20, 9, 3)
