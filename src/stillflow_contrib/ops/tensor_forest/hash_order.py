"""The order in which the sets of the C++ library give integers back.

TensorFlow numbers new leaves in the order of such a set, so that order belongs to the tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

# How many buckets there are: each time the next prime of the library's list above twice as many.
_SIZES = (
    3, 7, 17, 37, 79, 167, 337, 709, 1493, 3209, 6427, 12983, 26267, 53201, 107897, 218971, 444487,
)  # fmt: skip


def _walked(numbers: Sequence[int], buckets: int) -> list[int]:
    """Buckets that were filled last come first, and so do numbers within a bucket."""
    filled: dict[int, list[int]] = {}
    for number in numbers:
        filled.setdefault(number % buckets, []).append(number)
    return [number for bucket in reversed(filled.values()) for number in reversed(bucket)]


def hash_order(numbers: Iterable[int]) -> list[int]:
    """Distinct numbers, given in the order in which they are put into a set, as it walks them."""
    sizes = iter(_SIZES)
    buckets = next(sizes)
    held: list[int] = []
    for number in numbers:
        if len(held) + 1 >= buckets:  # the set moves all it has to a larger table
            held, buckets = _walked(held, buckets), next(sizes)
        held.append(number)
    return _walked(held, buckets)
