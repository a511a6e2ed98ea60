"""Large results written over inputs that nobody needs any more.

Memory traffic is the cost of element-wise steps; a fresh buffer costs page faults on top.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from stillflow.graph.dims import num_elements
from stillflow.ops.in_place import CUTS, DENSE, IN_PLACE, writer
from stillflow.runtime.ir.aliasing import live_ranges
from stillflow.runtime.ir.steps import Memory, Name, Roots, Step

# Below this, allocating is cheaper than asking.
MIN_ELEMENTS = 1 << 13


def reuse(
    steps: list[Step],
    shapes: dict[str, tuple[Any, Any]],
    roots: dict[str, Roots],
    memory: Memory,
    kept: Roots,
) -> None:
    """Make steps write into a first argument at its last use.

    Args:
      steps: changed in place.
      shapes: (dims, dtype) of values by name.
      roots: the memory of values by name.
      memory: what kind each root is.
      kept: roots of fetched values.
    """
    large = {
        number for number, step in enumerate(steps)
        if step.function in IN_PLACE and step.kind == "call" and step.outputs
        and (num_elements(shapes.get(step.outputs[0], (None,))[0]) or 0) >= MIN_ELEMENTS
        and not step.keywords
    }  # fmt: skip
    _Reuse(steps, shapes, roots, memory, kept).write_over(large)


class _Reuse:
    """Memory of a plan's values, while results are written over arguments."""

    def __init__(
        self, steps: list[Step], shapes: dict[str, tuple[Any, Any]], roots: dict[str, Roots],
        memory: Memory, kept: Roots,
    ) -> None:  # fmt: skip
        self._steps, self._shapes, self._roots = steps, shapes, roots
        self._memory, self._kept = memory, kept
        self._parts = self._part()

    def write_over(self, numbers: Collection[int]) -> None:
        """Have the steps of these numbers write over an argument, if one is not needed any more."""
        self._last = live_ranges(self._steps, self._roots)[1] if numbers else {}
        for number in sorted(numbers):
            step = self._steps[number]
            method, swaps = IN_PLACE[step.function]
            for position in (0, 1) if swaps and len(step.arguments) == 2 else (0,):
                if self._may_write(step, position, number):
                    if position:
                        step.arguments.reverse()
                    self._write(step, method)
                    break

    def _write(self, step: Step, method: Any) -> None:
        name, out = step.arguments[0], step.outputs[0]
        is_part = name in self._parts
        step.function = writer(step.function, method, is_part)
        step.overwrites = True
        if is_part:
            self._parts.add(out)
        # From here on the result and the argument are one memory.
        taken, roots = self._roots[name], self._roots
        for root in taken:
            self._last[root] = max(self._last[r] for r in (*taken, *roots[out]))
        roots[out] = taken | roots[out]

    def _may_write(self, step: Step, position: int, number: int) -> bool:
        name = step.arguments[position]
        if not isinstance(name, Name) or self._shapes.get(name) != self._shapes[step.outputs[0]]:
            return False
        held = self._own(name)
        others = [a for i, a in enumerate(step.arguments) if i != position and isinstance(a, Name)]
        if not held or any(self._roots.get(other, frozenset()) & held for other in others):
            return False
        return all(self._last[root] <= number for root in held)

    def _own(self, name: str) -> Roots:
        """Return a value's memory if the plan has made all of it, and returns none; else none."""
        held = self._roots.get(name, frozenset())
        fresh = all(self._memory.kinds[root] == "fresh" for root in held)
        return held if fresh and not held & self._kept else frozenset()

    def _part(self) -> set[str]:
        """Return the parts of tensors that are not used as a whole, as roots of their own.

        The gates of an LSTM are such: each part is used up at another time.

        Returns:
          The names of these parts.
        """
        cuts = [step for step in self._steps if step.function in CUTS and step.kind == "call"]
        parts: set[str] = set()
        if not cuts:
            return parts
        makers: dict[str, Step] = {}
        users: dict[int, set[str]] = {}
        for step in self._steps:
            makers.update(dict.fromkeys(step.outputs, step))
            for name in (*step.inputs, *step.outputs):
                for root in self._roots.get(name, ()):
                    users.setdefault(root, set()).add(name)
        for step in cuts:
            whole = step.arguments[0]
            maker, held = makers.get(whole), self._own(whole)
            if maker is None or maker.function not in DENSE or not held or step.guard:
                continue
            others = {name for root in held for name in users[root]} - {whole, *step.outputs}
            if others or any(whole in each.inputs for each in self._steps if each is not step):
                continue
            for name in step.outputs:
                self._roots[name] = self._memory.fresh()
                parts.add(name)
        return parts
