"""Placement of variables on parameter servers, for `tf.train.replica_device_setter`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph.export import export
from stillflow.graph.tensor_shape import TensorShape


@export("contrib.training.RandomStrategy")
class RandomStrategy:
    """Spreads operations by a hash of their names, the same in every process.

    Args:
      num_ps_tasks: how many servers there are.
      seed: makes another order.
    """

    def __init__(self, num_ps_tasks: int, seed: int = 0) -> None:
        self._num_tasks = num_ps_tasks
        self._seed = seed

    def __call__(self, op: Any) -> int:
        """Return the number of the server for an operation."""
        digest = hashlib.md5(f"{op.name}_{self._seed}".encode(), usedforsecurity=False).hexdigest()
        return int(digest, 16) % self._num_tasks


@export("contrib.training.GreedyLoadBalancingStrategy")
class GreedyLoadBalancingStrategy:
    """Placement of each operation on the server with the least load so far.

    Args:
      num_tasks: how many servers there are.
      load_fn: the load that an operation is.
    """

    def __init__(self, num_tasks: int, load_fn: Callable[[Any], float]) -> None:
        self._load_fn = load_fn
        self._ps_loads = np.zeros(num_tasks)

    def __call__(self, op: Any) -> np.int64:
        """Return the number of the server for an operation."""
        task = np.argmin(self._ps_loads)
        self._ps_loads[task] += self._load_fn(op)
        return task


@export("contrib.training.byte_size_load_fn")
def byte_size_load_fn(op: Any) -> int:
    """Return the number of bytes of an operation's output.

    Args:
      op: an operation with one output, of known shape.

    Raises:
      ValueError: the operation has several outputs, or the shape is not known.
    """
    if len(op.outputs) != 1:
        raise ValueError(f"Op {op} must have a single output")
    output = op.outputs[0]
    shape = output.get_shape()
    if not shape.is_fully_defined():
        # A variable that is initialized by a function says its shape as an attribute.
        shape = TensorShape(op.get_attr("shape"))
    shape.assert_is_fully_defined()
    size: int = shape.num_elements() * output.dtype.size
    return size
