"""Resize images of integers as they are, and convert only what is left of them.

A decoder gives bytes, and a program makes floats of all of them before it resizes the image. The
kernels convert by themselves, and to a smaller image only the rows that it needs.
"""

from __future__ import annotations

from stillflow.graph import dtypes
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Name, Step

_RESIZES = ("ResizeArea", "ResizeBicubic", "ResizeBilinear")
# All of their values are float32 numbers.
_EXACT = frozenset((dtypes.uint8, dtypes.int8, dtypes.uint16, dtypes.int16))


def resize_integers(graph: StepGraph) -> None:
    """Remove the Cast of an image to float32 that only a resizing step takes."""
    for step in graph.running(_RESIZES):
        path = _path(graph, step)
        if path and _is_exact(path[-1]):
            *views, cast = path
            _bypass(graph, views[-1] if views else step, cast)
            _share(graph, [view.outputs[0] for view in views], cast.inputs[0])


def _path(graph: StepGraph, step: Step) -> list[Step]:
    """Return the steps with no other consumer by which an image came, back to a non-view."""
    found: list[Step] = []
    while True:
        name = step.arguments[0] if step.arguments else None  # none where it is bound to fail
        made = graph.producer(name) if isinstance(name, Name) and graph.uses(name) == 1 else None
        if made is None or made.kind != "call" or made.op is None or made.guard != step.guard:
            return []
        found.append(made)
        if not made.op.card.view or made.op.type == "Cast":
            return found
        step = made


def _is_exact(step: Step) -> bool:
    assert step.op is not None
    if step.op.type != "Cast":
        return False
    source, target = step.op._inputs[0].dtype, step.op._outputs[0].dtype
    return source.base_dtype in _EXACT and target == dtypes.float32


def _bypass(graph: StepGraph, step: Step, cast: Step) -> None:
    """Have a step take what was converted for it."""
    made, source = cast.outputs[0], cast.inputs[0]
    arguments = [Name(source) if a == made else a for a in step.arguments]
    inputs = [source if name == made else name for name in step.inputs]
    graph.change(step, arguments=arguments, inputs=inputs)
    graph.remove(cast)


def _share(graph: StepGraph, views: list[str], source: str) -> None:
    """Note that views now share the memory of the integers."""
    values = list(graph.values.values())
    roots = frozenset[int]().union(*(value.roots for value in values if value.name == source))
    for value in values:
        if value.name in views:
            value.roots = roots
