"""Result of a benchmark program. Runs on Python 3.7 as well."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class Job:
    """TF1 program, built: its initializer, its fetches, and its feeds.

    Args:
        fetches: what every step runs; the last fetch is a number (the loss) that is kept.
        feed: the feed dict of every step.
        setup: ops that run once before the first step.
        feeds: where steps are not all alike, the feed dicts that take turns instead of `feed`.
    """

    def __init__(
        self,
        fetches: list[Any],
        feed: dict[Any, Any],
        setup: list[Any],
        feeds: list[dict[Any, Any]] | None = None,
    ) -> None:
        self.fetches = fetches
        self.feed = feed
        self.setup = setup
        self.feeds = feeds or [feed]


def session_steps(tf: Any, job: Job) -> list[Callable[[], float]]:
    """Open a session, initialize it, and return functions that run a step each, one per feed."""
    session = tf.Session()
    for op in job.setup:
        session.run(op)

    def run(feed: dict[Any, Any]) -> float:
        return float(session.run(job.fetches, feed)[-1])

    return [functools.partial(run, feed) for feed in job.feeds]
