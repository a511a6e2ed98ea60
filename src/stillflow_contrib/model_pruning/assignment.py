"""Assignments to variables, and to those that are in parts."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.operation import Operation, Tensor


def determine_partitioned_axis(partitioned_variable: Any) -> int:
    """Return the axis along which a variable is split.

    Raises:
      ValueError: if it is not one axis.
    """
    axis = 0
    whole = partitioned_variable.get_shape().as_list()
    for partition in partitioned_variable:
        is_split = np.less(partition.get_shape().as_list(), whole)
        number = np.count_nonzero(is_split)
        if number != 1:
            raise ValueError(f"Number of partitioned axes {number} not equal to 1")
        axis = int(np.where(is_split)[0][0])
    return axis


def variable_assign(var: Any, new_value: Any) -> Tensor:
    """Return an assignment, which has the variable's name in its own."""
    return tf.assign(var, new_value, name=f"{var.op.name}_assign")


def partitioned_variable_assign(partitioned_var: Any, new_value: Any) -> Operation:
    """Return an assignment to all parts of a variable."""
    parts = list(partitioned_var)
    axis = 0 if len(parts) == 1 else determine_partitioned_axis(partitioned_var)
    sizes = np.array([int(part.get_shape()[axis]) for part in parts])
    values = tf.split(new_value, tf.convert_to_tensor(sizes, dtype=tf.int32), axis=axis)
    assigned = [variable_assign(part, value) for part, value in zip(parts, values, strict=True)]
    return tf.group(*assigned, name=f"{partitioned_var.name}_group_assign")
