"""Loops whose turns do not need each other, run all at once: `tf.map_fn` and its gradient.

Such a loop counts, reads elements from TensorArrays and stacks, computes with these alone, and
writes the results into others. The computations of a thousand iterations on small tensors are a
call or two for each operation then, by `torch.vmap`. Nothing is removed before all is computed:
where elements are missing, differ in shape, or an operation does not batch after all, the loop runs
as usual.
"""

from __future__ import annotations

import contextlib
import copy
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from stillflow.ops.control_flow.stacks import StackStore
from stillflow.ops.tensor_array.store import ArrayStore
from stillflow.runtime.ir.steps import Memory, Name, Step, Value, taken_by
from stillflow.runtime.loops.accumulators import SUMS
from stillflow.runtime.loops.wiring import LoopVariable
from stillflow.runtime.plan.emit import Emitter

if TYPE_CHECKING:
    from stillflow.runtime.loops.code import LoopCode, Shapes

# Fewer iterations are not worth it, and the results of all iterations together must fit into so
# many bytes.
LEAST_TURNS, MOST_BYTES = 32, 64 << 20

_CONTAINERS = ("tensor array", "stack")


class Turning(Exception):
    """Error: the iterations must run one by one."""


class Batch:
    """All turns of a loop at once.

    Args:
      code: the loop, with its counters as numbers.
      shapes: (dims, dtype) of values by name.

    Raises:
      Turning: if iterations may depend on each other.
    """

    least = LEAST_TURNS

    def __init__(self, code: LoopCode, shapes: Shapes) -> None:
        self.constants = code.tracer.constants
        self.states: dict[str, LoopVariable] = {}  # values that iterations need of the one before
        self.same: dict[str, str] = {}  # flows and pushed values -> their sources
        self.reads: list[Step] = []
        self.grads: list[Step] = []
        self.pops: list[Step] = []
        self.pushes: list[Step] = []
        self.writes: list[Step] = []
        self.failed = False
        pure = self._sort(code)
        self._prepare(code, pure, shapes)
        self._count = self._counting(code)

    # ---- when the plan is made

    def _prepare(self, code: LoopCode, pure: list[Step], shapes: Shapes) -> None:
        """Compile the computation."""
        if self.states:
            raise Turning
        self.inputs, self.outputs = self._borders(code, pure)
        self.most = _most_turns(pure, shapes)
        if self.most < LEAST_TURNS or not self.outputs:  # a loop that only counts, say
            raise Turning
        self._batched = turn_function(
            code.tracer.constants, code.tracer.memory, pure, self.inputs, self.outputs
        )

    def _sort(self, code: LoopCode) -> list[Step]:
        """Sort the steps by kind; return those that compute."""
        if code.predicate is None or code.tracer.failed:
            raise Turning
        for part in ("test", "end"):
            if any(step.kind != "number" for step in code.parts[part]):
                raise Turning
        if any(step.kind == "read" for step in code.parts["once"]):
            raise Turning
        pure = [copy.copy(s) for p in ("before", "once") for s in code.parts[p] if self.computes(s)]
        kinds = {
            "read": self.reads, "write": self.writes, "gradient": self.grads,
            "pop": self.pops, "push": self.pushes,
        }  # fmt: skip
        flows: set[str] = set()
        for step in code.parts["body"]:
            if step.kind == "number" and not step.guard:
                continue
            if step.kind != "call" or step.op is None or step.guard:
                raise Turning
            card = step.op.card
            found = kinds.get(card.access or "", pure) if card.handle in _CONTAINERS else pure
            if found is pure and not self._adds_flow(step, flows) and not self.computes(step):
                raise Turning
            if found is not pure or step.outputs[0] not in self.same:
                found.append(copy.copy(step))
            if found is self.writes:
                self.same[step.outputs[0]] = str(step.arguments[3])
                flows.add(step.outputs[0])
            elif found is self.pushes:
                self.same[step.outputs[0]] = str(step.arguments[1])
        for step in pure:
            step.arguments = [self._origin(a) for a in step.arguments]
        self._check_carried(code)
        return pure

    def _adds_flow(self, step: Step, flows: set[str]) -> bool:
        """Return True if a step adds an array's flow, which has no value and only orders writes."""
        assert step.op is not None
        if step.op.type not in SUMS or len(step.arguments) != 2:
            return False
        first, second = step.arguments
        if second in flows or first in flows:
            self.same[step.outputs[0]] = str(first if second in flows else second)
            flows.update(step.outputs if first in flows and second in flows else ())
            return True
        return False

    def _origin(self, argument: Any) -> Any:
        while isinstance(argument, Name) and argument in self.same:
            argument = Name(self.same[argument])
        return argument

    def _check_carried(self, code: LoopCode) -> None:
        """Find the loop variables that are neither counters nor flows, which do not change."""
        counts = [s for part in code.parts.values() for s in part if s.kind == "number"]
        numbers = {name for step in counts for name in step.outputs}
        known = numbers.union(code.tracer.current.values(), code.tracer.parameters, self.constants)
        if any(step.guard or not known.issuperset(step.inputs) for step in counts):
            raise Turning
        for variable, value in code.next.items():
            name = code.tracer.current[variable]
            if value is None:
                raise Turning
            later = self._origin(Name(value.name))
            if value.name not in numbers and variable not in code.carried and later != name:
                self.states[name] = variable

    def _borders(self, code: LoopCode, pure: Sequence[Step]) -> tuple[list[str], list[str]]:
        """Return the inputs of the computation, apart from constants, and its outputs."""
        made = {name for step in pure for name in step.outputs}
        taken = {name for step in pure for name in taken_by(step)} - made
        inputs = sorted(name for name in taken if name not in self.constants)
        rows = {name for step in (*self.reads, *self.pops) for name in step.outputs}
        self.rows = [name for name in inputs if name in rows]
        counted = {
            name for part in ("test", "body") for s in code.parts[part] if s.kind == "number"
            for name in s.outputs
        }  # fmt: skip
        counted |= {code.tracer.current[v] for v in code.variables}
        wanted = {str(step.arguments[1]) for step in (*self.reads, *self.writes)}
        given = [self._origin(step.arguments[1]) for step in self.pushes]
        given += [self._origin(step.arguments[2]) for step in self.writes]
        wanted.update(str(name) for name in given)
        self.counted = sorted(counted & (wanted | set(inputs)))
        steady = set(code.tracer.parameters)
        if not set(inputs) <= rows | steady | set(self.counted):
            raise Turning
        outputs = sorted({str(name) for name in given if name in made})
        if not set(map(str, given)) <= made | rows | set(self.counted):
            raise Turning
        if not {str(s.arguments[1]) for s in (*self.reads, *self.writes)} <= rows | counted:
            raise Turning
        return inputs, outputs

    def _counting(self, code: LoopCode) -> Callable[..., Any]:
        """Return the loop's integer part: a function to all iterations' counters, and results."""
        from stillflow.runtime.loops.code import LoopEmitter

        counting = copy.copy(code)
        counting.owned = set()
        counting.parts = {
            part: [step for step in steps if step.kind == "number"]
            for part, steps in code.parts.items()
        }
        counters = f"turns.append(({', '.join([*self.counted, ''])}))"
        counting.parts["before"].insert(
            0, Step("number", None, ["turns"], [], (), arguments=["[]"])
        )
        counting.parts["body"].append(
            Step("number", None, ["_"], [*self.counted, "turns"], (), arguments=[counters])
        )
        counting.next = {v: self._counted(code, v) for v in code.variables}
        counting.results = ["turns", *code.results]
        starts = [code.tracer.current[v] for v in code.variables if v not in code.constants]
        self.names = [*code.tracer.parameters, *starts]
        return LoopEmitter(counting).loop_function()

    def _counted(self, code: LoopCode, variable: LoopVariable) -> Value | None:
        value, name = code.next[variable], code.tracer.current[variable]
        assert value is not None
        stays = name in self.states or self._origin(Name(value.name)) == name
        return Value(name) if stays else value

    def computes(self, step: Step) -> bool:
        return step.kind == "call" and step.op is not None and step.op.card.batching == "vmap"

    # ---- when it runs

    def run(self, *values: Any) -> Any:
        """Return the results of the loop's function for the same arguments.

        Raises:
          Turning: if iterations must run one by one; there are no effects then.
        """
        found = self._count(*values)
        turns, results = (found[0], found[1:]) if isinstance(found, tuple) else (found, ())
        if not self.least <= len(turns) <= self.most:
            raise Turning
        known = dict(zip(self.names, values, strict=False))
        known.update(zip(self.counted, zip(*turns, strict=True), strict=True))
        for step in self.grads:
            handle, flow = step.arguments
            assert step.function is not None
            made = step.function(self._value(handle, known), self._value(flow, known))
            known.update(zip(step.outputs, made, strict=True))
        taken = self._look(known, len(turns))
        self._compute(known)
        for store, places in taken:
            if isinstance(store, StackStore):
                del store.pushed[-places:]
            else:
                store.read_many(places)
        self._put(known)
        results = self._results(results, known)
        return results if len(results) > 1 else results[0] if results else None

    def _results(self, results: tuple[Any, ...], known: dict[str, Any]) -> tuple[Any, ...]:
        """Return the values that leave the loop; `results` are those of counters and flows."""
        del known
        return results

    def _value(self, name: Any, known: dict[str, Any]) -> Any:
        found = known.get(name)
        return self.constants.get(name) if found is None else found

    def _look(self, known: dict[str, Any], count: int) -> list[tuple[Any, Any]]:
        """Return the elements that the iterations read, without reading them."""
        used = [self._value(s.arguments[0], known) for s in (*self.pushes, *self.writes)]
        taken: list[tuple[Any, Any]] = []
        for step in self.pops:
            stack = self._value(step.arguments[0], known)
            if stack.closed or len(stack.pushed) < count:
                raise Turning
            known[step.outputs[0]] = stack.pushed[: -count - 1 : -1]
            taken.append((stack, count))
        for step in self.reads:
            store = self._value(step.arguments[0], known)
            places = [int(place) for place in known[step.arguments[1]]]
            assert step.op is not None
            dtype = step.op.attrs["dtype"]
            found = store.peek(places, dtype) if type(store) is ArrayStore else None
            if found is None:
                raise Turning
            known[step.outputs[0]] = found
            taken.append((store, places))
        stores = [*used, *(store for store, _ in taken)]
        if len({id(store) for store in stores}) != len(stores):
            raise Turning  # one iteration may read an element that another writes
        return taken

    def _compute(self, known: dict[str, Any]) -> None:
        varied = [name in self.rows or name in self.counted for name in self.inputs]
        try:
            arguments = [
                torch.stack(list(known[name])) if varies else self._value(name, known)
                for name, varies in zip(self.inputs, varied, strict=True)
            ]
            axes = tuple(0 if varies else None for varies in varied)
            made = torch.vmap(self._batched, axes)(*arguments)
        except Exception as error:  # the loop itself raises the better error
            self.failed = True
            raise Turning from error
        known.update(zip(self.outputs, (value.unbind() for value in made), strict=True))

    def _put(self, known: dict[str, Any]) -> None:
        for step in self.pushes:
            push = self._value(step.arguments[0], known).push
            for value in known[self._origin(step.arguments[1])]:
                push(value)
        for step in self.writes:
            store = self._value(step.arguments[0], known)
            values = known[self._origin(step.arguments[2])]
            assert step.op is not None
            store.check(step.op.attrs["T"], "is trying to write dtype")
            store.write_many([int(place) for place in known[step.arguments[1]]], values)


