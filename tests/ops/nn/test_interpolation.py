"""Linear interpolation gives the numbers of its formula to the last bit, whichever way."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from stillflow.ops.nn.interpolation import Weights, interpolate, weights

pytestmark = pytest.mark.usefixtures("either_way")


def formula(image: np.ndarray, rows: Weights, columns: Weights) -> np.ndarray:
    """Every output from its four neighbours."""

    def across(part: np.ndarray) -> np.ndarray:
        left, right = part[:, :, columns.lower], part[:, :, columns.upper]
        return left + (right - left) * columns.fraction[:, None]

    top, bottom = across(image[:, rows.lower]), across(image[:, rows.upper])
    return top + (bottom - top) * rows.fraction[:, None, None]


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 17])
@pytest.mark.parametrize("wanted", [(4, 5), (11, 9), (40, 31), (1, 1), (200, 170)])
@pytest.mark.parametrize("grid", [(False, False), (True, False), (False, True)])
def test_the_numbers_are_those_of_the_formula(
    channels: int, wanted: tuple[int, int], grid: tuple[bool, bool]
) -> None:
    image = np.random.default_rng(0).normal(size=(2, 13, 10, channels)).astype(np.float32)
    rows, columns = weights(13, wanted[0], *grid), weights(10, wanted[1], *grid)
    found = interpolate(torch.from_numpy(image), rows, columns)
    np.testing.assert_array_equal(found.numpy(), formula(image, rows, columns))


@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float16, np.float64])
@pytest.mark.parametrize("wanted", [(4, 5), (40, 31)])
def test_other_numbers_are_converted_on_the_way(wanted: tuple[int, int], dtype: type) -> None:
    image = np.random.default_rng(1).integers(0, 256, (2, 13, 10, 3)).astype(dtype)
    rows, columns = weights(13, wanted[0], False, False), weights(10, wanted[1], False, False)
    found = interpolate(torch.from_numpy(image), rows, columns, torch.float32)
    assert found.dtype == torch.float32
    expected = formula(image.astype(np.float32), rows, columns)
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("size", [(1, 1), (1, 7), (7, 1), (2, 2)])
def test_narrow_images_are_read_no_further_than_they_go(size: tuple[int, int]) -> None:
    image = np.random.default_rng(2).integers(0, 256, (1, *size, 3), dtype=np.uint8)
    rows, columns = (weights(each, 9, False, True) for each in size)
    found = interpolate(torch.from_numpy(image), rows, columns, torch.float32)
    expected = formula(image.astype(np.float32), rows, columns)
    np.testing.assert_array_equal(found.numpy(), expected)


def test_large_images_are_shared_out_among_threads() -> None:
    image = np.random.default_rng(3).random((2, 13, 10, 3), np.float32)
    grid = weights(13, 400, False, False), weights(10, 300, False, False)
    found = interpolate(torch.from_numpy(image), *grid)
    np.testing.assert_array_equal(found.numpy(), formula(image, *grid))


@pytest.mark.parametrize("size", [(1 << 24) + 4, (1 << 24) + 7, (1 << 25) + 3])
def test_no_place_is_beyond_a_size_that_no_float32_holds(size: int) -> None:
    for grid in ((False, False), (True, False), (False, True)):
        found = weights(size, 1000, *grid)
        assert found.lower.min() >= 0
        assert max(found.lower.max(), found.upper.max()) < size


def test_an_image_may_be_a_view() -> None:
    image = torch.arange(2 * 10 * 13 * 3, dtype=torch.float32).view(2, 10, 13, 3)
    turned = image.transpose(1, 2)
    grid = weights(13, 4, False, False), weights(10, 21, False, False)
    expected = interpolate(turned.contiguous(), *grid)
    np.testing.assert_array_equal(interpolate(turned, *grid), expected)


def test_no_image_gives_none() -> None:
    found = interpolate(
        torch.zeros(0, 13, 10, 3), weights(13, 4, False, False), weights(10, 5, False, False)
    )
    assert found.shape == (0, 4, 5, 3)
