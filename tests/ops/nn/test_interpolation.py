"""Linear interpolation gives the numbers of its formula, whichever way it is computed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from stillflow.ops.nn.interpolation import Weights, interpolate, weights


def formula(image: np.ndarray, rows: Weights, columns: Weights) -> np.ndarray:
    """Every output from its four neighbours."""

    def across(part: np.ndarray) -> np.ndarray:
        left, right = part[:, :, columns.lower], part[:, :, columns.upper]
        return left + (right - left) * columns.fraction[:, None]

    top, bottom = across(image[:, rows.lower]), across(image[:, rows.upper])
    return top + (bottom - top) * rows.fraction[:, None, None]


@pytest.mark.parametrize("channels", [1, 3, 17])
@pytest.mark.parametrize("wanted", [(4, 5), (11, 9), (40, 31)])
@pytest.mark.parametrize("grid", [(False, False), (True, False), (False, True)])
def test_the_numbers_are_those_of_the_formula(
    channels: int, wanted: tuple[int, int], grid: tuple[bool, bool]
) -> None:
    image = np.random.default_rng(0).normal(size=(2, 13, 10, channels)).astype(np.float32)
    rows, columns = weights(13, wanted[0], *grid), weights(10, wanted[1], *grid)
    found = interpolate(torch.from_numpy(image), rows, columns)
    np.testing.assert_allclose(found.numpy(), formula(image, rows, columns), atol=2e-6)


@pytest.mark.parametrize("wanted", [(4, 5), (40, 31)])
def test_integers_are_converted_on_the_way(wanted: tuple[int, int]) -> None:
    image = np.random.default_rng(1).integers(0, 256, (2, 13, 10, 3), dtype=np.uint8)
    rows, columns = weights(13, wanted[0], False, False), weights(10, wanted[1], False, False)
    found = interpolate(torch.from_numpy(image), rows, columns, torch.float32)
    assert found.dtype == torch.float32
    expected = formula(image.astype(np.float32), rows, columns)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6, atol=2e-5)


def test_no_image_gives_none() -> None:
    found = interpolate(
        torch.zeros(0, 13, 10, 3), weights(13, 4, False, False), weights(10, 5, False, False)
    )
    assert found.shape == (0, 4, 5, 3)
