"""Recurrent networks in loops: `tf.nn.dynamic_rnn` and its gradient, without iterations.

The body of such a loop reads elements, computes cells, whose state goes into the next iteration,
sums up gradients of weights, and pushes or writes results. A known cell runs as one step over all
iterations (`ops/recurrent/cell_patterns.py` has the patterns), a sum becomes one product, and all
that needs no other iteration is computed for all at once. Stacks and arrays hold what the
iterations would have left, so that other loops and fetches find it there. Loops with anything else
run as usual.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, permutations, product
from typing import TYPE_CHECKING, Any

import torch

from stillflow.ops.patterns import Bound, Matcher, Term, added
from stillflow.ops.recurrent import cell_patterns
from stillflow.ops.recurrent.cell_patterns import Cell, CellGradient, chosen
from stillflow.runtime.ir.steps import Name, Step, taken_by
from stillflow.runtime.loops.vectorization import Batch, Turning, turn_function

if TYPE_CHECKING:
    from stillflow.runtime.loops.code import LoopCode, Shapes

_Known = dict[str, Any]
_OTHERS = ("given", "given too")  # gradients that are added to that of the state


class _Unit:
    """A part of the body that runs as one step over all iterations.

    Args:
      run: adds values of all iterations to those known; returns the last values of the states.
      states: names of the loop variables that are its own.
      needs, makes: names of values of all iterations.
    """

    def __init__(
        self, run: Callable[[_Known, Mapping[str, Any]], _Known], states: Collection[str],
        needs: set[str], makes: set[str],
    ) -> None:  # fmt: skip
        self.run, self.states, self.needs, self.makes = run, states, needs, makes


class Recurrence(Batch):
    """All iterations of a loop whose variables are states of known cells, sums and counters.

    Raises:
      Turning: if there are others.
    """

    least = 2

    def _prepare(self, code: LoopCode, pure: list[Step], shapes: Shapes) -> None:
        if not self.states or code.tracer.moves is not None:
            raise Turning
        self.most = 1 << 31
        body = LoopBody(self, code, pure, shapes)
        self.counted = body.counted
        units = [*body.cells(), *body.gradients(), *body.sums()]
        if sorted(name for unit in units for name in unit.states) != sorted(self.states):
            raise Turning
        self.stages = list(body.stages(units))
        self.given = [str(name) for name in code.results]
        self.starts = {
            code.tracer.current[v]: self.constants[name] for v, name in code.constants.items()
        }

    def _compute(self, known: dict[str, Any]) -> None:
        known.update((name, self.starts[name]) for name in self.states if name in self.starts)
        try:
            for stage in self.stages:
                last = stage(known, self.constants) or {}
                known.update((_after(name), value) for name, value in last.items())
        except Exception as error:  # the loop itself raises the better error
            self.failed = True
            raise Turning from error

    def _results(self, results: tuple[Any, ...], known: dict[str, Any]) -> tuple[Any, ...]:
        pairs = zip(self.given, results, strict=True)
        return tuple(known.get(_after(name), value) for name, value in pairs)


class LoopBody(Matcher):
    """The computation of an iteration, with the patterns that are found in it."""

    def __init__(self, batch: Recurrence, code: LoopCode, pure: list[Step], shapes: Shapes) -> None:
        self.makers = {name: step for step in pure for name in step.outputs}
        super().__init__(self.makers.get, batch.constants, batch._origin)
        self.shapes = shapes
        self.memory, self.pure = code.tracer.memory, pure
        self.next = {
            name: str(self.origin(Name(value.name)))
            for name, variable in batch.states.items()
            if (value := code.next[variable]) is not None
        }
        given = [step.arguments[1] for step in batch.pushes]
        given += [step.arguments[2] for step in batch.writes]
        self.given = [str(self.origin(name)) for name in given]
        indices = [str(step.arguments[1]) for step in (*batch.reads, *batch.writes)]
        self.uses = Counter([*self.given, *indices, *map(str, code.results)])
        self.uses.update(name for step in pure for name in taken_by(step))
        self.uses.subtract(name for name in map(str, code.results) if name in self.next)
        counted = {
            name for part in ("test", "body") for step in code.parts[part] if step.kind == "number"
            for name in step.outputs
        }  # fmt: skip
        counted.update(name for name in code.tracer.current.values() if name not in self.next)
        self.counted: list[str] = sorted(name for name in counted if self.uses[name] > 0)
        rows = {name for step in (*batch.reads, *batch.pops) for name in step.outputs}
        self.varied = rows.union(self.counted)
        self.steady = {*code.tracer.parameters, *self.constants}
        self.claimed: set[int] = set()

    # ---- patterns

    def is_free(self, step: Step) -> bool:
        """Return True for steps that no pattern has taken."""
        return id(step) not in self.claimed

    def _claim(self, bound: Bound, shown: Iterable[Any], states: Iterable[str]) -> set[str] | None:
        """Take the steps of a pattern; return the names that others take.

        None if others take more than what is shown.
        """
        steps = {
            id(step): step
            for key, name in bound.items()
            if isinstance(key, Term) and (step := self.makers[name])
        }
        inside = Counter(name for step in steps.values() for name in taken_by(step))
        made = {name for step in steps.values() for name in step.outputs}.union(states)
        outside = {name for name in made if self.uses[name] > inside[name]}
        if not outside <= {bound[key] for key in shown if key in bound}:
            return None
        self.claimed.update(steps)
        return outside

    def _is_zero(self, value: Any) -> bool:
        known = self.constants.get(value)
        if known is None:
            step = self.makers.get(value)
            return step is not None and step.function in (torch.zeros, torch.zeros_like)
        return isinstance(known, torch.Tensor) and not bool(known.any())

    # ---- cells

    def cells(self, kinds: Sequence[type[Cell]] = cell_patterns.CELLS) -> Iterator[_Unit]:
        """Yield the cells."""
        for kind, step in product(kinds, self.pure):
            for bound in self.match(kind.output, step.outputs[-1], {}):
                found = next(self._with_state(kind, bound), None)
                if found is None or not self._fits(found):
                    continue
                states = ["state"] if "state" in found else kind.states
                names = [found[key] for key in states]
                outside = self._claim(found, kind.shown, names)
                if outside is not None:
                    cell = kind(found, outside)
                    needs = {found[key] for key in ("x", "mask") if key in found}
                    yield _Unit(cell.run, names, needs, {found[key] for key in cell.wanted})
                    break

    def _with_state(self, kind: type[Cell], bound: Bound) -> Iterator[Bound]:
        """Yield the ways in which the cell's results become its state."""
        states = [bound[key] for key in kind.states]
        if all(state in self.next for state in states):
            yield from self.match_all(kind.new, self._after(states), bound)
            kept = [chosen("mask", _same(s), new) for s, new in zip(states, kind.new, strict=True)]
            yield from self.match_all(kept, self._after(states), bound)
            return
        for found in self.match_all(kind.parts_of_state, states, bound):
            state = found.get("state")  # None without such parts
            if state in self.next:
                yield from self.match(kind.state, self.next[state], found)
                kept_state = chosen("mask", _same(state), kind.state)
                yield from self.match(kept_state, self.next[state], found)

    def _after(self, states: Iterable[str]) -> list[str]:
        return [self.next[state] for state in states]

    def _fits(self, bound: Bound) -> bool:
        """Return True if the operands are those of a cell."""
        dims, kind = self.shapes.get(bound["x"], (None, None))
        return (
            self._are_fixed(bound)
            and dims is not None and len(dims) == 2
            and kind is not None and kind.is_floating and kind.size >= 4
        )  # fmt: skip

    def _are_fixed(self, bound: Bound) -> bool:
        """Return True if weights, axes and numbers are what their names say."""
        axes = map(self.constants.get, _named(bound, "axis").values())
        numbers = map(self.constants.get, _named(bound, "number").values())
        return (
            self.steady.issuperset(_named(bound, "weights", "bias", "vector").values())
            and all(axis is not None and int(axis) in (1, -1) for axis in axes)
            and all(number is not None and number.numel() == 1 for number in numbers)
        )

    # ---- gradients

    def gradients(self) -> Iterator[_Unit]:
        """Yield the gradients of cells."""
        for kind, step in product(cell_patterns.GRADIENTS, self.pure):
            for bound in self.match(kind.gates, step.outputs[0], {}):
                found = next(self._with_gradients(kind, bound), None)
                unit = None if found is None else self._gradient(kind, found)
                if unit is not None:
                    yield unit
                    break

    def _with_gradients(self, kind: type[CellGradient], bound: Bound) -> Iterator[Bound]:
        """Yield the ways in which the gradients of a step follow from those of the one after it."""
        zero: Any = self._is_zero
        for states in permutations(self.next, len(kind.states)):
            carried: list[Any] = [_same(state) for state in states]
            kept = [
                (*terms, chosen("mask", same, zero))
                for terms, same in zip(kind.before, carried, strict=True)
            ]
            ended = [chosen("mask", zero, same) for same in carried]
            values = [*self._after(states), *(bound[key] for key in kind.of)]
            found = {**bound, **dict(zip(kind.states, states, strict=True))}
            masked = chosen("mask", zero, "given")
            for before, after, more in (
                (kept, ended, (masked,)),
                *(
                    (*each, _OTHERS[:count])
                    for each in ((kind.before, carried), (kept, ended)) for count in range(3)
                ),
            ):  # fmt: skip
                terms = [*(added(*each) for each in before), *after[:-1], added(after[-1], *more)]
                extra = {"masked": ""} if masked in more else {}
                yield from self.match_all(terms, values, {**found, **extra})

    def _gradient(self, kind: type[CellGradient], bound: Bound) -> _Unit | None:
        depth = bound["h part"][1].start
        for (_, of_x), step in product(kind.results, self.pure):
            for found in self.match(of_x, step.outputs[0], bound):
                if found[of_x.arguments[1]][1] == slice(0, depth):
                    bound = found
        weights = _named(bound, "weights").values()
        known = [self.shapes.get(name, (None, None))[0] or (None,) for name in weights]
        parts = _named(bound, "h part").values()
        fits = all(part[1] == slice(depth, dims[0]) for part in parts for dims in known)
        fits = fits and self._are_fixed(bound)
        states = [bound[key] for key in kind.states]
        outside = self._claim(bound, chain(*kind.results, kind.pieces), states) if fits else None
        if outside is None:
            return None
        cell = kind(bound, depth, outside)
        needs = {bound[key] for key in (*kind.parts, *_OTHERS, "mask") if key in bound}
        return _Unit(cell.run, states, needs, outside)

    # ---- sums

    def sums(self) -> Iterator[_Unit]:
        """Yield the sums of gradients of biases and weights."""
        for state, following in self.next.items():
            for term in (
                cell_patterns.ROW_SUM,
                cell_patterns.MATRIX_SUM,
                cell_patterns.PRODUCT_SUM,
            ):
                total = added(_same(state), term)
                for bound in self.match(total, following, {}):
                    rows = self.shapes.get(bound.get("rows", ""), (None, None))[0]
                    if term is cell_patterns.MATRIX_SUM and (rows is None or len(rows) != 2):
                        continue
                    if self._claim(bound, (), [state]) is not None:
                        needs = {bound[key] for key in ("left", "right", "rows") if key in bound}
                        yield _Unit(partial(_add_up, state, bound), [state], needs, set())
                        break

    # ---- the order

    def stages(self, units: Sequence[_Unit]) -> Iterator[Callable[..., Any]]:
        """Yield functions that compute everything, in order.

        Raises:
          Turning: if there is no order.
        """
        left = list(units)
        rest = [step for step in self.pure if id(step) not in self.claimed]
        while left or rest:
            ready = _ready(rest, self.steady) or _ready(rest, self.steady | self.varied)
            unit = next((unit for unit in left if unit.needs <= self.varied), None)
            if ready:
                rest = [step for step in rest if step not in ready]
                yield self._computation(ready)
            elif unit is not None:
                left.remove(unit)
                self.varied |= unit.makes
                yield unit.run
            else:
                raise Turning
        if not self.varied.issuperset(self.given):
            raise Turning

    def _computation(self, steps: list[Step]) -> Callable[..., Any]:
        """Return a stage that runs steps for all iterations at once."""
        inputs = sorted({name for step in steps for name in taken_by(step)} - self.constants.keys())
        outputs = [name for step in steps for name in step.outputs]
        inputs = [name for name in inputs if name not in outputs]
        varies = [name in self.varied for name in inputs]
        run = turn_function(self.constants, self.memory, steps, inputs, outputs)
        if any(varies):
            self.varied.update(outputs)
            run = torch.vmap(run, tuple(0 if each else None for each in varies))
        else:
            self.steady.update(outputs)

        def stage(known: _Known, constants: Mapping[str, Any]) -> None:
            del constants
            given = [
                cell_patterns.as_tensor(known[name]) if each else known[name]
                for name, each in zip(inputs, varies, strict=True)
            ]
            known.update(zip(outputs, run(*given), strict=True))

        return stage


def _after(state: str) -> str:
    """Return the name of a state's value after the loop."""
    return f"{state} after"


def _named(bound: Bound, *beginnings: str) -> dict[str, Any]:
    """Return the names in a pattern that begin so, with what they stand for."""
    return {k: v for k, v in bound.items() if isinstance(k, str) and k.startswith(beginnings)}


def _same(name: str) -> Callable[[Any], bool]:
    return lambda value: bool(value == name)


def _ready(steps: Sequence[Step], known: set[str]) -> list[Step]:
    """Return the steps whose inputs are known, or results of each other."""
    made: set[str] = set()
    ready = []
    for step in steps:
        if (known | made).issuperset(taken_by(step)):
            ready.append(step)
            made.update(step.outputs)
    return ready


def _add_up(
    state: str, bound: Bound, known: _Known, constants: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the sum of all iterations' products, or rows, and of the value before the loop."""
    total = known[state]
    if "rows" in bound:
        return {state: total + cell_patterns.sum_of_rows(known[bound["rows"]])}
    left, right = known[bound["left"]], known[bound["right"]]
    return {state: cell_patterns.sum_of_products(left, right, total)}
