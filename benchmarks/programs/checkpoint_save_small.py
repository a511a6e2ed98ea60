"""Saving 1,000 variables of 64 bytes each by `tf.train.Saver`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..checkpoints import size, variables

STEPS = 20
PAUSE = 0.05  # seconds between steps, as in checkpoint_save


def build(tf: Any) -> Callable[[], float]:
    """Return a function that saves to a new prefix and returns how much there is."""
    saved = variables(tf, 1000, 4)
    count = 0

    def step() -> float:
        nonlocal count
        count += 1
        path = saved.saver.save(
            saved.session, saved.prefix, global_step=count, write_meta_graph=False)
        return size(path)

    return step
