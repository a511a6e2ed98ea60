"""The loop that chooses elements gives what torch gives."""

from __future__ import annotations

import pytest
import torch

from stillflow.ops.arrays.native_kernels import choose, choose_rows

SHAPES = [(70, 99), (3,), (5000,), (2, 3, 4000), (1, 5000), (0, 4)]
TYPES = [torch.float32, torch.float64, torch.float16, torch.uint8, torch.bool, torch.complex128]


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a, b)


@pytest.fixture(params=SHAPES, ids=str)
def condition(request):
    torch.manual_seed(len(request.param))
    return torch.rand(request.param) > 0.5


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_elements_rows_and_single_numbers_are_chosen(either_way, condition, dtype):
    x, y = (torch.randn(condition.shape).mul(9).to(dtype) for _ in range(2))
    one = torch.ones((), dtype=dtype)
    for choices in ((x, y), (x, one), (one, y), (one, torch.zeros_like(one))):
        assert same(choose(condition, *choices), torch.where(condition, *choices))
    rows = condition.flatten(1)[:, 0] if condition.ndim > 1 and condition.numel() else None
    if rows is not None:
        spread = rows.reshape(-1, *[1] * (x.ndim - 1))
        assert same(choose_rows(rows.contiguous(), x, y), torch.where(spread, x, y))


def test_what_broadcasts_or_lies_apart_is_chosen_too(either_way):
    condition = torch.rand(100, 100) > 0.5
    x, row = torch.randn(100, 100), torch.randn(100)
    assert same(choose(condition.t(), x, row), torch.where(condition.t(), x, row))
    assert same(choose(condition, x.t(), x), torch.where(condition, x.t(), x))


def test_all_turns_at_once_are_chosen(either_way):
    condition, x = torch.rand(3, 9000) > 0.5, torch.randn(3, 9000)
    found = torch.vmap(choose)(condition, x, -x)
    assert same(found, torch.where(condition, x, -x))


def test_what_is_not_chosen_leaves_no_trace(either_way):
    condition = torch.arange(9000) % 2 == 0
    x, y = torch.full((9000,), torch.nan), torch.ones(9000)
    found = choose(condition, x, y)
    assert found[::2].isnan().all() and (found[1::2] == 1).all()
