"""tf.contrib.tpu.while_loop and repeat: loops whose iterations are training steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.contrib.tpu.arguments import argument_error
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.constants import constant
from stillflow.ops.control_flow import while_loop as loops
from stillflow.ops.control_flow.identity_and_group import tuple_
from stillflow.ops.tpu.shards import get_tpu_context


@export("contrib.tpu.while_loop")
def while_loop(
    condition: Callable[..., Any], body: Callable[..., Any], inputs: Any = None,
    infeed_queue: Any = None, name: str | None = None,
) -> Tensor | list[Tensor]:  # fmt: skip
    """Loop over training steps; all operations of an iteration run, even unused ones.

    Args:
      condition: of the loop's values, gives a scalar bool.
      body: of the loop's values, and of what comes from the queue; gives their next values, and
        operations after them.
      inputs: the first values; none if None.
      infeed_queue: an `InfeedQueue` that every iteration dequeues from.
      name: has no effect.

    Returns:
      The last values.

    Raises:
      TypeError: if a function does not take so many values, or types change.
      ValueError: if operations come before values, or there is a queue outside of computations.
    """
    values = [convert_to_tensor(value) for value in inputs or ()]
    _check(condition, body, values, infeed_queue)
    if values:
        go_on, turn = condition, body
    else:  # a loop carries something; this is only waited for
        go_on, turn = lambda _: condition(), lambda _, *fed: body(*fed)
    types = [value.dtype for value in values]

    def next_values(*now: Any) -> list[Tensor]:
        fed = _taken(infeed_queue)
        return _run_all(turn(*now, *fed), types, fed)

    return loops.while_loop(
        go_on, next_values, values or [constant(0)], name="", parallel_iterations=1
    )


def _check(condition: Any, body: Any, values: list[Any], queue: Any) -> None:
    given = f"You specified {len(values)} inputs: {[value.name for value in values]}"
    start = "Supplied loop {} function cannot be called with the specified inputs. " + given
    complaint = argument_error(body, len(values), queue)
    if complaint is not None and queue is None:
        raise TypeError(f"{start.format('body')}, but the loop body needs {complaint}")
    if complaint is not None:
        raise TypeError(
            f"{start.format('body')} and {queue.number_of_tuple_elements} additional inputs from "
            f"infeed, but the computation needs {complaint}"
        )
    complaint = argument_error(condition, len(values), None)
    if complaint is not None:
        note = "" if queue is None else ". Note that infeed is not passed to the loop condition."
        raise TypeError(
            f"{start.format('condition')}, but the loop condition needs {complaint}{note}"
        )


def _taken(queue: Any) -> list[Any]:
    """Return an iteration's elements of the queue."""
    if not queue:
        return []
    count = get_tpu_context().number_of_shards
    if count is None:
        raise ValueError(
            "Can't build training loop with infeed when there is no tpu_shard_context. Are you "
            "building a loop or graph directly rather than from inside tpu.rewrite, "
            "tpu.batch_parallel, tpu.shard, or tpu.replicate?"
        )
    queue.set_number_of_shards(count)
    return list(queue.generate_dequeue_op())


def _run_all(outputs: Any, types: list[Any], fed: list[Any]) -> list[Tensor]:
    """Return the next values, which wait for all operations of the turn."""
    if not isinstance(outputs, (list, tuple)):
        outputs = (outputs,)
    outputs = [
        value if isinstance(value, Operation) else convert_to_tensor(value) for value in outputs
    ]
    operations: list[Any] = [value for value in outputs if isinstance(value, Operation)]
    tensors: Any = outputs[: len(outputs) - len(operations)]
    if any(isinstance(value, Operation) for value in tensors):
        raise ValueError(
            "TPU training loop body must return zero or more Tensor values followed by zero or "
            "more Operations."
        )
    found = [tensor.dtype for tensor in tensors]
    if found != types:
        raise TypeError(
            "Mismatch between input types and output types for training loop body: "
            f"{types} vs {found}"
        )
    operations += fed  # they are run even if the turn looks at none
    tensors = tensors or constant(0)
    return tuple_(tensors, control_inputs=operations) if operations else tensors


@export("contrib.tpu.repeat")
def repeat(
    n: Any, body: Callable[..., Any], inputs: Any = None, infeed_queue: Any = None,
    name: str | None = None,
) -> Operation | list[Tensor]:  # fmt: skip
    """Return a loop of `n` turns.

    Args:
      n: how many.
      body, inputs, infeed_queue, name: as in `while_loop`; `inputs` may be a single value.

    Returns:
      A list of the last values; the operation that ends the loop if there are none.
    """

    def next_values(turn: Any, *values: Any) -> list[Tensor | Operation]:
        return [turn + 1, *_as_list(body(*values))]

    first = [0] if inputs is None else [0, *_as_list(inputs)]
    outputs = _as_list(
        while_loop(lambda turn, *_: turn < n, next_values, first, infeed_queue, name)
    )
    return outputs[0].op if len(outputs) == 1 else outputs[1:]


def _as_list(values: Any) -> list[Any]:
    return list(values) if isinstance(values, (list, tuple)) else [values]
