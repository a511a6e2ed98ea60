"""tf.tpu.shard and batch_parallel: a computation for TPUs on slices of its inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.contrib.tpu.replication import split_compile_and_replicate
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.splitting import split
from stillflow.ops.arrays.stack import stack


def split_compile_and_shard(
    computation: Callable[..., Any], inputs: Any = None, num_shards: int = 1,
    input_shard_axes: Any = None, outputs_from_all_shards: Any = True,
    output_shard_axes: Any = None, infeed_queue: Any = None, device_assignment: Any = None,
    name: str | None = None,
) -> tuple[Tensor, list[Tensor | Operation]]:  # fmt: skip
    """Shard like `shard`; return the result of the compilation, and the results."""
    if num_shards <= 0:
        raise ValueError("num_shards must be a positive integer.")
    inputs = [] if inputs is None else inputs
    if not isinstance(inputs, list):
        raise TypeError("tpu.shard()'s inputs must be a list of Tensors or None.")
    tensors = [convert_to_tensor(value) for value in inputs]
    axes = _each(input_shard_axes, len(tensors), 0, "input_shard_axes", "inputs")
    slices = [
        split(tensor, num_shards, axis=axis) for axis, tensor in zip(axes, tensors, strict=True)
    ]
    compiled, replicas = split_compile_and_replicate(
        computation,
        [list(each) for each in zip(*slices, strict=True)] or [[]] * num_shards,
        infeed_queue, device_assignment, name,
    )  # fmt: skip
    if isinstance(replicas[0], Operation):
        return compiled, [replicas[0]]
    count = len(replicas[0])
    axes = _each(output_shard_axes, count, 0, "output_shard_axes", "outputs")
    if isinstance(outputs_from_all_shards, bool):
        outputs_from_all_shards = [outputs_from_all_shards] * count
    wanted = _each(outputs_from_all_shards, count, True, "outputs_from_all_shards", "outputs")
    return compiled, [
        _joined(list(parts), axis) if everywhere else parts[0]
        for axis, everywhere, parts in zip(axes, wanted, zip(*replicas, strict=True), strict=True)
    ]


def _each(values: Any, count: int, default: Any, name: str, of: str) -> list[Any]:
    values = [default] * count if values is None else values
    if len(values) != count:
        raise ValueError(f"Length of {name} must be equal to the number of {of}.")
    return values


def _joined(parts: list[Any], axis: int) -> Tensor:
    return stack(parts) if parts[0].shape.ndims == 0 else concat(parts, axis)


@export("tpu.shard", "contrib.tpu.shard")
def shard(
    computation: Callable[..., Any], inputs: Any = None, num_shards: int = 1,
    input_shard_axes: Any = None, outputs_from_all_shards: Any = True,
    output_shard_axes: Any = None, infeed_queue: Any = None, device_assignment: Any = None,
    name: str | None = None,
) -> list[Tensor | Operation]:  # fmt: skip
    """Build a computation that several TPUs run, each on a slice of the inputs.

    Args:
      computation: gives tensors, or tensors followed by operations.
      inputs: a list of tensors.
      num_shards: into how many slices.
      input_shard_axes: along which axis each input is cut; the first if None.
      outputs_from_all_shards: whether, or for each output whether, what the shards give is
        joined; one of them is given otherwise.
      output_shard_axes: along which axis each output is joined; the first if None.
      infeed_queue: an `InfeedQueue` whose tensors follow the inputs.
      device_assignment: must be None: there are no devices to assign.
      name: has no effect.

    Returns:
      A list of the outputs.

    Raises:
      ValueError: if there are no shards, or not an axis for everything.
      TypeError: if the inputs are no list.
    """
    return split_compile_and_shard(
        computation, inputs, num_shards, input_shard_axes, outputs_from_all_shards,
        output_shard_axes, infeed_queue, device_assignment, name,
    )[1]  # fmt: skip


@export("tpu.batch_parallel", "contrib.tpu.batch_parallel")
def batch_parallel(
    computation: Callable[..., Any], inputs: Any = None, num_shards: int = 1,
    infeed_queue: Any = None, device_assignment: Any = None, name: str | None = None,
) -> Any:  # fmt: skip
    """`shard` along the first axis of everything.

    Args:
      computation, inputs, num_shards, infeed_queue, device_assignment, name: as in `shard`.
    """
    return shard(
        computation, inputs, num_shards=num_shards, infeed_queue=infeed_queue,
        device_assignment=device_assignment, name=name,
    )  # fmt: skip
