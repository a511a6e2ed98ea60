"""The perceptron of mlp_adam, every step traced: RunOptions.FULL_TRACE."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import mlp_adam

STEPS = mlp_adam.STEPS


def build(tf: Any) -> Callable[[], float]:
    """Return a function that trains a step and fills a RunMetadata."""
    job = mlp_adam.build(tf)
    session = tf.Session()
    session.run(job.setup)
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)

    def step() -> float:
        metadata = tf.RunMetadata()
        return float(session.run(job.fetches, job.feed, options, metadata)[-1])

    return step
