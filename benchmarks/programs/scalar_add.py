"""Session.run of one scalar addition with a feed: nothing but overhead."""

from __future__ import annotations

from typing import Any

from ..job import Job

STEPS = 2000


def build(tf: Any) -> Job:
    """Return a placeholder and one addition."""
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.add(x, 1.0, name="y")
    return Job([y], {x: 41.0}, [])
