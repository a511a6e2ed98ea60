"""Loop as Python source: the code before it, of each iteration, and at its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from stillflow.graph.dtypes import DType
from stillflow.graph.operation import Operation
from stillflow.runtime.capture.graph_capture import is_wanted
from stillflow.runtime.capture.regions import Segments
from stillflow.runtime.devices.kinds import is_of_container
from stillflow.runtime.failures import named_error
from stillflow.runtime.interrupts import current_interrupt
from stillflow.runtime.ir.steps import Step, Value, last_uses
from stillflow.runtime.loops.accumulators import add_in_place
from stillflow.runtime.loops.counters import BOXES, GLOBALS, keep_scalars
from stillflow.runtime.loops.frames import Unstructured
from stillflow.runtime.loops.memory import shown_variables
from stillflow.runtime.loops.row_choices import choose_by_bits, zeros_of
from stillflow.runtime.loops.vectorization import Batch, at_once, batch_of
from stillflow.runtime.loops.wiring import LoopVariable
from stillflow.runtime.passes.dead_steps import live_steps
from stillflow.runtime.passes.pipeline import in_loop
from stillflow.runtime.plan.emit import Emitter
from stillflow.runtime.plan.placing import place_in_memory

if TYPE_CHECKING:
    from stillflow.runtime.loops.loop import LoopTracer

# Parts of a loop, in the order in which they run:
#   before  once, what does not change and the condition needs
#   test    in each iteration, what the condition depends on
#   end     when the condition is false
#   once    in the first iteration, what does not change and the body needs
#   body    in each iteration after the condition
PARTS = ("before", "test", "end", "once", "body")

Shapes = dict[str, tuple[Any, DType]]


class LoopCode:
    """The code of one loop.

    Attributes:
      variables: what is not the same in all iterations.
      results: local names of the values that leave, in the order of the frame's Exits.
    """

    def __init__(self, tracer: LoopTracer, variables: Sequence[LoopVariable]) -> None:
        self.tracer = tracer
        self.variables = variables
        self.truth = tracer.truth
        self.predicate = None if self.truth is not None else tracer.predicate_name
        self.constants: dict[LoopVariable, str] = {}  # variables that start as constants
        self.unboxed: dict[str, str] = {}  # variables that are numbers -> their conversion
        self.carried: dict[LoopVariable, str] = {}  # new values that are written out
        self.owned: set[str] = set()  # variables that are written into
        self.batch: Batch | None = None
        self.next = {variable: self._next(variable) for variable in variables}
        leaving = [tracer.values[op._inputs[0]] for op in tracer.loop.frame.exits]
        self.leaving = [value for value in leaving if value.guard is not None]
        self.results = [value.name for value in self.leaving]
        self.parts: dict[str, list[Step]] = {part: [] for part in PARTS}
        self._compiled: Callable[..., Any] | None = None

    def _next(self, variable: LoopVariable) -> Value | None:
        """Return the value with which a variable goes into the next iteration."""
        tracer = self.tracer
        value = tracer.values[variable.back._inputs[0]]
        guard = tracer._op_guards.get(variable.back)
        if value.guard is None or guard is None:
            never = self.truth is not None and not self.truth
            if tracer.failed or never:
                return None
            raise Unstructured(f"{variable.back.name} gets no value")
        time, rest = tracer.when(guard)
        if rest or time is False:
            raise Unstructured(f"{variable.back.name} has a value in some iterations only")
        return value

    def start_with(self, variable: LoopVariable, value: Any) -> None:
        name = self.constants[variable] = self.tracer.name("c")
        self.tracer.constants[name] = value

    @property
    def steps(self) -> list[Step]:
        """Those of all parts, in the order in which the parts run."""
        return [step for part in PARTS for step in self.parts[part]]

    # ---- from steps to parts

    def finish(self) -> None:
        """Sorts the steps into parts and lets the passes over plans improve each."""
        tracer = self.tracer
        carried = [value for value in self.next.values() if value is not None]
        wanted = [value.name for value in (*carried, *self.leaving)]
        if self.predicate is not None:
            wanted.append(self.predicate)
        tracer.invariant -= shown_variables(tracer)
        self._sort(live_steps(tracer.steps, wanted))
        if tracer.facts.exporting:  # others write it, and have passes of their own
            return
        keep_scalars(self)
        shapes = tracer.shapes()
        self.batch = batch_of(self, shapes)
        self.owned = add_in_place(self, shapes)
        segments = None
        if tracer.moves is not None and is_wanted():
            segments = Segments(tracer)
            self.parts["body"] = segments.in_order(self.parts["body"])
        zeros = zeros_of(self.steps)
        for part in PARTS:
            elsewhere = [n for p in PARTS if p != part for s in self.parts[p] for n in s.inputs]
            steps = in_loop(self.parts[part], [*wanted, *self.results, *elsewhere], tracer)
            self.parts[part] = choose_by_bits(steps, shapes, zeros)
        ordered = live_steps(self.steps, [*wanted, *self.results])
        after = [*carried, *self.leaving]
        names = [*wanted, *self.results]
        ordered, _ = place_in_memory(ordered, tracer, after, names, tracer.held)
        self._take_apart(ordered)
        if segments is not None:
            used = {n for p in PARTS if p != "body" for s in self.parts[p] for n in s.inputs}
            again = {*tracer.current.values(), *wanted, *self.results, *self.carried.values()}
            self.parts["body"] = segments.captured(self.parts["body"], {*used, *again})

    def _sort(self, steps: Sequence[Step]) -> None:
        tracer = self.tracer
        unchanged = tracer.invariant.union(tracer.constants)
        settled = all(_leaves_variables(step) for step in steps)
        times: dict[str, bool | None] = {}
        for step in steps:
            if step.op is not None and step.op.type == "NoOp":
                continue  # it orders operations that are in order already
            time, step.guard = tracer.when(step.guard)
            if step.kind == "alias" and times.setdefault(step.outputs[0], time) is not time:
                raise Unstructured("a Merge joins the loop's body with what follows the loop")
            part = {None: "test", True: "body", False: "end"}[time]
            same = unchanged.issuperset(step.inputs)
            if time is not False and (
                _is_unchanging(step, unchanged)
                or (time and settled and step.kind == "read" and not step.guard and same)
            ):
                part = "before" if time is None else "once"
                unchanged.update(step.outputs)
                self._keep(step)
            self.parts[part].append(step)

    def _keep(self, step: Step) -> None:
        """Protect values that are computed once from being overwritten."""
        tracer = self.tracer
        for value in tracer.values.values():
            if value.name in step.outputs:
                tracer.memory.borrow(value.roots)

    def _take_apart(self, ordered: Sequence[Step]) -> None:
        """Sorts steps into their parts again; new ones belong to the step after them."""
        part_of = {id(step): part for part in PARTS for step in self.parts[part]}
        self.parts = {part: [] for part in PARTS}
        waiting: list[Step] = []
        for step in ordered:
            waiting.append(step)
            part = part_of.get(id(step))
            if part is not None:
                self.parts[part] += waiting
                waiting = []

    # ---- from parts to source

    def compile(self, emitter: type[LoopEmitter] | None = None) -> Callable[..., Any]:
        """Return the loop as a function of its parameters and (not constant) initial values.

        Args:
          emitter: writes it, iteration by iteration; by default iterations run at once where they
            can.
        """
        if self._compiled is None:
            turning = (emitter or LoopEmitter)(self).loop_function()
            batch = None if emitter is not None else self.batch
            self._compiled = turning if batch is None else at_once(batch, turning)
        return self._compiled


def _is_unchanging(step: Step, unchanged: set[str]) -> bool:
    if step.op is None or step.guard or not unchanged.issuperset(step.inputs):
        return False
    if step.kind == "bool":
        return True
    return step.kind == "call" and step.op.card.foldable and bool(step.outputs)


def _leaves_variables(step: Step) -> bool:
    """Return True if no variable changes meanwhile: no writes, calls or waits."""
    if step.writes:
        return False
    if step.kind != "call" or step.op is None:
        return True
    # Operations on arrays and stacks change no variable, and do not wait for others.
    return step.op.card.effect == "pure" or is_of_container(step.op)


class LoopEmitter(Emitter):
    """Emitter of a loop's function."""

    def __init__(self, code: LoopCode) -> None:
        tracer = code.tracer
        super().__init__(code.steps, tracer.constants, tracer.memory)
        self.code = code
        self.last = self._lifetimes()
        self.position = 0

    def _lifetimes(self) -> dict[str, int]:
        """Return the last use of each name.

        A value used in another iteration or later is never freed.
        """
        code = self.code
        carried = [value.name for value in code.next.values() if value is not None]
        last = last_uses(self.steps, [*carried, *code.results, code.predicate or ""])
        forever = len(self.steps)
        for part in ("before", "once"):
            for step in code.parts[part]:
                last.update(dict.fromkeys(step.outputs, forever))
        for step in code.parts["end"]:
            last.update(dict.fromkeys(step.inputs, forever))
        return last

    def loop_function(self) -> Callable[..., Any]:
        code = self.code
        names = code.tracer.current
        starts = [names[v] for v in code.variables if v not in code.constants]
        self.lines.append(f"def loop({', '.join([*code.tracer.parameters, *starts])}):")
        for variable, constant in code.constants.items():
            self.put(f"{names[variable]} = {constant}")
        for name, kind in code.unboxed.items():
            self.put(f"{name} = {kind}({name})")
        for name in sorted(code.owned):
            self.put(f"{name} = clone({name})")
        self.globals.update(interrupt=current_interrupt, **GLOBALS)
        self.globals["closed"] = code.tracer.facts.resources.interrupt
        self.globals.update({f"boxes_{name}": boxes for name, boxes in BOXES.items()})
        self.put("limit = interrupt()")
        used = {name for step in self.steps for name in step.inputs}
        used.update(value.name for value in code.next.values() if value is not None)
        used.update(code.results)
        positions = [name for v in code.variables if (name := f"{names[v]}_from") in used]
        if positions:
            self.globals.update(first=_index(0), later=_index(1))
            self.put(" = ".join(positions) + " = first")
        if code.parts["once"]:
            self.put("begun = False")
        self.part("before", 1)
        if code.truth is None or code.truth:
            self.turns(positions)
        else:
            self.part("test", 1)
            self.part("end", 1)
        self.depth = 1
        results = ", ".join(code.results)
        self.put(f"return {results}" if code.results else "return None")
        return self.compiled()

    def turns(self, positions: Sequence[str]) -> None:
        """Write the `while`, from the test to the new values of the variables."""
        code = self.code
        self.put("while True:")
        self.part("test", 2)
        if code.predicate is not None:
            self.put(f"if not {code.predicate}:")
            self.part("end", 3)
            self.put("break")
        self.depth = 2
        self.put("if limit.error or closed.error: limit.check(); closed.check()")
        if code.parts["once"]:
            self.put("if not begun:")
            self.part("once", 3)
            self.put("begun = True")
        self.part("body", 2)
        self.advance()
        if positions:
            self.put(" = ".join(positions) + " = later")

    def advance(self) -> None:
        code = self.code
        names = code.tracer.current
        pairs = [
            (names[v], "None" if value is None else code.carried.get(v, value.name))
            for v, value in code.next.items()
            if value is None or value.name != names[v]
        ]
        old = {name for name, _ in pairs}
        if any(new in old for _, new in pairs):
            left, right = zip(*pairs, strict=True)
            self.put(f"{', '.join(left)} = {', '.join(right)}")
        else:
            for name, new in pairs:
                self.put(f"{name} = {new}")

    def put(self, text: str) -> None:
        """Add a line outside of any branch."""
        self.line((), text)

    def part(self, part: str, depth: int) -> None:
        self.depth = depth
        self._open = ()
        for step in self.code.parts[part]:
            self.step(step)
            self.free(step, self.position, self.last)
            self.position += 1
        self._open = ()

    def compiled(self) -> Callable[..., Any]:
        return _named_errors(self.build("loop"), self.ops, self.filename)


def _index(value: int) -> Any:
    return torch.tensor(value, dtype=torch.int32)


def _named_errors(
    function: Callable[..., Any], ops: dict[int, Operation], filename: str
) -> Callable[..., Any]:
    """Make errors of the loop name the operation on whose line they happened."""

    def run(*values: Any) -> Any:
        try:
            return function(*values)
        except Exception as error:
            raised = named_error(error, ops, filename)
            if raised is error:
                raise
            raise raised from error

    return run
