"""The order of a profile's entries."""

from __future__ import annotations

import numpy as np
import pytest

from stillflow.profiler.order import in_order


def test_keys_are_in_order():
    for count in (0, 1, 2, 16, 17, 100, 2000):
        values = np.random.RandomState(count).randint(0, 50, count).tolist()
        assert in_order(values, key=lambda value: value) == sorted(values)


def test_few_entries_with_one_key_keep_their_places():
    values = [(place % 3, place) for place in range(16)]
    assert in_order(values, key=lambda value: value[0]) == sorted(values)


@pytest.mark.parametrize("count, kinds, expected", [
    (20, 1, [10, 19, 18, 17, 16, 15, 14, 13, 12, 11, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1]),
    (20, 4, [4, 16, 8, 0, 12, 1, 17, 5, 9, 13, 10, 18, 14, 6, 2, 11, 7, 15, 3, 19]),
    (33, 4, [16, 32, 28, 24, 20, 0, 12, 8, 4, 1, 29, 25, 21, 17, 5, 13, 9, 14, 18, 6, 22, 30, 10,
             26, 2, 7, 15, 31, 27, 3, 23, 11, 19]),
])  # fmt: skip
def test_of_many_some_change_places(count, kinds, expected):
    """Compare with the output of a program of g++ 12."""
    assert in_order(range(count), key=lambda value: value % kinds) == expected
