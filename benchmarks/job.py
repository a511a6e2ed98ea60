"""What a benchmark program hands back. Runs on Python 3.7 as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Job:
    """A TF1 program, built: what to initialise, what to run, and with which feeds.

    Args:
        fetches: what every step runs; the last fetch is a number (the loss) that is kept.
        feed: the feed dict of every step.
        setup: ops that run once before the first step.
    """

    def __init__(self, fetches: list[Any], feed: dict[Any, Any], setup: list[Any]) -> None:
        self.fetches = fetches
        self.feed = feed
        self.setup = setup


def session_step(tf: Any, job: Job) -> Callable[[], float]:
    """Open a session, initialise it, and return a function that runs one step."""
    session = tf.Session()
    for op in job.setup:
        session.run(op)

    def step() -> float:
        return float(session.run(job.fetches, job.feed)[-1])

    return step
