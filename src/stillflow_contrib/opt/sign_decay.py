"""Decays of the signs in AddSign and PowerSign, as functions of the global step."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.select import where
from stillflow.ops.constants import constant
from stillflow.ops.math.binary import maximum, minimum
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import greater_equal
from stillflow.ops.math.division import floormod
from stillflow.ops.math.trigonometry import cos

DecayFn = Callable[[Any], Tensor]


def _check(global_step: Any, kind: str) -> None:
    if global_step is None:
        raise ValueError(f"global_step is required for {kind}.")


def get_linear_decay_fn(decay_steps: int) -> DecayFn:
    """Return a linear decay from 1 to 0 in `decay_steps`."""

    def linear_decay_fn(global_step: Any) -> Tensor:
        _check(global_step, "linear_decay")
        step = minimum(global_step, decay_steps)
        remaining = cast(decay_steps, dtypes.int32) - cast(step, dtypes.int32)
        decayed = cast(remaining, dtypes.float32) / cast(decay_steps, dtypes.float32)
        return maximum(0.0, decayed)

    return linear_decay_fn


def get_cosine_decay_fn(
    decay_steps: int, num_periods: float = 0.5, zero_after: float | None = None
) -> DecayFn:
    """Along `num_periods` cosine waves in `decay_steps`; 0 after `zero_after` of them."""

    def cosine_decay_fn(global_step: Any) -> Tensor:
        _check(global_step, "cosine_decay")
        step = minimum(global_step, decay_steps)
        completed = cast(step, dtypes.float32) / cast(decay_steps, dtypes.float32)
        fraction = 2.0 * num_periods * completed
        decayed = 0.5 * (1.0 + cos(constant(math.pi) * fraction))
        if zero_after is not None:
            decayed = where(greater_equal(fraction, 2 * zero_after), 0.0, decayed)
        return decayed

    return cosine_decay_fn


def get_restart_decay_fn(
    decay_steps: int, num_periods: float = 1, zero_after: float | None = None
) -> DecayFn:
    """Along half a cosine wave, `num_periods` times in `decay_steps`; 0 after `zero_after`."""

    def restart_decay_fn(global_step: Any) -> Tensor:
        _check(global_step, "cosine_decay")
        step = minimum(global_step, decay_steps)
        rest = floormod(num_periods * cast(step, dtypes.float32), decay_steps)
        fraction = rest / cast(decay_steps, dtypes.float32)
        decayed = 0.5 * (1.0 + cos(constant(math.pi) * fraction))
        if zero_after is not None:
            done = cast(num_periods * step, dtypes.float32) / cast(decay_steps, dtypes.float32)
            decayed = where(greater_equal(done, zero_after), 0.0, decayed)
        return decayed

    return restart_decay_fn
