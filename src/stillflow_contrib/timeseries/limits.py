"""Local counters that end a pipeline's input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor


def counter(name: str) -> Any:
    """Return an int64 variable of the session: 0, not trained and not saved."""
    zero, local = tf.constant(0, dtype=tf.int64), [tf.GraphKeys.LOCAL_VARIABLES]
    return tf.Variable(zero, name=name, trainable=False, collections=local)


def once_initialized(variable: Any, count: Callable[[], Any]) -> Tensor:
    """Return the result of `count`, or 0 as long as the variable has no value."""
    initialized = tf.is_variable_initialized(variable)
    return tf.cond(initialized, count, lambda: tf.constant(0, dtype=tf.int64))
