"""Images to run operations on, and two ways to run them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np

from stillflow import native


def image(*shape: int, seed: int = 0) -> np.ndarray:
    """Single-precision values without ties."""
    order = np.random.RandomState(seed).permutation(int(np.prod(shape)))
    return (order.reshape(shape) / order.size - 0.4).astype(np.float32)


def with_and_without_loops(function: Callable[[], Any]) -> tuple[Any, Any]:
    """Return a function's results with the native loops, and without."""
    found = function()
    with mock.patch.object(native, "library", lambda: None):
        return found, function()
