"""Runs fetches in a session of their own, and images to run them on."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf


def run(fetches: Any, feed_dict: Any = None) -> Any:
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feed_dict)


def image(*shape: int, seed: int = 0) -> np.ndarray:
    """Single-precision values without ties."""
    order = np.random.RandomState(seed).permutation(int(np.prod(shape)))
    return (order.reshape(shape) / order.size - 0.4).astype(np.float32)
