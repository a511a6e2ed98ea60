"""Images of integers resized as they are: what is left of them afterwards is what is converted.

A decoder gives bytes, and a program makes floats of all of them before it resizes the image. The
kernels convert by themselves, and to a smaller image only the rows that it needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from stillflow.graph import dtypes
from stillflow.runtime.plan.steps import Name, Step, Value, count_uses

_RESIZES = frozenset(("ResizeArea", "ResizeBicubic", "ResizeBilinear"))
# All of their values are float32 numbers.
_EXACT = frozenset((dtypes.uint8, dtypes.int8, dtypes.uint16, dtypes.int16))


def resize_integers(
    steps: list[Step], values: Iterable[Value], fetched: Sequence[str]
) -> list[Step]:
    """Leaves out the conversion of an image to float32 that only a resizing step takes.

    Args:
      steps: in the order in which they run.
      values: of the plan; they learn whose memory they now share.
      fetched: names of values that the run gives back.
    """
    resizes = [step for step in steps if step.op is not None and step.op.type in _RESIZES]
    if not resizes:
        return steps
    uses = count_uses(steps)
    uses.update(fetched)
    makers = {name: step for step in steps for name in step.outputs}
    needless = []
    for step in resizes:
        path = _path(step, uses, makers)
        if path and _is_exact(path[-1]):
            *views, cast = path
            needless.append(id(cast))
            _replace(views[-1] if views else step, cast)
            _share([view.outputs[0] for view in views], cast.inputs[0], values)
    return [step for step in steps if id(step) not in needless]


def _path(step: Step, uses: Counter[str], makers: dict[str, Step]) -> list[Step]:
    """Return the steps with no other consumer by which an image came, back to a non-view."""
    found: list[Step] = []
    while True:
        name = step.arguments[0] if step.arguments else None  # none where it is bound to fail
        maker = makers.get(name) if isinstance(name, Name) and uses[name] == 1 else None
        if maker is None or maker.kind != "call" or maker.op is None or maker.guard != step.guard:
            return []
        found.append(maker)
        if not maker.op.card.view or maker.op.type == "Cast":
            return found
        step = maker


def _is_exact(step: Step) -> bool:
    assert step.op is not None
    if step.op.type != "Cast":
        return False
    source, target = step.op._inputs[0].dtype, step.op._outputs[0].dtype
    return source.base_dtype in _EXACT and target == dtypes.float32


def _replace(step: Step, cast: Step) -> None:
    """Has a step take what was converted for it."""
    made, source = cast.outputs[0], cast.inputs[0]
    step.arguments = [Name(source) if a == made else a for a in step.arguments]
    step.inputs = [source if name == made else name for name in step.inputs]


def _share(views: Sequence[str], source: str, values: Iterable[Value]) -> None:
    values = list(values)
    roots = frozenset[int]().union(*(value.roots for value in values if value.name == source))
    for value in values:
        if value.name in views:
            value.roots = roots
