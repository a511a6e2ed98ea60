"""A bias and the ReLU after it as one step, and so their gradients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch

from stillflow.ops.nn import bias, bias_relu
from stillflow.runtime.steps import Name, Step

_RELU_GRAD = torch.ops.aten.threshold_backward.default


def join_biases(steps: Sequence[Step], kept: Sequence[str]) -> list[Step]:
    """Joins additions of a vector with the ReLU after them, gradients of a ReLU with their sum.

    Args:
      steps: in the order in which they run.
      kept: names that the plan gives back.
    """
    uses = Counter([*kept, *(name for step in steps for name in step.inputs)])
    makers: dict[str, int] = {}
    result: list[Step | None] = list(steps)
    for number, step in enumerate(steps):
        place = makers.get(str(step.arguments[0]), -1) if step.arguments else -1
        maker = result[place] if place >= 0 else None
        if maker is not None and maker.guard == step.guard and not maker.keywords:
            if step.function is torch.relu and uses[str(step.arguments[0])] == 1:
                if maker.function is torch.add and (arguments := _image_and_bias(maker)):
                    result[place] = _one_step(
                        maker, [step], step.outputs, bias_relu.add_relu, arguments)
                    result[number] = None
            elif maker.function is _RELU_GRAD and maker.arguments[2] == 0 and _sums_rows(step):
                outputs = [*maker.outputs, *step.outputs]
                result[place] = _one_step(
                    maker, [step], outputs, bias_relu.relu_gradients, maker.arguments)
                result[number] = None
        makers.update(dict.fromkeys(step.outputs, number))
    return [step for step in result if step is not None]


def _image_and_bias(step: Step) -> list[Any] | None:
    """The arguments of an addition, the vector last; None if it is no such addition."""
    if step.op is None or len(step.arguments) != 2:
        return None
    dims = [tensor._dims for tensor in step.op._inputs]
    for image, vector in ((0, 1), (1, 0)):
        whole, one = dims[image], dims[vector]
        if whole and one and len(whole) > len(one) == 1 and one[0] and whole[-1] == one[0]:
            return [step.arguments[image], step.arguments[vector]]
    return None


def _sums_rows(step: Step) -> bool:
    """Whether a step adds up all numbers of each channel."""
    if step.op is None or len(step.outputs) != 1 or step.keywords:
        return False
    if step.function is bias.sum_to_last:
        return True
    dims = step.op._inputs[0]._dims
    if step.function is not torch.sum or dims is None or len(step.arguments) != 3:
        return False
    _, axes, keeps = step.arguments
    return keeps is False and axes == list(range(len(dims) - 1)) != []


def _one_step(
    step: Step, others: Sequence[Step], outputs: list[str], function: Any, arguments: list[Any]
) -> Step:
    names = [str(each) for each in arguments if isinstance(each, Name)]
    result = Step("call", step.op, outputs, names, step.guard, function, arguments)
    result.joined = [
        *step.joined, *(op for other in others for op in (other.op, *other.joined) if op)]
    return result
