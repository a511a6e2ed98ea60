"""Native kernels of special functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow import native
from stillflow.graph.lazy import torch
from stillflow.ops import native_calls

# ---- incomplete functions

# Series and continued fractions of incomplete functions, by the loops in C.

# As in native/incomplete.c.
EPSILON = 2.0**-53
BETWEEN_CHECKS = 8  # terms
MOST_TERMS = 5000


def incomplete(name: str, arguments: Sequence[Any], outputs: int) -> list[Any] | None:
    """Return the vectors that a loop gives for float64 ones of one size; None without loops."""
    if not native_calls.reach(*arguments):
        return None
    results = [torch.empty_like(arguments[0]) for _ in range(outputs)]
    pointers = [vector.data_ptr() for vector in arguments]
    found = [vector.data_ptr() for vector in results]
    getattr(native.library(), name)(
        *pointers, arguments[0].numel(), *found, torch.get_num_threads()
    )
    return results


# ---- the Hurwitz zeta function

# The Hurwitz zeta function by the loops in C: of one whole number and many others, or of pairs.

_FEW = 16  # pairs that torch takes in less time
_LARGEST = 16  # for larger ones the loop would need more terms


def zeta(x: Any, q: Any) -> torch.Tensor:
    """Return the sum of `(q + n) ** -x` over all n from 0, element by element, of two tensors."""
    found = scaled_zeta(x, q)
    if found is None:
        found = _of_pairs(x, q)
    return torch.special.zeta(x, q) if found is None else found


def _of_pairs(x: Any, q: Any) -> torch.Tensor | None:
    if not (native_calls.take(x, q) and x.shape == q.shape and x.numel() >= _FEW):
        return None
    library: Any = native.library()
    result = torch.empty_like(q)
    refused = library.zeta_of_any(
        x.data_ptr(), q.data_ptr(), q.numel(), result.data_ptr(), torch.get_num_threads()
    )
    return None if refused else result


def scaled_zeta(x: Any, q: Any, factor: Any = 1.0) -> torch.Tensor | None:
    """Return `zeta(x, q)` times a factor; None unless x is a scalar and q float32, all positive."""
    if x.dim() or not native_calls.take(q):
        return None
    whole = float(x)
    if not 2 <= whole <= _LARGEST or whole != int(whole):
        return None
    library: Any = native.library()
    result = torch.empty_like(q)
    refused = library.zeta_of_whole(
        int(whole), q.data_ptr(), q.numel(), float(factor), result.data_ptr(),
        torch.get_num_threads(),
    )  # fmt: skip
    return None if refused else result
