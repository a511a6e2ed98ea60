"""Windows of raised cosines."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.dtypes import float32
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.ops.arrays.fill import ones
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal
from stillflow.ops.math.division import floormod
from stillflow.ops.math.trigonometry import cos
from stillflow.signal.arguments import scalar


@export("signal.hann_window", "contrib.signal.hann_window")
def hann_window(
    window_length: Any, periodic: Any = True, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Return a Hann window of `window_length` samples, periodic (for spectra) or symmetric."""
    return _raised_cosine(name, "hann_window", window_length, periodic, dtype, 0.5, 0.5)


@export("signal.hamming_window", "contrib.signal.hamming_window")
def hamming_window(
    window_length: Any, periodic: Any = True, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Return a Hamming window of `window_length` samples, periodic (for spectra) or symmetric."""
    return _raised_cosine(name, "hamming_window", window_length, periodic, dtype, 0.54, 0.46)


def _phase(length: Any, periodic: Any, dtype: Any) -> Tensor:
    """Return the angles of the samples, from 0 to 2 pi; a periodic window leaves the last out."""
    left_out = cast(periodic, dtypes.int32) * (1 - floormod(length, 2))
    intervals = cast(length + left_out - 1, dtype=dtype)
    samples = cast(range_(length), dtype)
    return constant(2 * np.pi, dtype=dtype) * samples / intervals


def _raised_cosine(
    name: Any, default_name: str, length: Any, periodic: Any, dtype: Any, mean: float, swing: float
) -> Tensor:
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {dtype}")
    with name_scope(name, default_name, [length, periodic]):
        samples = scalar(length, "window_length", dtypes.int32)
        single = partial(ones, [1], dtype=dtype)
        known = static_value(samples)
        if known == 1:
            return single()
        phase = _phase(samples, scalar(periodic, "periodic", dtypes.bool), dtype)

        def window() -> Tensor:
            return cast(mean - swing * cos(phase), dtype=dtype)

        return window() if known is not None else cond(equal(samples, 1), single, window)
