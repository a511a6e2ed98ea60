"""A random permutation by the swaps of Fisher and Yates, without doing them one after another."""

from __future__ import annotations

import numpy as np

from stillflow.ops.random import native_kernels
from stillflow.ops.random.philox import Philox


def permutation(stream: Philox, size: int) -> np.ndarray:
    """Return the order (int64 indices) in which shuffling leaves `size` elements, 2 to 2**31 - 1.

    Step i swaps element i with element target[i] >= i. The final element at i was at target[i]
    before step i: either nothing moved there before, or the latest earlier step with that target
    moved its own element there. Following those moves back is done for all places together, by
    pointer doubling.
    """
    order = native_kernels.permutation(stream, size)
    if order is not None:
        return order
    steps = np.arange(size - 1, dtype=np.int64)
    target = steps + stream.words(size - 1) % np.arange(size, 1, -1, dtype=np.uint32)

    by_target = target << 32
    by_target |= steps
    by_target.sort()
    step, place = by_target & 0xFFFFFFFF, by_target >> 32
    again = place[1:] == place[:-1]

    # source[i]: the place from which the latest step moved something to place i, i itself if none.
    source = np.arange(size, dtype=np.int32)
    moved = target != steps
    source[target[moved]] = steps[moved]
    origin = _followed(source)

    # The element at a step's target: the one that the previous step with that target left, if any.
    place[1:][again] = origin.take(step[:-1][again])
    result = np.empty(size, np.int64)
    result[step] = place
    result[-1] = origin[-1]
    own = np.flatnonzero(~moved)
    result[own] = origin[own]
    return result


def _followed(source: np.ndarray) -> np.ndarray:
    """Return the end of the path from each place along `source`."""
    while True:
        further = source.take(source)
        if np.array_equal(further, source):
            return source
        source = further
