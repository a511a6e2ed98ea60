"""Rows are changed in order, by the loop in C as without it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from stillflow.ops.arrays.rows import change_rows

IN_NUMPY = {"mul": np.multiply, "div": np.divide, "min": np.minimum, "max": np.maximum}
TYPES = [torch.float32, torch.float64, torch.int32, torch.int64]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("width", [1, 3, 40])
@pytest.mark.parametrize("how", ["mul", "div", "min", "max"])
def test_each_update_finds_what_the_last_one_left(either_way, how, width, dtype):
    torch.manual_seed(width)
    table = torch.randint(-9, 9, (20, width)).to(dtype)
    updates = torch.randint(1, 4, (50, width)).to(dtype)
    expected = table.numpy().copy()
    index = torch.randint(0, 20, (50,), dtype=torch.int32)
    for row, update in zip(index.tolist(), updates.numpy(), strict=True):
        found = IN_NUMPY[how](expected[row], update)
        expected[row] = np.trunc(found) if how == "div" and not dtype.is_floating_point else found
    change_rows(table, index, updates, how)
    np.testing.assert_allclose(table.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", [*TYPES, torch.uint8, torch.bool, torch.complex64], ids=str)
@pytest.mark.parametrize("width", [1, 5, 1000])
def test_of_several_updates_the_last_one_stays(either_way, width, dtype):
    table, updates = torch.zeros(20, width).to(dtype), torch.rand(50, width).mul(9).to(dtype)
    expected = table.clone()
    index = torch.randint(0, 20, (50,))
    for row, update in zip(index.tolist(), updates, strict=True):
        expected[row] = update
    change_rows(table, index, updates, "update")
    assert torch.equal(table, expected)


@pytest.mark.parametrize("how", ["min", "max"])
def test_what_is_no_number_is_handed_on(either_way, how):
    table = torch.tensor([[1.0, torch.nan, 2.0]])
    change_rows(table, torch.tensor([0]), torch.tensor([[torch.nan, 3.0, 2.5]]), how)
    assert table.isnan().tolist() == [[True, True, False]]


def test_one_number_changes_all_named_rows(either_way):
    table = torch.ones(4, 3)
    change_rows(table, torch.tensor([0, 2, 2]), torch.tensor(2.0), "mul")
    assert table[:, 0].tolist() == [2, 1, 4, 1]
