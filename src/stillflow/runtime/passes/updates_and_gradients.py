"""Steps that are cheaper together.

Updates of many variables, both gradients of a convolution, a pool and its gradient, reading many
values and assigning them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.ops.nn import convolution, pool_kernels
from stillflow.ops.send_recv import CROSSINGS
from stillflow.ops.training.cards import GroupedUpdate
from stillflow.runtime.passes.checkpoint_restores import join_restores
from stillflow.runtime.plan.steps import Guard, Name, Step, one_step, with_joined


def join(steps: list[Step]) -> list[Step]:
    """Apply all fusions of this module."""
    _share_maxima(steps)
    return join_restores(_join_gradients(_join_updates(steps)))


class _Updates:
    """Updates that share their scalars and wait to become one step."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.handles: set[str] = set()

    def add(self, step: Step) -> None:
        assert isinstance(step.function, GroupedUpdate)
        self.steps.append(step)
        self.handles.update(step.inputs[: step.function.count])

    def joined(self) -> Step:
        first = self.steps[0]
        function = first.function
        assert isinstance(function, GroupedUpdate)
        if len(self.steps) == 1:
            return first
        buffers = [a for step in self.steps for a in step.arguments[: function.count]]
        grads = [step.arguments[function.gradient] for step in self.steps]
        shared = [first.arguments[i] for i in function.shared]
        arguments = [*buffers, *grads, *shared]
        return one_step(self.steps, [], function.joined(len(self.steps)), arguments)


def _join_updates(steps: list[Step]) -> list[Step]:
    """Move updates down to the last one of their kind, but never past a use of a variable."""
    result: list[Step] = []
    waiting: dict[Any, _Updates] = {}
    memory: dict[str, set[str]] = {}  # for tensors that may be a variable's memory, its reference
    same: dict[str, tuple[str, int]] = {}  # reads of a variable with no change between are equal
    changes = 0
    for step in steps:
        shown = {name for tensor in step.inputs for name in memory.get(tensor, ())}
        if step.kind == "read":
            shown.update(step.inputs)
            same[step.outputs[0]] = (step.inputs[0], changes)
        if shown and (step.kind != "call" or (step.op is not None and step.op.card.view)):
            memory.update(dict.fromkeys(step.outputs, shown))
        if waiting:
            used = {*step.inputs, *shown, *(name for name, _ in step.guard or ())}
            for key in [key for key, group in waiting.items() if group.handles & used]:
                result.append(waiting.pop(key).joined())
        function = step.function
        if isinstance(function, GroupedUpdate):
            scalars = tuple(
                same.get(name, name) for name in (str(step.arguments[i]) for i in function.shared)
            )
            key = (function.key, function.device, scalars, step.guard)
            waiting.setdefault(key, _Updates()).add(step)
            continue
        if _changes_variables(step):  # a scalar may be the memory of what is changed
            result.extend(group.joined() for group in waiting.values())
            waiting.clear()
            changes += 1
        result.append(step)
    result.extend(group.joined() for group in waiting.values())
    return result


def _changes_variables(step: Step) -> bool:
    """Return True if updates must not move past a step.

    Other tasks see effects in message order.
    """
    op = step.op
    return bool(step.writes) or (op is not None and (bool(op.card.keeps) or op.type in CROSSINGS))


def _join_gradients(steps: list[Step]) -> list[Step]:
    """Return a convolution's gradients for image and filter in one call."""
    waiting: dict[tuple[Any, Any, Guard], int] = {}
    joined: dict[int, tuple[Step, Sequence[int]]] = {}
    for number, step in enumerate(steps):
        if step.function not in (convolution.input_gradient, convolution.filter_gradient):
            continue
        _, grad, _, geometry = step.arguments
        key = (grad, geometry, step.guard)
        other = waiting.get(key)
        if other is None or steps[other].function is step.function:
            waiting[key] = number
            continue
        pair = _one_call(steps[other], step)
        if _ready(pair, steps, other):
            joined[other] = pair, [number]
            del waiting[key]
    return with_joined(steps, joined)


def _ready(step: Step, steps: list[Step], position: int) -> bool:
    """Return True if everything a step takes exists before `position`."""
    made = {name for earlier in steps[position:] for name in earlier.outputs}
    return not made & set(step.inputs)


def _one_call(first: Step, second: Step) -> Step:
    image_step, filter_step = first, second
    if first.function is convolution.filter_gradient:
        image_step, filter_step = second, first
    filter_name, grad, _, geometry = image_step.arguments
    image_name = filter_step.arguments[0]
    arguments = [image_name, filter_name, grad, geometry]  # the geometry has the sizes
    outputs = [image_step.outputs[0], filter_step.outputs[0]]
    return one_step([first, second], outputs, convolution.both_gradients, arguments)


def _share_maxima(steps: list[Step]) -> None:
    """Find where the maxima of a pool stand once, not again for its gradient."""
    pools: dict[tuple[Any, Any], Step] = {}
    for step in steps:
        if step.function is pool_kernels.max_pool:
            image, geometry = step.arguments
            if isinstance(image, Name):
                pools[image, geometry] = step
        elif step.function is pool_kernels.max_pool_grad:
            image, grad, geometry = step.arguments
            pool = pools.get((image, geometry))
            if pool is None or pool.guard not in ((), step.guard):
                continue
            places = Name(f"{pool.outputs[0]}_places")
            if len(pool.outputs) == 1:
                pool.function = pool_kernels.max_pool_with_places
                pool.outputs.append(places)
            step.function = pool_kernels.max_pool_grad_at
            step.arguments = [image, grad, places, geometry]
            step.inputs.append(places)
