"""Sequences of many lengths, padded to the longest of their batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

STEPS = 10
BATCHES = 20
BATCH = 64


def build(tf: Any) -> Callable[[], float]:
    """Return a function that takes 20 batches and returns how many sequences came."""
    lengths = np.random.RandomState(0).randint(1, 200, 1_000).astype(np.int32)
    with tf.Graph().as_default():
        data = tf.data.Dataset.from_tensor_slices(lengths).repeat()
        data = data.map(lambda length: (tf.range(length), length), num_parallel_calls=2)
        data = data.padded_batch(BATCH, ([None], [])).prefetch(1)
        batch = data.make_one_shot_iterator().get_next()
        session = tf.Session()

    def step() -> float:
        return float(sum(len(session.run(batch)[1]) for _ in range(BATCHES)))

    return step
