"""tf.map_fn over a thousand rows, with its gradient: TensorArrays and stacks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..job import Job

STEPS = 20
ROWS = 1_000


def build(tf: Any) -> Job:
    """Return the length of every row, and how it depends on the row."""
    x = tf.placeholder(tf.float32, [None, 16], name="x")
    lengths = tf.map_fn(lambda row: tf.sqrt(tf.reduce_sum(tf.square(row))), x)
    loss = tf.reduce_mean(lengths)
    (grad,) = tf.gradients(loss, [x])
    rows = np.random.RandomState(0).rand(ROWS, 16).astype(np.float32)
    return Job([grad, loss], {x: rows}, [])
