"""Common rows of two sets, in any order."""

from __future__ import annotations

import numpy as np
import pytest

from stillflow.graph.lazy import torch
from stillflow.ops.sparse.rows import joined


def _rows(random: np.random.RandomState, rank: int, kind: str) -> np.ndarray:
    rows = random.randint(-2, 3, (random.randint(0, 9), rank)).astype(np.int64)
    if kind != "any order":
        rows = np.unique(rows, axis=0)
    return rows + (-(1 << 62) if kind == "far apart" else 0)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("kind", ["any order", "in order", "far apart"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_joined_rows_are_different_in_order_and_found_again(kind, rank):
    random = np.random.RandomState(rank)
    for _ in range(100):
        first, second = _rows(random, rank, "any order"), _rows(random, rank, kind)
        if kind == "in order":
            first = np.unique(first, axis=0)
        rows, places, others = joined(torch.from_numpy(first), torch.from_numpy(second))
        expected = np.unique(np.concatenate([first, second]), axis=0)
        np.testing.assert_array_equal(rows.numpy(), expected)
        np.testing.assert_array_equal(rows[places].numpy(), first)
        np.testing.assert_array_equal(rows[others].numpy(), second)


def test_rows_of_two_tensors_made_of_one_are_those_of_either():
    first = torch.tensor([[0, 1], [2, 0], [2, 3]])
    rows, places, others = joined(first, first.clone())
    assert rows.tolist() == first.tolist()
    assert places.tolist() == others.tolist() == [0, 1, 2]
