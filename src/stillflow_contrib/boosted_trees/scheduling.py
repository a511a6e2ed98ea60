"""Operations on several resources, merged to one for each device."""

from __future__ import annotations

import abc
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor


class ScheduledOp(abc.ABC):
    """An operation that is to run together with others."""

    @abc.abstractmethod
    def batching_key(self) -> Any:
        """Return the key of operations that run together."""

    @abc.abstractmethod
    def batch_runner_fn(self) -> Callable[[Any, Any], Any]:
        """Return the function of the operations and the stamp that builds one for all."""


class ScheduledStampedResourceOp(ScheduledOp):
    """An operation on a resource that a stamp protects from runs that come too late.

    Args:
      resource_handle: the resource.
      op: builds the operation: a function of a list of resources, a stamp, and lists by name.
      **kwargs: tensors by name.
    """

    def __init__(self, resource_handle: Any, op: Callable[..., Any], **kwargs: Any) -> None:
        self.resource_handle = resource_handle
        self.op = op
        self.args = kwargs

    def batching_key(self) -> tuple[str, Callable[..., Any]]:
        """Return the device, and the builder of the operation."""
        return self.resource_handle.device, self.op

    def batch_runner_fn(self) -> Callable[[Any, Any], Any]:
        """Return the function that builds one operation for all resources."""
        return _run_together


def _move_tensors(tensors: Sequence[Any], device: Any) -> list[Tensor]:
    """Return the same tensors on another device, where they come in one piece."""
    zero = tf.constant(0, dtype=tf.int32)
    scalars = all(tensor.shape.rank == 0 for tensor in tensors)
    with tf.device(None):  # this way devices are not merged
        with tf.device(tensors[0].device):
            if scalars:
                whole = tf.stack(tensors)
            else:
                sizes = tf.stack(tf.shape_n(tensors))[:, 0]
                whole = tf.concat(tensors, axis=zero)
        with tf.device(device):
            if scalars:
                return tf.unstack(whole)
            return list(tf.split(whole, tf.unstack(sizes), axis=zero))


def _run_together(batch: Sequence[ScheduledStampedResourceOp], stamp: Any) -> Any:
    if not batch:
        return None
    names = set(batch[0].args)
    for each in batch:
        if set(each.args) != names:
            raise ValueError("Mismatching arguments: %s, %s.", each.args, names)
    handles = [each.resource_handle for each in batch]
    device = handles[0].device
    arguments = {
        name: _move_tensors([each.args[name] for each in batch], device) for name in sorted(names)
    }
    with tf.device(device):
        return batch[0].op(handles, stamp, **arguments)


def run_handler_scheduled_ops(
    per_handler_ops: dict[Any, Sequence[ScheduledOp]], stamp: Any, worker_device: Any
) -> dict[Any, list[Any]]:
    """Build the operations of all handlers, those that belong together as one.

    Args:
      per_handler_ops: for each handler its operations.
      stamp: an int64 scalar.
      worker_device: where the results are wanted.

    Returns:
      For each handler the results of its operations: tuples, or an operation.

    Raises:
      ValueError: for results that are neither.
    """
    batches: dict[Any, list[ScheduledOp]] = defaultdict(list)
    for scheduled in per_handler_ops.values():
        for each in scheduled:
            batches[each.batching_key(), each.batch_runner_fn()].append(each)
    results: dict[ScheduledOp, Any] = {}
    for batch in batches.values():
        found = batch[0].batch_runner_fn()(batch, stamp)
        if isinstance(found, tuple):
            moved = [_move_tensors(parts, worker_device) for parts in found]
            results.update(zip(batch, zip(*moved, strict=True), strict=True))
        elif isinstance(found, tf.Operation):
            results.update(dict.fromkeys(batch, found))
        else:
            raise ValueError("Unknown type of result %s.", found)
    return defaultdict(
        list,
        {
            handler: [results[each] for each in scheduled]
            for handler, scheduled in per_handler_ops.items()
            if scheduled
        },
    )
