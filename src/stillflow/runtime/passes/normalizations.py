"""Fuse batch normalization with what follows it: a residual branch that is added, a ReLU.

The image is then read and written once where it was three times; so is its gradient.
"""

from __future__ import annotations

from typing import Any

import torch

from stillflow.ops.nn import batch_norm
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Name, Step, fuse
from stillflow.runtime.passes.activations import RELU_GRAD, is_relu_grad


def fuse_normalizations(graph: StepGraph) -> None:
    """Replace Relu(FusedBatchNorm), Relu(FusedBatchNorm + x) and FusedBatchNormGrad(ReluGrad)."""
    for relu in graph.calls(torch.relu):
        _fuse_forward(graph, relu)
    for norm_grad in graph.calls(batch_norm.backward):
        _fuse_backward(graph, norm_grad)


def _norm_of(graph: StepGraph, step: Step, argument: int) -> Step | None:
    """Return the normalization whose only consumer is `step`."""
    norm = graph.sole_producer(step, argument, batch_norm.train)
    return norm if norm is not None and norm.outputs[0] == step.arguments[argument] else None


def _fuse_forward(graph: StepGraph, relu: Step) -> None:
    norm = _norm_of(graph, relu, 0)
    if norm is not None:
        _put(graph, norm, [None, True], [relu])
        return
    addition = graph.sole_producer(relu, 0, torch.add)
    if addition is None or not _adds_equals(addition):
        return
    for side, other in ((1, 0), (0, 1)):
        norm, branch = _norm_of(graph, addition, side), addition.arguments[other]
        if norm is not None and _is_there(graph, branch, norm, relu):
            _put(graph, norm, [branch, True], [addition, relu])
            return


def _is_there(graph: StepGraph, name: Any, norm: Step, relu: Step) -> bool:
    """Return True if a branch is made before the normalization, and the same when it is taken."""
    there = isinstance(name, Name) and graph.is_produced_before(name, norm)
    return there and not graph.writers(norm, relu)


def _put(graph: StepGraph, norm: Step, more: list[Any], after: list[Step]) -> None:
    parts = [norm, *after]
    outputs = [*after[-1].outputs, *norm.outputs[1:]]
    fused = fuse(parts, outputs, batch_norm.train, [*norm.arguments, *more])
    graph.replace(parts, fused, at=norm)


def _fuse_backward(graph: StepGraph, norm_grad: Step) -> None:
    relu_grad = graph.sole_producer(norm_grad, 0, RELU_GRAD)
    if relu_grad is None or not is_relu_grad(relu_grad):
        return
    if graph.writers(relu_grad, norm_grad):
        return
    grad, result = relu_grad.arguments[:2]
    parts, arguments = [norm_grad, relu_grad], [grad, *norm_grad.arguments[1:], result]
    fused = fuse(parts, norm_grad.outputs, batch_norm.backward, arguments)
    graph.replace(parts, fused, at=norm_grad)


def _adds_equals(step: Step) -> bool:
    """Return True for an addition of two tensors of one shape."""
    if step.op is None or len(step.op._inputs) != 2 or len(step.arguments) != 2:
        return False
    left, right = (tensor._dims for tensor in step.op._inputs)
    # The size of a batch may be unknown, and is then the same: all normalized values have one
    # shape.
    return left is not None and right is not None and left[1:] == right[1:] and None not in left[1:]
