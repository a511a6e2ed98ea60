from __future__ import annotations

import pytest

from stillflow.ops.random.permutation import permutation
from stillflow.ops.random.philox import Philox


def swapped_one_by_one(stream: Philox, size: int) -> list[int]:
    items = list(range(size))
    for i, word in enumerate(stream.words(size - 1).tolist()):
        j = i + word % (size - i)
        items[i], items[j] = items[j], items[i]
    return items


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 10, 97, 1000])
def test_order_is_that_of_the_swaps(size: int) -> None:
    for seed in range(1, 30 if size < 100 else 3):
        stream = Philox.from_seeds(seed, size)
        assert permutation(stream, size).tolist() == swapped_one_by_one(stream, size)
