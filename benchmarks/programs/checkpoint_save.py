"""Saving 64 variables of 4 MB each by `tf.train.Saver`, and training (or rather, resting) between.

Programs save every few minutes. Without a pause an implementation that syncs to the disk is
measured by its disk, and one that does not (TensorFlow) by its memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..checkpoints import size, variables

STEPS = 8
PAUSE = 0.4  # seconds between steps


def build(tf: Any) -> Callable[[], float]:
    """Return a function that saves to a new prefix and returns how much there is."""
    saved = variables(tf)
    count = 0

    def step() -> float:
        nonlocal count
        count += 1
        path = saved.saver.save(
            saved.session, saved.prefix, global_step=count, write_meta_graph=False)
        return size(path)

    return step
