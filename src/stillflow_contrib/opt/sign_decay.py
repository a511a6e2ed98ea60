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


def _step(global_step: Any, decay_steps: int, kind: str) -> Tensor:
    """Return the step, or the last one of the decay."""
    if global_step is None:
        raise ValueError(f"global_step is required for {kind}.")
    return minimum(global_step, decay_steps)


def _share(steps: Any, decay_steps: int) -> Any:
    return cast(steps, dtypes.float32) / cast(decay_steps, dtypes.float32)


def _wave(half_waves: Any, is_over: Callable[[], Tensor] | None) -> Any:
    """Return 1 to 0 along half a cosine wave and back along the next; 0 when it is over."""
    height = 0.5 * (1.0 + cos(constant(math.pi) * half_waves))
    return height if is_over is None else where(is_over(), 0.0, height)


def get_linear_decay_fn(decay_steps: int) -> DecayFn:
    """Return a linear decay from 1 to 0 in `decay_steps`."""

    def linear_decay_fn(global_step: Any) -> Tensor:
        step = _step(global_step, decay_steps, "linear_decay")
        rest = cast(decay_steps, dtypes.int32) - cast(step, dtypes.int32)
        return maximum(0.0, _share(rest, decay_steps))

    return linear_decay_fn


def get_cosine_decay_fn(
    decay_steps: int, num_periods: float = 0.5, zero_after: float | None = None
) -> DecayFn:
    """Along `num_periods` cosine waves in `decay_steps`; 0 after `zero_after` of them."""

    def cosine_decay_fn(global_step: Any) -> Tensor:
        step = _step(global_step, decay_steps, "cosine_decay")
        half_waves = 2.0 * num_periods * _share(step, decay_steps)
        if zero_after is None:
            return _wave(half_waves, None)
        return _wave(half_waves, lambda: greater_equal(half_waves, 2 * zero_after))

    return cosine_decay_fn


def get_restart_decay_fn(
    decay_steps: int, num_periods: float = 1, zero_after: float | None = None
) -> DecayFn:
    """Along half a cosine wave, `num_periods` times in `decay_steps`; 0 after `zero_after`."""

    def restart_decay_fn(global_step: Any) -> Tensor:
        step = _step(global_step, decay_steps, "cosine_decay")
        since_restart = floormod(num_periods * cast(step, dtypes.float32), decay_steps)
        since_restart = _share(since_restart, decay_steps)
        if zero_after is None:
            return _wave(since_restart, None)
        return _wave(
            since_restart,
            lambda: greater_equal(_share(num_periods * step, decay_steps), zero_after),
        )

    return restart_decay_fn
