"""Python functions that compute for several runs at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.functional.polymorphic import defun
from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.ops.batching.cards import batch_function_op


def check_tensors(args: Sequence[Any]) -> None:
    """Raise ValueError for values that are no tensors, which cannot be batched."""
    for each in args:
        if not isinstance(each, Tensor):
            raise ValueError(
                "All arguments to functions decorated with `batch_function`  are supposed to be "
                f"Tensors; found {each!r}"
            )


@export("nondifferentiable_batch_function", "contrib.batching.batch_function")
def batch_function(
    num_batch_threads: int,
    max_batch_size: int,
    batch_timeout_micros: int,
    allowed_batch_sizes: Sequence[int] | None = None,
    max_enqueued_batches: int = 10,
    autograph: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., list[Tensor]]]:
    """Decorate a function of tensors so that concurrent runs share a call of it.

    The arguments of these runs are concatenated along the first axis, the function is called once,
    and each run gets its own rows of the results.

    Args:
      num_batch_threads: how many batches are computed at a time.
      max_batch_size: how many rows a batch has at most.
      batch_timeout_micros: how long a batch waits for more rows, in microseconds.
      allowed_batch_sizes: sizes, growing up to `max_batch_size`, that batches are filled up to by
        repeating a row; any size by default.
      max_enqueued_batches: number of batches that may wait; further runs raise an error.
      autograph: whether the function is converted by AutoGraph.

    Returns:
      The decorator. What it makes returns a list of tensors, and has no gradient.
    """

    def decorator(fn: Callable[..., Any]) -> Callable[..., list[Tensor]]:
        def decorated(*args: Any) -> list[Tensor]:
            def computation(*computation_args: Any) -> Any:
                return fn(*computation_args)

            specs = [
                TensorSpec(dtype=x.dtype, shape=x.shape, name=str(i)) for i, x in enumerate(args)
            ]
            concrete = defun(computation, autograph=autograph).get_concrete_function(*specs)
            with name_scope("batch") as name:
                check_tensors(args)
                made: Any = batch_function_op(
                    list(args),
                    concrete.captured_inputs,
                    f=concrete.library_function.attribute(),
                    num_batch_threads=num_batch_threads,
                    max_batch_size=max_batch_size,
                    batch_timeout_micros=batch_timeout_micros,
                    allowed_batch_sizes=list(allowed_batch_sizes or []),
                    max_enqueued_batches=max_enqueued_batches,
                    shared_name=name,
                    Tout=[output.dtype for output in concrete.outputs],
                )
            return list(made)

        return decorated

    return decorator
