"""Batch normalization and what follows it, in one step: a residual branch that is added, a ReLU.

The image is then read and written once where it was three times; so is its gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from stillflow.ops.nn import batch_norm
from stillflow.runtime.plan.steps import Name, Step, count_uses, one_step

_RELU_GRAD = torch.ops.aten.leaky_relu_backward.default  # of a slope of 0


def join_normalizations(steps: Sequence[Step], kept: Sequence[str]) -> list[Step]:
    """Make one step of a normalization and the additions and activations around it.

    Args:
      steps: in the order in which they run.
      kept: names that the plan gives back.
    """
    return _Joiner(steps, kept).joined()


class _Joiner:
    def __init__(self, steps: Sequence[Step], kept: Sequence[str]) -> None:
        self._steps: list[Step | None] = list(steps)
        self._uses = count_uses(steps, kept)
        self._makers = {name: number for number, step in enumerate(steps) for name in step.outputs}

    def joined(self) -> list[Step]:
        for number, step in enumerate(self._steps):
            if step is not None and step.function is torch.relu:
                self._join_forward(number, step)
            elif step is not None and step.function is batch_norm.backward and not step.fused:
                self._join_backward(number, step)
        return [step for step in self._steps if step is not None]

    def _maker(self, name: Any, user: Step, function: Any) -> tuple[int, Step] | None:
        """Find the plain call of `function` whose first result `user` alone takes."""
        number = self._makers.get(str(name), -1)
        step = self._steps[number] if number >= 0 else None
        if step is None or step.function is not function or self._uses[str(name)] != 1:
            return None
        if step.fused:  # a normalization with a sum or a ReLU is the same function of more
            return None
        same = step.guard == user.guard and step.outputs[0] == name and not step.keywords
        return (number, step) if same else None

    def _join_forward(self, number: int, relu: Step) -> None:
        (source,) = relu.arguments
        found = self._maker(source, relu, batch_norm.train)
        if found is not None:
            self._put(found, [None, True], [(number, relu)])
            return
        addition = self._maker(source, relu, torch.add)
        if addition is None or not _adds_equals(addition[1]):
            return
        left, right = addition[1].arguments
        for name, other in ((right, left), (left, right)):
            found = self._maker(name, addition[1], batch_norm.train)
            if found is not None and self._is_there(other, found[0], number):
                self._put(found, [other, True], [addition, (number, relu)])
                return

    def _is_there(self, name: Any, earlier: int, later: int) -> bool:
        """Return True if a value exists some steps earlier, and is the same then."""
        there = isinstance(name, Name) and self._makers.get(name, -1) < earlier
        return there and not self._changes(earlier, later)

    def _changes(self, earlier: int, later: int) -> bool:
        """Return True if a step between two others may change what these take."""
        return any(
            step.writes or (step.op is not None and step.op.card.keeps)
            for step in self._steps[earlier:later]
            if step is not None
        )

    def _put(self, train: tuple[int, Step], more: list[Any], after: list[tuple[int, Step]]) -> None:
        number, step = train
        steps = [each for _, each in after]
        outputs = [*steps[-1].outputs, *step.outputs[1:]]
        self._steps[number] = one_step(
            [step, *steps], outputs, batch_norm.train, [*step.arguments, *more]
        )
        for place, _ in after:
            self._steps[place] = None
        self._makers.update(dict.fromkeys(steps[-1].outputs, number))

    def _join_backward(self, number: int, step: Step) -> None:
        found = self._maker(step.arguments[0], step, _RELU_GRAD)
        if found is None or found[1].arguments[2] != 0 or self._changes(found[0], number):
            return
        place, relu = found
        grad, result = relu.arguments[:2]
        self._steps[number] = one_step(
            [step, relu], step.outputs, batch_norm.backward, [grad, *step.arguments[1:], result]
        )
        self._steps[place] = None


def _adds_equals(step: Step) -> bool:
    """Return True if an addition is of two tensors of one shape."""
    if step.op is None or len(step.op._inputs) != 2 or step.keywords or len(step.arguments) != 2:
        return False
    left, right = (tensor._dims for tensor in step.op._inputs)
    # The size of a batch may be unknown, and is then the same: what is normalized has one shape.
    return left is not None and right is not None and left[1:] == right[1:] and None not in left[1:]
