"""Fusion of ReLU with its producer as one step, and of its gradient."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from stillflow.ops.nn import bias, native_relu
from stillflow.runtime.plan.steps import Name, Step, count_uses, one_step

_RELU_GRAD = torch.ops.aten.leaky_relu_backward.default  # of a slope of 0


def join_activations(steps: Sequence[Step], kept: Sequence[str]) -> list[Step]:
    """Join a ReLU with the addition of a bias; its gradient with the bias's or with a sum.

    Args:
      steps: in the order in which they run.
      kept: names that the plan gives back.
    """
    uses = count_uses(steps, kept)
    makers: dict[str, int] = {}
    result: list[Step | None] = list(steps)
    for number, step in enumerate(steps):
        source = str(step.arguments[0]) if step.arguments else ""
        place = makers.get(source, -1)
        maker = result[place] if place >= 0 else None
        if maker is not None and maker.guard == step.guard and _are_plain(maker, step):
            pair = None
            if uses[source] == 1 and maker.function is torch.add:
                pair = _after_addition(maker, step, place, makers)
            elif maker.function is _RELU_GRAD and maker.arguments[2] == 0 and _sums_rows(step):
                outputs = [*maker.outputs, *step.outputs]
                pair = one_step(
                    [maker, step], outputs, native_relu.relu_gradients, maker.arguments[:2]
                )
            if pair is not None:  # where the first stands: what it takes may change after it
                result[place], result[number] = pair, None
                makers.update(dict.fromkeys(step.outputs, place))
                continue
        makers.update(dict.fromkeys(step.outputs, number))
    return [step for step in result if step is not None]


def _are_plain(maker: Step, step: Step) -> bool:
    """Return True if neither step is a fusion, whose arguments mean something else."""
    return not (maker.fused or maker.keywords or step.fused)


def _after_addition(addition: Step, step: Step, place: int, makers: dict[str, int]) -> Step | None:
    """Return an addition and the ReLU, or the gradient of one, that it is made for."""
    if addition.op is None or len(addition.arguments) != 2:
        return None
    if step.function is torch.relu:
        arguments = _image_and_bias(addition)
        if arguments is None:
            return None
        return one_step([addition, step], step.outputs, native_relu.add_relu, arguments)
    left, right = (tensor._dims for tensor in addition.op._inputs[:2])
    if step.function is not _RELU_GRAD or step.arguments[2] != 0 or left != right or not left:
        return None
    shown = step.arguments[1]
    if not isinstance(shown, Name) or makers.get(shown, place) >= place:
        return None
    return one_step([addition, step], step.outputs, native_relu.gradient_of_sum,
                    [*addition.arguments, shown])  # fmt: skip


def _image_and_bias(step: Step) -> list[Any] | None:
    """Return the arguments of an addition, the vector last; None if it is no such addition."""
    assert step.op is not None
    dims = [tensor._dims for tensor in step.op._inputs]
    for image, vector in ((0, 1), (1, 0)):
        whole, one = dims[image], dims[vector]
        if whole and one and len(whole) > len(one) == 1 and one[0] and whole[-1] == one[0]:
            return [step.arguments[image], step.arguments[vector]]
    return None


def _sums_rows(step: Step) -> bool:
    """Return True if a step adds up all numbers of each channel."""
    if step.op is None or len(step.outputs) != 1 or step.keywords:
        return False
    if step.function is bias.sum_to_last:
        return True
    dims = step.op._inputs[0]._dims
    if step.function is not torch.sum or dims is None or len(step.arguments) != 3:
        return False
    _, axes, keeps = step.arguments
    return keeps is False and axes == list(range(len(dims) - 1)) != []
