"""Consecutive steps as one function, with names for its inputs and outputs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stillflow.graph.lazy import torch
from stillflow.ops.kernel_errors import raise_from
from stillflow.ops.variables.buffer import Buffer
from stillflow.runtime.failures import named_error
from stillflow.runtime.ir.steps import Memory, Step, last_uses, taken_by
from stillflow.runtime.plan.emit import Emitter


class Part:
    """Consecutive steps, and their relations to those around them.

    Args:
      steps: calls, reads and copies without conditions.
      wanted: names that are taken later.
      held: names of tensors that are variables' own memory.
      memory: of the plan.
      constants: the plan's, by name.

    Attributes:
      inputs: names of what is taken from elsewhere.
      outputs: names of what is to be handed on.
      read: the steps that read what is taken later as well, where it is.
    """

    def __init__(
        self, steps: Sequence[Step], wanted: set[str], held: set[str], memory: Memory,
        constants: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self.steps, self.held = list(steps), held
        self.memory, self.constants = memory, constants
        made = dict.fromkeys(n for step in steps for n in step.outputs if n != "_")
        taken = [a for step in steps for a in taken_by(step)]
        self.inputs = [n for n in dict.fromkeys(taken) if n not in made and n not in constants]
        self.read = [step for step in steps if reads_in_place(step) and step.outputs[0] in wanted]
        again = {step.outputs[0] for step in self.read}
        self.outputs = [name for name in made if name in wanted and name not in again]

    def constant_buffers(self) -> list[Buffer]:
        """Return the variables that the steps name."""
        names = dict.fromkeys(name for step in self.steps for name in taken_by(step))
        found = [self.constants[name] for name in names if name in self.constants]
        found += [each for step in self.steps for each in _constants_inside(step)]
        return [each for each in found if isinstance(each, Buffer)]

    def cut(self, at: set[int]) -> list[Part]:
        """Return the same steps in several parts; those at some positions are alone."""
        runs: list[list[Step]] = [[]]
        for number, step in enumerate(self.steps):
            if number in at:
                runs += [[step], []]
            else:
                runs[-1].append(step)
        readers = {step.outputs[0]: step for step in self.steps if reads_in_place(step)}
        result: list[Part] = []
        wanted = set(self.outputs)
        for run in reversed([run for run in runs if run]):
            made = {name for step in run for name in step.outputs}
            taken = {name for step in run for name in taken_by(step)}
            # A variable that an earlier part reads is read again: it is where it was.
            own = [readers[name] for name in sorted(taken - made) if name in readers]
            part = Part([*own, *run], wanted, self.held, self.memory, self.constants)
            result.insert(0, part)
            wanted |= set(part.inputs)
        return result


def _constants_inside(step: Step) -> list[Any]:
    """Return the constants in the code of a loop."""
    if step.kind != "loop":
        return []
    code = step.arguments[0]
    deeper = [constant for each in code.steps for constant in _constants_inside(each)]
    return [*code.tracer.constants.values(), *deeper]


class Code(Emitter):
    """The function of a part's steps.

    Attributes:
      filename: the name that its source is compiled under.
      code: the calls, without the operation in errors.
    """

    def __init__(self, part: Part) -> None:
        names = {name for step in part.steps for name in taken_by(step)}
        constants = {name: part.constants[name] for name in names if name in part.constants}
        super().__init__(part.steps, constants, part.memory)
        self.lines.append(f"def part({', '.join(part.inputs)}):")
        last = last_uses(part.steps, part.outputs)
        self._ends: list[int] = []
        for number, step in enumerate(part.steps):
            self.step(step)
            self.free(step, number, last)
            self._ends.append(len(self.lines))
        self.lines.append(f"    return {', '.join(part.outputs) or None}")
        self.code = self.build("part")

    def __call__(self, *values: Any) -> torch.Tensor | tuple[Any, ...] | None:
        try:
            return self.code(*values)
        except Exception as error:
            raise_from(named_error(error, self.ops, self.filename), error)

    def replayed(self, graph: Any) -> Callable[[], None]:
        """Return a replay of a graph, of which the last call was a part."""
        replay: Callable[[], None] = graph.replay
        return replay

    def steps_at(self, lines: set[int]) -> set[int]:
        """Return the positions of the steps that lines of the source belong to."""
        return {bisect_left(self._ends, line) for line in lines}


def taken_after(row: Sequence[Step], last: Mapping[str, int], number: int) -> set[str]:
    """Return the outputs of consecutive steps that are used at a position behind them or later.

    Args:
      row: the steps.
      last: the `last_uses` of the plan that they are part of.
      number: the position.
    """
    made = (name for step in row for name in step.outputs)
    return {name for name in made if last.get(name, -1) >= number}


def reads_in_place(step: Step) -> bool:
    """Return True if a step gives a variable's own memory."""
    return step.kind == "read" and not step.copies


def lines_of(error: BaseException | None, filename: str) -> set[int]:
    """Return the lines of a source on which an error was raised, or one that led to it."""
    lines = set()
    while error is not None:
        frame = error.__traceback__
        while frame is not None:
            if frame.tb_frame.f_code.co_filename == filename:
                lines.add(frame.tb_lineno)
            frame = frame.tb_next
        error = error.__cause__ or error.__context__
    return lines
