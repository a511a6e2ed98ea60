"""Large results written over inputs that nobody needs any more.

Memory traffic is the cost of element-wise steps; a fresh buffer costs page faults on top.
"""

from __future__ import annotations

import math
from typing import Any

from stillflow.ops.in_place import CUTS, DENSE, IN_PLACE, writer
from stillflow.runtime.ir.steps import Memory, Name, Step

# Below this, allocating is cheaper than asking.
MIN_ELEMENTS = 1 << 13


def reuse(
    steps: list[Step],
    shapes: dict[str, tuple[Any, Any]],
    roots: dict[str, frozenset[int]],
    memory: Memory,
    kept: frozenset[int],
) -> None:
    """Make steps write into a first argument at its last use.

    Args:
      steps: changed in place.
      shapes: (dims, dtype) of values by name.
      roots: the memory of values by name.
      memory: what kind each root is.
      kept: roots of fetched values.
    """
    parts = _part(steps, roots, memory, kept)
    last: dict[int, int] = {}
    for number, step in enumerate(steps):
        for name in (*step.inputs, *step.outputs):
            for root in roots.get(name, ()):
                last[root] = number
    for number, step in enumerate(steps):
        entry = IN_PLACE.get(step.function)
        if entry is None or step.kind != "call" or step.keywords or not step.outputs:
            continue
        method, swaps = entry
        for position in (0, 1) if swaps and len(step.arguments) == 2 else (0,):
            if _may_write(step, position, number, shapes, roots, memory, kept, last):
                if position:
                    step.arguments.reverse()
                is_part = step.arguments[0] in parts
                step.function = writer(step.function, method, is_part)
                step.overwrites = True
                out = step.outputs[0]
                if is_part:
                    parts.add(out)
                # From here on the result and the argument are one memory.
                taken = roots[step.arguments[0]]
                for root in taken:
                    last[root] = max(last[r] for r in (*taken, *roots[out]))
                roots[out] = taken | roots[out]
                break


def _part(
    steps: list[Step], roots: dict[str, frozenset[int]], memory: Memory, kept: frozenset[int]
) -> set[str]:
    """Return the parts of a tensor that is not used as a whole, as roots of their own.

    The gates of an LSTM are such: each part is used up at another time.

    Returns:
      The names of these parts.
    """
    makers: dict[str, Step] = {}
    users: dict[int, set[str]] = {}
    for step in steps:
        makers.update(dict.fromkeys(step.outputs, step))
        for name in (*step.inputs, *step.outputs):
            for root in roots.get(name, ()):
                users.setdefault(root, set()).add(name)
    parts: set[str] = set()
    for step in steps:
        if step.function not in CUTS or step.kind != "call":
            continue
        whole = step.arguments[0]
        maker, held = makers.get(whole), roots.get(whole, frozenset())
        if maker is None or maker.function not in DENSE or held & kept or step.guard:
            continue
        if not all(memory.kinds[root] == "fresh" for root in held):
            continue
        others = {name for root in held for name in users[root]} - {whole, *step.outputs}
        if others or any(whole in other.inputs for other in steps if other is not step):
            continue
        for name in step.outputs:
            roots[name] = memory.fresh()
            parts.add(name)
    return parts


def _may_write(
    step: Step,
    position: int,
    number: int,
    shapes: dict[str, tuple[Any, Any]],
    roots: dict[str, frozenset[int]],
    memory: Memory,
    kept: frozenset[int],
    last: dict[int, int],
) -> bool:
    name = step.arguments[position]
    if not isinstance(name, Name) or name not in shapes:
        return False
    mine, out = shapes[name], shapes.get(step.outputs[0])
    if mine != out or mine[0] is None or None in mine[0]:
        return False
    if math.prod(mine[0]) < MIN_ELEMENTS:
        return False
    held = roots.get(name, frozenset())
    if not held or held & kept or any(memory.kinds[root] != "fresh" for root in held):
        return False
    others = [a for i, a in enumerate(step.arguments) if i != position and isinstance(a, Name)]
    if any(roots.get(other, frozenset()) & held for other in others):
        return False
    return all(last[root] <= number for root in held)
