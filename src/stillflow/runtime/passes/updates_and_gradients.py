"""Group what is cheaper together: updates of many variables, both gradients of a convolution.

A pool and its gradient share where the maxima are.
"""

from __future__ import annotations

from typing import Any

from stillflow.ops.nn import convolution, pool_kernels
from stillflow.ops.send_recv import CROSSINGS
from stillflow.ops.training.cards import GroupedUpdate
from stillflow.runtime.ir.step_graph import StepGraph, has_write
from stillflow.runtime.ir.steps import Name, Step, fuse


def group_updates(graph: StepGraph) -> None:
    """Replace updates by the same rule with the same scalars by one step.

    They move down to the last one of their kind, but never past a use of a variable.
    """
    if any(isinstance(step.function, GroupedUpdate) for step in graph):
        groups = _Groups(graph)
        for step in graph:
            groups.take(step)
        groups.put(list(groups.waiting), None)


class _Group:
    """Updates that share their scalars and wait to become one step."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.handles: set[str] = set()

    def add(self, step: Step, function: GroupedUpdate) -> None:
        self.steps.append(step)
        self.handles.update(step.inputs[: function.count])

    def fused(self) -> Step:
        first = self.steps[0]
        function = first.function
        assert isinstance(function, GroupedUpdate)
        buffers = [a for step in self.steps for a in step.arguments[: function.count]]
        own = [step.arguments[i] for i in function.own for step in self.steps]
        shared = [first.arguments[i] for i in function.shared]
        arguments = [*buffers, *own, *shared]
        return fuse(self.steps, [], function.joined(len(self.steps)), arguments)


class _Groups:
    """The updates that wait during one walk over the steps of a graph."""

    def __init__(self, graph: StepGraph) -> None:
        self._graph = graph
        self.waiting: dict[Any, _Group] = {}
        # The references of variables whose memory a tensor may be.
        self._shown: dict[str, set[str]] = {}
        # Reads of one variable with no change between them are equal.
        self._same: dict[str, tuple[str, int]] = {}
        self._changes = 0

    def take(self, step: Step) -> None:
        """Add a step to its group, or put the groups before it that it must come after."""
        shown = {name for tensor in step.inputs for name in self._shown.get(tensor, ())}
        if step.kind == "read":
            shown.update(step.inputs)
            self._same[step.outputs[0]] = (step.inputs[0], self._changes)
        if shown and (step.kind != "call" or (step.op is not None and step.op.card.view)):
            self._shown.update(dict.fromkeys(step.outputs, shown))
        if self.waiting:
            used = {*step.inputs, *shown, *(name for name, _ in step.guard or ())}
            self.put([key for key, group in self.waiting.items() if group.handles & used], step)
        function = step.function
        if isinstance(function, GroupedUpdate):
            scalars = tuple(
                self._same.get(n, n) for n in (str(step.arguments[i]) for i in function.shared)
            )
            key = (function.key, function.device, scalars, step.guard)
            self.waiting.setdefault(key, _Group()).add(step, function)
        # A scalar may be the memory of what changes; other tasks see updates before a message.
        elif has_write(step) or (step.op is not None and step.op.type in CROSSINGS):
            self.put(list(self.waiting), step)
            self._changes += 1

    def put(self, keys: list[Any], before: Step | None) -> None:
        """Put groups before a step, or at the end; an update without others stays where it is."""
        for group in [self.waiting.pop(key) for key in keys]:
            if len(group.steps) > 1:
                self._graph.replace(group.steps, group.fused(), at=before)


def pair_gradients(graph: StepGraph) -> None:
    """Replace a convolution's gradients for image and filter by one call."""
    waiting: dict[Any, Step] = {}
    for step in graph.calls((convolution.input_gradient, convolution.filter_gradient)):
        _, grad, _, geometry = step.arguments
        key = (grad, geometry, step.guard)
        other = waiting.get(key)
        if other is None or other.function is step.function:
            waiting[key] = step
            continue
        pair = _both(other, step)
        if all(graph.is_produced_before(name, other) for name in pair.inputs):
            graph.replace([other, step], pair, at=other)
            del waiting[key]


def _both(first: Step, second: Step) -> Step:
    of_image, of_filter = first, second
    if first.function is convolution.filter_gradient:
        of_image, of_filter = second, first
    filter_name, grad, _, geometry = of_image.arguments
    arguments = [of_filter.arguments[0], filter_name, grad, geometry]  # the geometry has the sizes
    outputs = [of_image.outputs[0], of_filter.outputs[0]]
    return fuse([first, second], outputs, convolution.both_gradients, arguments)


def share_maxima(graph: StepGraph) -> None:
    """Have the gradient of a maximum pool take where the maxima stand from the pool."""
    for gradient in graph.calls(pool_kernels.max_pool_grad):
        image, grad, geometry = gradient.arguments
        pool = _pool(graph, gradient, image, geometry)
        if pool is None or pool.guard not in ((), gradient.guard):
            continue
        places = Name(f"{pool.outputs[0]}_places")
        if len(pool.outputs) == 1:
            with_places = [*pool.outputs, places]
            graph.change(pool, function=pool_kernels.max_pool_with_places, outputs=with_places)
        graph.change(
            gradient, function=pool_kernels.max_pool_grad_at,
            arguments=[image, grad, places, geometry], inputs=[*gradient.inputs, places],
        )  # fmt: skip
        graph.matches += 1


def _pool(graph: StepGraph, gradient: Step, image: Any, geometry: Any) -> Step | None:
    """Return the last maximum pool of an image with this geometry before a gradient."""
    kernels = (pool_kernels.max_pool, pool_kernels.max_pool_with_places)
    pools = [step for step in graph.consumers(image) if step.function in kernels]
    for step in reversed(pools):
        if step.arguments[1] == geometry and graph.place(step) < graph.place(gradient):
            return step
    return None
