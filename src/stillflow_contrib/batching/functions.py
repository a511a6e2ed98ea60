"""Batches with gradients: `tensorflow.contrib.batching.python.ops.batch_ops`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.functional.batch_function import batch_function as batch_function
from stillflow.functional.batch_function import check_tensors
from stillflow.graph.api import name_scope
from stillflow.graph.operation import Tensor
from stillflow.ops.batching.cards import batch_op, unbatch_op
from stillflow.ops.raw_ops import positional

batch = positional("Batch")
unbatch = positional("Unbatch")
_MINUTE = 60 * 1000 * 1000


def batch_function_v1(
    num_batch_threads: int,
    max_batch_size: int,
    batch_timeout_micros: int,
    allowed_batch_sizes: Sequence[int] | None = None,
    grad_timeout_micros: int = _MINUTE,
    unbatch_timeout_micros: int = _MINUTE,
    max_enqueued_batches: int = 10,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """`tf.contrib.batching.batch_function` by operations around those of the function.

    Args:
      num_batch_threads: number of batches formed at a time.
      max_batch_size: how many rows a batch has at most.
      batch_timeout_micros: how long a batch waits for more rows, in microseconds.
      allowed_batch_sizes: sizes, growing up to `max_batch_size`, that batches are filled up to.
      grad_timeout_micros: how long runs wait for gradients.
      unbatch_timeout_micros: how long runs wait for results.
      max_enqueued_batches: number of batches that may wait; further runs raise an error.

    Returns:
      The decorator. What it makes returns a tensor or a list, as the function does.
    """

    def decorator(f: Callable[..., Any]) -> Callable[..., Any]:
        def decorated(*args: Any) -> Any:
            with name_scope("batch") as name:
                check_tensors(args)
                *batched, index, key = _flat(
                    batch_op(
                        list(args),
                        num_batch_threads=num_batch_threads,
                        max_batch_size=max_batch_size,
                        batch_timeout_micros=batch_timeout_micros,
                        max_enqueued_batches=max_enqueued_batches,
                        allowed_batch_sizes=list(allowed_batch_sizes or []),
                        grad_timeout_micros=grad_timeout_micros,
                        shared_name=name,
                    )
                )
                outputs = f(*batched)
                results = [outputs] if isinstance(outputs, Tensor) else outputs
                with name_scope("unbatch") as scope:
                    parts = [
                        unbatch_op(
                            result,
                            index,
                            key,
                            timeout_micros=unbatch_timeout_micros,
                            shared_name=f"{scope}/{result.name}",
                        )
                        for result in results
                    ]
                return parts[0] if isinstance(outputs, Tensor) else parts

        return decorated

    return decorator


def _flat(made: Any) -> list[Tensor]:
    """All outputs of the operation that makes batches."""
    return list(made[0].op.outputs if isinstance(made[0], Tensor) else made[0][0].op.outputs)
