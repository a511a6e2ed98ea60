"""Restoring 1,000 variables of 64 bytes each by `tf.train.Saver`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..checkpoints import size, variables

STEPS = 20


def build(tf: Any) -> Callable[[], float]:
    """Return a function that restores and returns how much there is."""
    saved = variables(tf, 1000, 4)
    path = saved.saver.save(saved.session, saved.prefix, write_meta_graph=False)

    def step() -> float:
        saved.saver.restore(saved.session, path)
        return size(path)

    return step
