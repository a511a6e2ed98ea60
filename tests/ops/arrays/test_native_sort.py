"""The loop that sorts gives what torch's stable sort gives."""

from __future__ import annotations

import pytest
import torch

from stillflow.ops.arrays.native_kernels import sorted_places

TYPES = [torch.float32, torch.float64, torch.int32, torch.int64, torch.int16]
WIDTHS = [1, 2, 24, 25, 300, 2048, 5000]


def same_order(keys: torch.Tensor, descending: bool) -> bool:
    expected = torch.sort(keys, stable=True, dim=-1, descending=descending)[1]
    return torch.equal(sorted_places(keys, descending), expected)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("width", WIDTHS)
def test_rows_are_sorted_and_equal_numbers_stay_in_order(either_way, width, dtype, descending):
    torch.manual_seed(width)
    for most in (3, 30_000):
        keys = torch.randint(-most, most, (2, 3, width)).to(dtype)
        assert same_order(keys / 3 if dtype.is_floating_point else keys, descending)


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_zeros_infinities_and_what_is_no_number_have_their_places(either_way, dtype, descending):
    special = torch.tensor([0.0, -0.0, torch.inf, torch.nan, -torch.inf, -torch.nan, 1e-30, -1.0])
    keys = special.to(dtype).repeat(2, 40)
    assert same_order(keys, descending)
    assert same_order(keys.t(), descending)  # lies apart


def test_the_ends_of_integers_are_sorted(either_way):
    for dtype in (torch.int32, torch.int64):
        info = torch.iinfo(dtype)
        assert same_order(torch.tensor([0, info.max, -1, info.min, 1] * 9, dtype=dtype), True)


def test_nothing_is_sorted(either_way):
    assert sorted_places(torch.zeros(3, 0)).shape == (3, 0)