def _most_turns(steps: Sequence[Step], shapes: Shapes) -> int:
    """Return the maximum number of iterations to compute at once."""
    size = 1
    for step in steps:
        for name in step.outputs:
            dims, dtype = shapes.get(name, (None, None))
            if dims is None or None in dims or dtype is None:
                raise Turning
            size += math.prod(dims) * dtype.size
    return MOST_BYTES // size


def turn_function(
    constants: dict[str, Any], memory: Memory, steps: list[Step], inputs: Sequence[str],
    outputs: Sequence[str],
) -> Callable[..., Any]:  # fmt: skip
    """Return one iteration's computation: a function from `inputs` to the tuple of `outputs`."""
    writer = Emitter(steps, constants, memory)
    writer.lines.append(f"def turn({', '.join(inputs)}):")
    for step in steps:
        writer.step(step)
    writer.line((), f"return {', '.join([*outputs, ''])}" if outputs else "return ()")
    return writer.build("turn")


def batch_of(code: LoopCode, shapes: Shapes) -> Batch | None:
    """All turns of a loop at once, or None if they may need each other."""
    from stillflow.runtime.loops.recurrences import Recurrence

    for kind in (Batch, Recurrence):
        with contextlib.suppress(Turning):
            return kind(code, shapes)
    return None


def at_once(batch: Batch, turning: Callable[..., Any]) -> Callable[..., Any]:
    """Return a loop's function that takes all turns at once where it can."""

    def run(*values: Any) -> Any:
        if not batch.failed:
            try:
                return batch.run(*values)
            except Turning:
                pass
        return turning(*values)

    return run
