"""Images to run operations on."""

from __future__ import annotations

import numpy as np


def image(*shape: int, seed: int = 0) -> np.ndarray:
    """Single-precision values without ties."""
    order = np.random.RandomState(seed).permutation(int(np.prod(shape)))
    return (order.reshape(shape) / order.size - 0.4).astype(np.float32)
