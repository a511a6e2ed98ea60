"""The order of a profile's entries: std::sort's of GNU's C++ library, which TensorFlow's are in.

It is not stable: of more than 16 entries, some with the same amount change places. So that reports
are the same line for line, this makes the same changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any

_FEW = 16  # so many are left to the insertion sort at the end, which is stable


def in_order(values: Iterable[Any], key: Callable[[Any], Any]) -> list[Any]:
    """Return the values, smallest key first."""
    keyed = [(key(value), value) for value in values]
    _partition(keyed, 0, len(keyed), 2 * (len(keyed).bit_length() - 1))
    return [value for _, value in sorted(keyed, key=itemgetter(0))]


def _partition(keyed: list[Any], first: int, last: int, depth: int) -> None:
    # A heap sorts the rest after so many partitions; measures never come to that.
    while last - first > _FEW and depth > 0:
        depth -= 1
        cut = _cut(keyed, first, last)
        _partition(keyed, cut, last, depth)
        last = cut


def _cut(keyed: list[Any], first: int, last: int) -> int:
    """Put small keys before large ones; return where these begin."""
    median = _median(keyed, first + 1, (first + last) // 2, last - 1)
    keyed[first], keyed[median] = keyed[median], keyed[first]
    pivot, low, high = keyed[first][0], first + 1, last
    while True:
        while keyed[low][0] < pivot:
            low += 1
        high -= 1
        while pivot < keyed[high][0]:
            high -= 1
        if low >= high:
            return low
        keyed[low], keyed[high] = keyed[high], keyed[low]
        low += 1


def _median(keyed: list[Any], *places: int) -> int:
    """Return the one of three places with the middle key, among equal ones as the library does."""
    a, b, c = (keyed[place][0] for place in places)
    if a < b:
        chosen = 1 if b < c else 2 if a < c else 0
    else:
        chosen = 0 if a < c else 2 if b < c else 1
    return places[chosen]
