"""Batch, Unbatch, UnbatchGrad and BatchFunction."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.dims import shape_text
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops.batching.forming import Batch, Batcher, Limits, Task
from stillflow.ops.batching.parting import Gathering, Parts
from stillflow.ops.kernels import copied

_LIMITS = """
    num_batch_threads: int
    max_batch_size: int
    max_enqueued_batches: int = 10
    batch_timeout_micros: int
    allowed_batch_sizes: list(int) = []
"""
_SHARED = """
    container: string = ""
    shared_name: string = ""
"""
batch_op = op(
    """
    Batch(in_tensors: [T]) -> (batched_tensors: [T], batch_index: int64, id: int64)
    grad_timeout_micros: int
    batching_queue: string = ""
    T: list(type) >= 1
    """
    + _LIMITS
    + _SHARED,
    effect="state",
)
unbatch_op = op(
    """
    Unbatch(batched_tensor: T, batch_index: int64, id: int64) -> unbatched_tensor: T
    timeout_micros: int
    T: type
    """
    + _SHARED,
    effect="state",
)
unbatch_grad_op = op(
    """
    UnbatchGrad(original_input: T, batch_index: int64, grad: T, id: int64) -> batched_grad: T
    T: type
    """
    + _SHARED,
    effect="state",
    keeps=(2,),
)
batch_function_op = op(
    """
    BatchFunction(in_tensors: [Tin], captured_tensors: [Tcaptured]) -> out_tensors: [Tout]
    f: func
    batching_queue: string = ""
    Tin: list(type) >= 1
    Tcaptured: list(type) >= 0
    Tout: list(type) >= 1
    """
    + _LIMITS
    + _SHARED,
    effect="state",
    calls=True,
)


# ---- shapes


def _any_rows(node: Node, index: int) -> tuple[int | None, ...] | None:
    dims = node.dims(index)
    if dims is None:
        return None
    if not dims:
        if node.inputs[index].shape.ndims == 0:
            raise ValueError("Out of range dim_index 0 for shape with 0 dimensions")
        return None  # known for feeds only: the kernel has another message
    return (None, *dims[1:])


@batch_op.shape
def batch_shape(node: Node) -> OutputDims:
    return [*(_any_rows(node, index) for index in range(len(node.inputs))), (None, 3), ()]


@unbatch_op.shape
def unbatch_shape(node: Node) -> OutputDims:
    return _any_rows(node, 0)


@unbatch_grad_op.shape
def unbatch_grad_shape(node: Node) -> OutputDims:
    dims = node.dims(2)
    return None if dims is None else (None,) * len(dims)


@batch_function_op.shape
def batch_function_shape(node: Node) -> OutputDims:
    return [None] * len(node.outputs)


# ---- values: arrays of bytes, else tensors


def _joined(values: Sequence[Any]) -> torch.Tensor | Array:
    """Return all rows as one new array; InvalidArgumentError if their shapes differ."""
    first = tuple(values[0].shape)
    for index, value in enumerate(values):
        shape = tuple(value.shape)
        if len(shape) != len(first):
            what = "Ranks of all input tensors should match"
        elif shape[1:] != first[1:]:
            what = "Dimensions of inputs should match"
        else:
            continue
        raise errors.invalid_argument(
            f"{what}: shape[0] = {shape_text(first)} vs. shape[{index}] = {shape_text(shape)}"
        )
    if isinstance(values[0], np.ndarray):
        return np.concatenate(values)
    return torch.cat(list(values))


def _padded(batch: Batch, limits: Limits, index: int) -> torch.Tensor | Array:
    """One input of all tasks; the first row is repeated where there are too few of them."""
    values = [task.inputs[index] for task in batch.tasks]
    lacking = limits.padded(batch.size) - batch.size
    return _joined([*values, *([values[0][:1]] * lacking)])


def _task(values: Sequence[Any]) -> Task:
    for value in values:
        if not value.ndim:
            raise errors.invalid_argument("Batching input tensors must have at least one dimension")
        if len(value) != len(values[0]):
            raise errors.invalid_argument(
                "Batching input tensors supplied in a given op invocation must have equal "
                "0th-dimension size"
            )
    return Task(random.getrandbits(63), values, len(values[0]))


def _batcher(node: Any, kind: str) -> Batcher:
    limits = Limits(
        num_batch_threads=node.num_batch_threads,
        max_batch_size=node.max_batch_size,
        batch_timeout_micros=node.batch_timeout_micros,
        max_enqueued_batches=node.max_enqueued_batches,
        allowed_batch_sizes=tuple(node.allowed_batch_sizes),
    )
    limits.check()
    found: Batcher = node.resource(lambda: Batcher(limits), kind=kind)
    return found


def _queue(node: Any) -> bytes:
    name: bytes = node.op.attrs.get("batching_queue", b"")
    return name


# ---- kernels


@batch_op.kernel
def batch_kernel(node: Node) -> Kernel:
    batcher, waits, queue = _batcher(node, "batches"), node.waits(), _queue(node)

    def compute(batch: Batch) -> list[Any]:
        count = len(batch.tasks[0].inputs)
        joined = [_padded(batch, batcher.limits, index) for index in range(count)]
        ends = batch.ends()
        rows = [
            (task.key, end - task.size, end) for task, end in zip(batch.tasks, ends, strict=True)
        ]
        results: list[Any] = [
            (*(copied(value[:0]) for value in task.inputs), torch.empty((0, 3), dtype=torch.int64))
            for task in batch.tasks
        ]
        results[-1] = (*joined, torch.tensor(rows, dtype=torch.int64))
        return results

    def run(*values: Any) -> tuple[torch.Tensor | Array, ...]:
        task = _task(values)
        return (*batcher.run(queue, task, compute, waits), torch.tensor(task.key))

    return run


@batch_function_op.kernel
def batch_function_kernel(node: Node) -> Kernel:
    batcher, waits, queue = _batcher(node, "batched calls"), node.waits(), _queue(node)
    count = len(node.op.attrs["Tin"])
    wanted = len(node.outputs)
    called: list[Any] = []  # the compiled function

    def run(*values: Any) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor | Array]:
        if not called:
            called.append(node.function(node.f))

        def compute(batch: Batch) -> list[Any]:
            inputs = [_padded(batch, batcher.limits, index) for index in range(count)]
            arguments = [*inputs, *values[count:]]
            wanted_by_body = len(called[0].body.inputs)
            if len(arguments) != wanted_by_body:
                raise errors.invalid_argument(
                    f"Expects {wanted_by_body} arguments, but {len(arguments)} is provided"
                )
            outputs = called[0](*arguments)
            size = batcher.limits.padded(batch.size)
            return _shares(batch, _checked(outputs, wanted, size))

        result = batcher.run(queue, _task(values[:count]), compute, waits)
        return result[0] if wanted == 1 else result

    return run


def _checked(outputs: Sequence[Any], wanted: int, size: int) -> Sequence[Any]:
    if len(outputs) != wanted:
        raise errors.internal("Wrong number of batched output tensors")
    for value in outputs:
        if not value.ndim:
            raise errors.failed_precondition("Batched output tensor has 0 dimensions")
        if len(value) != size:
            raise errors.failed_precondition(
                "Batched output tensor's 0th dimension does not equal the sum of the 0th "
                "dimension sizes of the input tensors"
            )
    return outputs


def _shares(batch: Batch, outputs: Sequence[Any]) -> list[Any]:
    """Return the rows of each task, in memory of their own."""
    return [
        tuple(copied(value[end - task.size : end]) for value in outputs)
        for task, end in zip(batch.tasks, batch.ends(), strict=True)
    ]


@unbatch_op.kernel
def unbatch_kernel(node: Node) -> Kernel:
    waits = node.waits()
    parts: Parts = node.resource(lambda: Parts(node.timeout_micros), kind="parts of batches")

    def run(value: Any, index: Any, key: Any) -> torch.Tensor | Array:
        if len(index) > len(value):
            raise errors.invalid_argument(
                "Wrong shape for index tensor. Expected 0th dimension size to be no greater than "
                f"{len(value)}; Got: {len(index)}."
            )
        if index.shape[1] != 3:
            raise errors.invalid_argument(
                "Wrong shape for index tensor. Expected 1st dimension size to be 3 ; Got: "
                f"{index.shape[1]}."
            )
        sliced, begin = {}, 0
        for owner, first, end in index.tolist():
            sliced[owner] = copied(value[begin : begin + end - first])
            begin += end - first
        if begin > len(value):
            raise errors.invalid_argument(
                "Sum of split sizes must not exceed dim0-size of input tensor"
            )
        return parts.take(int(key), sliced, waits)

    return run


@unbatch_grad_op.kernel
def unbatch_grad_kernel(node: Node) -> Kernel:
    waits = node.waits()
    gathering: Gathering = node.resource(Gathering, kind="gradients of batches")

    def run(value: Any, index: Any, grad: Any, key: Any) -> torch.Tensor:
        has_batch = bool(value.size if isinstance(value, np.ndarray) else value.numel())
        if has_batch and not len(index):
            raise errors.invalid_argument("batch_index is empty while the tensor isn't.")
        keys = [row[0] for row in index.tolist()] if has_batch else None
        grads = gathering.add(int(key), grad, keys, waits)
        return copied(grad[:0]) if grads is None else _joined(grads)

    return run


# ---- gradients


@batch_op.gradient
def batch_gradient(node: Node, *grads: Any) -> Gradients:
    index, key = node.op.outputs[-2], node.op.outputs[-1]
    return [
        unbatch_op(
            grads[i],
            index,
            key,
            timeout_micros=node.grad_timeout_micros,
            shared_name=f"batch_gradient_{node.op.name}_{i}",
        )
        for i in range(len(node.inputs))
    ]


@unbatch_op.gradient
def unbatch_gradient(node: Node, grad: Any) -> Gradients:
    value, index, key = node.inputs
    batched = unbatch_grad_op(
        value, index, grad, key, shared_name=f"unbatch_gradient_{node.op.name}"
    )
    return [batched, None, None]
