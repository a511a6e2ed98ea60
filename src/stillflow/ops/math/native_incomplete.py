"""Series and continued fractions of incomplete functions, by the loops in C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow import native
from stillflow.graph.lazy import torch
from stillflow.ops import native_kernels

# As in native/incomplete.c.
EPSILON = 2.0**-53
BETWEEN_CHECKS = 8  # terms
MOST_TERMS = 5000


def call(name: str, arguments: Sequence[Any], outputs: int) -> list[Any] | None:
    """Return the vectors that a loop gives, None where it is not there.

    Args:
      name: of the loop.
      arguments: vectors of float64 of one size.
      outputs: how many vectors it gives.
    """
    if not native_kernels.reach(*arguments):
        return None
    results = [torch.empty_like(arguments[0]) for _ in range(outputs)]
    pointers = [vector.data_ptr() for vector in arguments]
    found = [vector.data_ptr() for vector in results]
    getattr(native.library(), name)(
        *pointers, arguments[0].numel(), *found, torch.get_num_threads()
    )
    return results
