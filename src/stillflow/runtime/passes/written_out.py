"""Fuse functions that training programs write out, together with their gradients.

    0.5 * x * (1 + tanh(...)), and its gradient         two calls
    batch_normalization(x, *moments(x, [-1])), and its  two calls

`ops/nn/written_out.py` has the patterns. Where any other value of them is taken, or a variable
changes meanwhile, the steps stay.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from typing import Any

from stillflow.ops.nn.written_out import SUM, WRITTEN_OUT, Part, WrittenOut
from stillflow.ops.patterns import Bound, Matcher, Term
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Name, Step, fuse, is_call, is_plain


def fuse_written_out(graph: StepGraph) -> None:
    """Replace the steps of each function by one, and those of its gradient by another."""
    matcher = _Matcher(graph)
    for kind in WRITTEN_OUT:
        for step in graph.calls(tuple(kind.root.kinds.split())):
            found = next(matcher.whole(kind, step), None)
            if found is not None:
                _replace(graph, matcher, kind, found)


class _Matcher(Matcher):
    def __init__(self, graph: StepGraph) -> None:
        super().__init__(graph.producer, graph.constants)
        self.graph = graph

    def is_free(self, step: Step) -> bool:
        return is_plain(step) and not step.guard

    def whole(self, kind: WrittenOut, step: Step) -> Iterator[Bound]:
        """Yield the ways in which a step is the root of a function with its gradient."""
        for bound in self.match(kind.root, step.outputs[0], {}):
            found: Bound | None = bound
            for pattern, anchor in kind.others:
                if found is None:
                    break
                names = [name for user in self.graph.consumers(found[anchor])
                         for name in user.outputs[:1]]  # fmt: skip
                ways = (way for name in names for way in self.match(pattern, name, found))
                found = next(ways, None)
            if found is not None and self._fits(kind, found):
                yield found

    def _fits(self, kind: WrittenOut, bound: Bound) -> bool:
        """Return True if types and sizes are those of the calls."""
        step = self.graph.producer(bound[kind.backward.outputs[0]])
        assert step is not None and step.op is not None
        dims = self.graph.dims(step.op.outputs[0])
        if step.op.outputs[0].dtype.name != "float32" or dims is None or None in dims:
            return False
        numbers = (self.number(bound[name]) for name in kind.forward.numbers)
        if None in numbers:
            return False
        if not kind.width:
            return True
        rank = len(dims)
        vector = [self._dims_of(bound, name) for name in ("scale", "offset")]
        return (
            rank > 1 and vector == [dims[-1:]] * 2
            and bound["last"] == [rank - 1] and bound["others"] == list(range(rank - 1))
            and bound["column"] == (*dims[:-1], 1) and bound["whole"] == tuple(dims)
            and {self.number(bound[name]) for name in ("width", "width too")} == {dims[-1]}
        )  # fmt: skip

    def _dims_of(self, bound: Bound, name: str) -> Any:
        """Return the shape of a value that some step of the pattern takes."""
        for user in self.graph.consumers(bound[name]):
            if user.op is not None and bound[name] in user.arguments:
                tensor = user.op._inputs[user.arguments.index(bound[name])]
                return self.graph.dims(tensor)
        return None


def _replace(graph: StepGraph, matcher: Matcher, kind: WrittenOut, bound: Bound) -> None:
    inner = _terms(kind.forward.outputs[0])
    forward = _steps(graph, [bound[key] for key in bound if key in inner])
    keys = [key for key in bound if isinstance(key, Term) and key not in inner]
    backward = _steps(graph, [bound[key] for key in keys])
    results = [bound[key] for key in kind.backward.outputs]
    total, parts = None, [bound[key] for key in kind.summands]
    if parts:
        users = [user for part in parts for user in graph.consumers(part)]
        total = users[0]
        if not is_call(total, SUM) or total.guard or {*map(id, users)} != {id(total)}:
            return
        left = [each for each in total.arguments if each not in parts]
        if not left:
            results[0] = total.outputs[0]
            backward.append(total)
    shown = {*(bound[key] for key in kind.forward.outputs), *results, *parts}
    end, at = forward[-1], next(step for step in backward if bound["dy"] in step.arguments)
    if not _are_alone(graph, [*forward, *backward], shown) or graph.place(end) > graph.place(at):
        return
    if graph.writers(forward[0], end) or graph.writers(at, backward[-1]):
        return  # a variable that they take may change meanwhile
    if total is not None and left:
        arguments = [Name(parts[0]), *left]
        graph.change(total, arguments=arguments, inputs=[str(each) for each in arguments])
    numbers = {name: matcher.number(bound[name]) for name in kind.forward.numbers}
    given = [bound[key] for key in kind.forward.outputs]
    _put(graph, forward, end, kind.forward, bound, given, numbers)
    _put(graph, backward, at, kind.backward, bound, results, {})


def _put(
    graph: StepGraph, parts: list[Step], at: Step, part: Part, bound: Bound, outputs: list[str],
    numbers: dict[str, Any],
) -> None:  # fmt: skip
    kernel = partial(part.kernel, **numbers) if numbers else part.kernel
    arguments = [Name(bound[key]) for key in part.inputs]
    graph.replace(parts, fuse(parts, outputs, kernel, arguments), at=at)


def _terms(pattern: Term) -> set[Term]:
    """Return a term and those inside it."""
    inner = (_terms(each) for each in pattern.arguments if isinstance(each, Term))
    return {pattern}.union(*inner)


def _steps(graph: StepGraph, names: Iterable[str]) -> list[Step]:
    """Return the producers of values, in order."""
    found = {id(step): step for name in names if (step := graph.producer(name)) is not None}
    return sorted(found.values(), key=graph.place)


def _are_alone(graph: StepGraph, parts: list[Step], shown: Collection[str]) -> bool:
    """Return True if other steps, and the plan's results, take none but the values shown."""
    inside = Counter(name for step in parts for name in step.inputs)
    made = (name for step in parts for name in step.outputs if name not in shown)
    return all(graph.uses(name) == inside[name] for name in made)
