"""Draws from gamma and Poisson distributions by native loops; None where they are not built.

Each function has the results of the one of its name in `gamma.py` or `poisson.py`; in double
precision up to the last bits of logarithms and powers, which NumPy computes in its own ways.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stillflow import native

if TYPE_CHECKING:
    from stillflow.ops.random.philox import Philox


def gamma(stream: Philox, alpha: np.ndarray, samples: int, threads: int) -> np.ndarray | None:
    """Draws from gamma distributions."""
    library = native.library()
    if library is None:
        return None
    alpha, result = np.ascontiguousarray(alpha), np.empty((samples, len(alpha)))
    library.draw_gammas(
        *_position(stream), alpha.ctypes.data, len(alpha), samples, result.ctypes.data, threads
    )
    return result


def poisson(
    stream: Philox, rate: np.ndarray, samples: int, largest: float, threads: int
) -> np.ndarray | None:
    """Draws from Poisson distributions."""
    library = native.library()
    if library is None or not (rate <= largest).all():  # such a loop may last for ever
        return None
    rate, result = np.ascontiguousarray(rate), np.empty((samples, len(rate)))
    library.draw_poissons(
        *_position(stream), rate.ctypes.data, len(rate), samples, largest, result.ctypes.data,
        threads,
    )  # fmt: skip
    return result


def _position(stream: Philox) -> tuple[int, int, int]:
    return stream.key, stream.low, stream.high
