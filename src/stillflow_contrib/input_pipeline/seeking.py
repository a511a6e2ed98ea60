"""Lists of strings that variables keep, element by element."""

from __future__ import annotations

import random
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.ops.input_pipeline import obtain_next_op


@export("contrib.input_pipeline.obtain_next")
def obtain_next(string_list_tensor: Any, counter: Any) -> Tensor:
    """Return the next element of a list, and the first one after the last.

    Args:
      string_list_tensor: strings [n].
      counter: an int64 variable; -1 before the first element.

    Returns:
      A string.
    """
    return obtain_next_op(string_list_tensor, counter)


def _repeated(strings: list[str], shuffle: bool, seed: Any, num_epochs: int | None) -> list[str]:
    """Return the list repeated for each epoch, shuffled each time."""
    if shuffle and seed:
        random.seed(seed)
    found: list[str] = []
    for _ in range(num_epochs or 1):
        if shuffle:
            random.shuffle(strings)
        found.extend(strings)
    return found


def seek_next(
    string_list: list[str], shuffle: bool = False, seed: Any = None, num_epochs: int | None = None
) -> Any:
    """Return the next element of a list, which variables keep together with the place in it.

    Args:
      string_list: the list.
      shuffle: whether its order is another in each epoch.
      seed: of these orders.
      num_epochs: after how many `OutOfRangeError` is raised; None is never.

    Returns:
      A string.
    """
    strings = _repeated(string_list, shuffle, seed, num_epochs)
    with tf.variable_scope("obtain_next"):
        counter = _variable("obtain_next_counter", tf.constant(-1, dtype=tf.int64), tf.int64)
        with tf.colocate_with(counter):
            kept = _variable("obtain_next_expanded_list", tf.constant(strings), tf.string)
        if not num_epochs:
            return obtain_next(kept, counter)
        zero = tf.constant(0, dtype=tf.int64)
        given = _variable("obtain_next_filename_counter", zero, tf.int64)
        with tf.control_dependencies([given.count_up_to(len(strings))]):
            return obtain_next(kept, counter)


def _variable(name: str, value: Any, dtype: Any) -> Any:
    return tf.get_variable(name=name, initializer=value, dtype=dtype, trainable=False)
