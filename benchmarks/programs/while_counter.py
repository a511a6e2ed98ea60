"""Loop that counts to ten thousand: the cost of one iteration."""

from __future__ import annotations

from typing import Any

from ..job import Job

STEPS = 30
TURNS = 10_000


def build(tf: Any) -> Job:
    """One loop variable, one comparison, one addition."""
    limit = tf.placeholder(tf.int32, [], name="limit")
    count = tf.while_loop(lambda i: i < limit, lambda i: i + 1, [tf.constant(0)])
    return Job([count], {limit: TURNS}, [])
