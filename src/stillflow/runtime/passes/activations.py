"""Fuse a ReLU with the bias before it, and its gradient with the bias's or with a sum."""

from __future__ import annotations

from typing import Any

import torch

from stillflow.ops.nn import bias, native_kernels
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Name, Step, fuse

RELU_GRAD = torch.ops.aten.leaky_relu_backward.default  # of a slope of 0


def fuse_activations(graph: StepGraph) -> None:
    """Replace Relu(x + bias), ReluGrad(x + y) and ReluGrad with BiasAddGrad by one step each.

    The fused step stands where the first one stood: what that takes may change behind it.
    """
    for step in graph.calls((torch.relu, RELU_GRAD, torch.sum, bias.sum_to_last)):
        fused: Step | None = None
        if step.function is torch.relu or is_relu_grad(step):
            first = graph.sole_producer(step, 0, torch.add)
            fused = None if first is None else _after_addition(graph, first, step)
        else:
            first = graph.shared_producer(step, 0, RELU_GRAD)
            if first is not None and is_relu_grad(first) and _sums_rows(step):
                outputs = [*first.outputs, *step.outputs]
                gradients = native_kernels.relu_gradients
                fused = fuse([first, step], outputs, gradients, first.arguments[:2])
        if first is not None and fused is not None:
            graph.replace([first, step], fused, at=first)


def is_relu_grad(step: Step) -> bool:
    """Return True for the gradient of a ReLU, which is that of a leaky one of slope 0."""
    return step.function is RELU_GRAD and step.arguments[2] == 0


def _after_addition(graph: StepGraph, addition: Step, step: Step) -> Step | None:
    """Return an addition and its only consumer: a ReLU, or the gradient of one."""
    if addition.op is None or len(addition.arguments) != 2:
        return None
    if step.function is torch.relu:
        arguments = _image_and_bias(addition)
        if arguments is None:
            return None
        return fuse([addition, step], step.outputs, native_kernels.add_relu, arguments)
    left, right = (tensor._dims for tensor in addition.op._inputs[:2])
    shown = step.arguments[1]
    if left != right or not left or not isinstance(shown, Name):
        return None
    if not graph.is_produced_before(shown, addition):
        return None
    arguments = [*addition.arguments, shown]
    return fuse([addition, step], step.outputs, native_kernels.gradient_of_sum, arguments)


def _image_and_bias(step: Step) -> list[Any] | None:
    """Return the arguments of an addition of a vector, the vector last.

    None for another addition.
    """
    assert step.op is not None
    dims = [tensor._dims for tensor in step.op._inputs]
    for image, vector in ((0, 1), (1, 0)):
        whole, one = dims[image], dims[vector]
        if whole and one and len(whole) > len(one) == 1 and one[0] and whole[-1] == one[0]:
            return [step.arguments[image], step.arguments[vector]]
    return None


def _sums_rows(step: Step) -> bool:
    """Return True for a step that adds up all numbers of each channel."""
    if step.op is None or len(step.outputs) != 1:
        return False
    if step.function is bias.sum_to_last:
        return True
    dims = step.op._inputs[0]._dims
    if step.function is not torch.sum or dims is None or len(step.arguments) != 3:
        return False
    _, axes, keeps = step.arguments
    return keeps is False and axes == list(range(len(dims) - 1)) != []
