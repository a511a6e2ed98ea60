"""Errors for results too large for memory, before memory is touched.

An operating system grants more memory than it has and kills the process that uses it; so a tensor
that cannot fit is rejected by its size, with the message of TF's allocator.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod

from stillflow.errors import resource_exhausted
from stillflow.graph import dims as dims_lib
from stillflow.graph.dtypes import DType, cpp_name
from stillflow.util.machine_memory import total_bytes

_LARGEST = 2**63 - 1


MOST_DIMENSIONS = 254  # of TF's shapes


def require_possible(dims: Sequence[int], dtype: DType, *, touched: bool = True) -> None:
    """Raise for a result that has too many dimensions, or more elements than memory holds.

    ValueError or ResourceExhaustedError; `touched` is False if it may share other memory.
    """
    if len(dims) > MOST_DIMENSIONS:
        raise ValueError(
            f"A tensor would have {len(dims)} dimensions; the limit is {MOST_DIMENSIONS}"
        )
    if touched:
        require_room(dims, dtype)


@cache
def machine_memory() -> int:
    """Return the bytes of memory that the machine has.

    Where it does not say, more than any needs.
    """
    return total_bytes() or _LARGEST


def require_objects(count: int, size: int, what: str) -> None:
    """Raise ResourceExhaustedError for more objects of `size` bytes than memory holds."""
    if count * size > machine_memory():
        raise resource_exhausted(f"OOM when allocating {count} {what} of {size} bytes each")


def require_room(dims: Sequence[int], dtype: DType, *, touched: bool = True) -> None:
    """Raise ResourceExhaustedError for a tensor that is larger than the machine's memory.

    ValueError if its elements cannot even be counted. `touched` is False for a tensor that is only
    counted, never made: a sparse one's dense form.
    """
    count = prod(dims)
    if count > _LARGEST:
        shape = dims_lib.to_string(tuple(dims))
        raise ValueError(f"Shape {shape} would have more than 2**63 - 1 elements")
    if touched and count > 1 << 20 and count * dtype.size > machine_memory():
        shape, name = dims_lib.to_string(tuple(dims)), cpp_name(dtype)
        raise resource_exhausted(
            f"OOM when allocating tensor with shape{shape} and type {name} on "
            "/job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu"
        )
