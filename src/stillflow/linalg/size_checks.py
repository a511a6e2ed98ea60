"""Checks of sizes that operators are given as tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.operation import Tensor
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.ops.debugging.comparisons import assert_non_negative
from stillflow.ops.debugging.ranks import assert_rank


def checked(value: Any, static: Any, argument: str, rank: int, assert_proper: bool) -> Tensor:
    """Return a size (rank 0) or shape (rank 1) tensor, with assertions if asked for.

    `static` is its value if known, else None; ValueError if that is wrong.
    """
    wrong_rank = f"Argument {argument} must be a {rank}-D Tensor."
    negative = f"Argument {argument} must be non-negative."
    if assert_proper:
        checks = [
            assert_rank(value, rank, message=wrong_rank),
            assert_non_negative(value, message=negative),
        ]
        value = with_dependencies(checks, value)
    if not value.dtype.is_integer:
        raise TypeError(f"Argument {argument} must be integer type.  Found: {value}")
    if static is None:
        return value
    if np.ndim(static) != rank:
        raise ValueError(f"{wrong_rank}  Found: {static}")
    if np.any(np.asarray(static) < 0):
        raise ValueError(f"{negative}  Found: {static}")
    return value
