"""The steps of a plan as a graph: who makes each value, who takes it, and in which order they run.

    graph = StepGraph(steps, constants={"c1": rate}, results=["t9"])
    for step in graph.calls("Cast"):
        comparison = graph.sole_producer(step, 0, "GreaterEqual")
        if comparison is not None:
            graph.replace([comparison, step], fuse([comparison, step], ...), at=step)

Passes ask the graph and edit it; none keeps tables of its own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stillflow.graph.lazy import torch
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.ir.steps import Called, Memory, Name, Step, Value, is_call, is_plain

if TYPE_CHECKING:
    from stillflow.graph.constant_value import Dims
    from stillflow.runtime.devices.moves import Moves
    from stillflow.runtime.ir.facts import Facts


class StepGraph:
    """Steps in the order in which they run, with the values between them.

    Args:
      steps: in an order in which they may run.
      constants: the plan's constants by name; passes add and drop some.
      results: names of the values that the plan returns.
      feeds: names of the values that the plan is given.
      targets: operations that were asked for by themselves.
      values: the value of each tensor, with the memory that it may share.
      memory: which values may share memory.
      facts: known shapes and values of tensors.
      moves: devices of values and operations; None where everything computes on the CPU.
      in_loop: True for steps of a loop.

    Attributes:
      matches: how many times steps were replaced or removed.
    """

    def __init__(
        self,
        steps: Iterable[Step],
        constants: dict[str, Any] | None = None,
        results: Sequence[str] = (),
        feeds: Collection[str] = (),
        targets: Collection[Operation] = (),
        values: Mapping[Tensor, Value] | None = None,
        memory: Memory | None = None,
        facts: Facts | None = None,
        moves: Moves | None = None,
        in_loop: bool = False,
    ) -> None:
        self.constants, self.in_loop = {} if constants is None else constants, in_loop
        self.results, self.feeds, self.targets = tuple(results), feeds, targets
        self._returned = Counter(results)
        self.values = {} if values is None else values
        self.memory = Memory() if memory is None else memory
        self.facts, self.moves, self.matches = facts, moves, 0
        # Each step stands in a slot; a slot keeps its number while its steps change.
        self._slots: list[list[Step]] = []
        self._places: dict[int, int] = {}
        self._producers: dict[str, Step] = {}
        self._consumers: dict[str, list[Step]] = {}
        self._writers: list[int] = []  # the slots of steps that may change a variable, in order
        self._calls: dict[Any, list[Step]] = {}  # by type of operation, and by kernel
        for step in steps:
            self._slots.append([step])
            self._note(step, len(self._slots) - 1)
            if step.kind == "call":
                self._calls.setdefault(id(step.function), []).append(step)
                if step.op is not None:
                    self._calls.setdefault(step.op.type, []).append(step)

    # ---- what there is

    def __iter__(self) -> Iterator[Step]:
        """Yield the steps in order; what replaces a later step while this goes on is yielded."""
        for slot in self._slots:
            yield from tuple(slot)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, step: Step) -> bool:
        return id(step) in self._places

    @property
    def steps(self) -> list[Step]:
        """The steps in the order in which they run."""
        return [step for slot in self._slots for step in slot]

    def calls(self, called: Called | tuple[Callable[..., Any], ...]) -> Iterator[Step]:
        """Yield the plain calls of types of operations, or of kernels, in order.

        What is replaced meanwhile is not yielded.
        """
        yield from filter(is_plain, self.running(called))

    def running(self, called: Called | tuple[Callable[..., Any], ...]) -> Iterator[Step]:
        """Yield the calls of types of operations, or of kernels, fused or without outputs too."""
        kinds = called if isinstance(called, tuple) else (called,)
        keys = [kind if isinstance(kind, str) else id(kind) for kind in kinds]
        found = [step for key in keys for step in self._calls.get(key, ()) if step in self]
        for step in found if len(keys) == 1 else sorted(found, key=self.place):
            if step in self:
                yield step

    def place(self, step: Step) -> int:
        """Return the position of a step, comparable with others."""
        return self._places[id(step)]

    def producer(self, name: Any) -> Step | None:
        """Return the step that makes a value; None for a feed or a constant."""
        return self._producers.get(str(name))

    def consumers(self, name: Any) -> list[Step]:
        """Return the consumers of a value, once for each use."""
        return self._consumers.get(str(name), [])

    def uses(self, name: Any) -> int:
        """Return the number of times that steps take a value and the plan returns it."""
        return len(self.consumers(name)) + self._returned.get(str(name), 0)

    def sole_producer(self, step: Step, argument: int, called: Called) -> Step | None:
        """Return the plain call of the same guard that makes an argument for this step alone."""
        if argument >= len(step.arguments):
            return None
        if self.uses(step.arguments[argument]) != 1:
            return None
        return self.shared_producer(step, argument, called)

    def shared_producer(self, step: Step, argument: int, called: Called) -> Step | None:
        """Return the plain call of the same guard that makes an argument, with any consumers."""
        producer = self._producers.get(str(step.arguments[argument]))
        if producer is None or producer.guard != step.guard or not is_call(producer, called):
            return None
        return producer

    def sole_consumer(self, step: Step, output: int, called: Called) -> Step | None:
        """Return the only consumer of an output, if it is such a call of the same guard."""
        name = step.outputs[output]
        consumers = self.consumers(name)
        if self.uses(name) != 1 or not consumers or consumers[0].guard != step.guard:
            return None
        return consumers[0] if is_call(consumers[0], called) else None

    def is_result(self, name: Any) -> bool:
        """Return True if the plan returns a value."""
        return str(name) in self._returned

    def is_produced_before(self, name: Any, step: Step) -> bool:
        """Return True if a value exists when a step runs."""
        producer = self.producer(name)
        return producer is None or self.place(producer) < self.place(step)

    def is_stable(self, name: Any) -> bool:
        """Return True if a value is the same however late it is taken; a variable's may change."""
        step = self.producer(name)
        if step is None or step.kind == "move":
            return True
        if step.kind != "call" or step.op is None or step.writes:
            return False
        return not step.op.card.view or all(map(self.is_stable, step.inputs))

    def writers(self, first: Step, last: Step) -> list[Step]:
        """Return the steps that may change a variable, from the first step on, before the last."""
        begin = bisect_left(self._writers, self.place(first))
        end = bisect_left(self._writers, self.place(last))
        found = [step for number in self._writers[begin:end] for step in self._slots[number]]
        return [step for step in found if has_write(step)]

    def constant(self, name: Any) -> Any:
        """Return the constant of this name; None for other values and other texts."""
        return self.constants.get(name) if isinstance(name, Name) else None

    def dims(self, tensor: Tensor) -> Dims:
        """Return the shape of a tensor as far as the plan knows it."""
        return tensor._dims if self.facts is None else self.facts.dims(tensor)

    def is_on_cpu(self, op: Operation) -> bool:
        """Return True if an operation computes on the CPU."""
        return self.device_of(op) in (None, torch.device("cpu"))

    def device_of(self, op: Operation) -> torch.device | None:
        """Return the torch device of an operation; None if all compute on the CPU."""
        return None if self.moves is None else self.moves.device_of(op)

    def place_of(self, name: str) -> torch.device | None:
        """Return the torch device of a value; None if unknown, or if all are on the CPU."""
        return None if self.moves is None else self.moves.place(name)

    # ---- edits

    def replace(self, parts: Collection[Step], *new: Step, at: Step | None) -> None:
        """Put steps in the place of others.

        Args:
          parts: the steps that go.
          new: the steps that do their work.
          at: the step at whose place the new ones stand, perhaps a part; None for the end.
        """
        number = len(self._slots) if at is None else self.place(at)
        if at is None:
            self._slots.append(list(new))
        else:
            where = _index(self._slots[number], at)
            self._slots[number][where:where] = new
        for part in parts:
            self._drop(part)
        for step in new:
            self._note(step, number)
        self.matches += bool(parts)

    def drop_constants(self, names: Iterable[str]) -> None:
        """Forget those of some constants that no step takes any more."""
        for name in [each for each in names if not self.uses(each)]:
            self.constants.pop(name, None)

    def remove(self, step: Step) -> None:
        """Take a step out; nobody takes what it made."""
        self._drop(step)
        self.matches += 1

    def reorder(self, steps: Iterable[Step]) -> None:
        """Put the steps, and perhaps more, in another order."""
        self._slots = [[step] for step in steps]
        self._writers.clear()
        for number, (step,) in enumerate(self._slots):
            if step in self:
                self._forget(step)
            self._note(step, number)

    def change(self, step: Step, **fields: Any) -> None:
        """Set fields of a step: its arguments, inputs, outputs or kernel."""
        self._forget(step)
        for name, value in fields.items():
            setattr(step, name, value)
        self._note(step, self._places[id(step)])

    def _note(self, step: Step, place: int) -> None:
        self._places[id(step)] = place
        if has_write(step):
            at = bisect_left(self._writers, place)
            if self._writers[at : at + 1] != [place]:
                self._writers.insert(at, place)
        for name in step.outputs:
            if name != "_":  # a reference that is handed on
                self._producers[name] = step
        for name in step.inputs:
            self._consumers.setdefault(name, []).append(step)
        for name, _ in step.guard or ():
            self._consumers.setdefault(name, []).append(step)

    def _forget(self, step: Step) -> None:
        for name in (*step.inputs, *(name for name, _ in step.guard or ())):
            consumers = self._consumers[name]
            del consumers[_index(consumers, step)]
        for name in step.outputs:
            if self._producers.get(name) is step:
                del self._producers[name]

    def _drop(self, step: Step) -> None:
        slot = self._slots[self._places.pop(id(step))]
        del slot[_index(slot, step)]
        self._forget(step)


def _index(steps: Sequence[Step], wanted: Step) -> int:
    """Return the index of the very same step; equal ones are others."""
    return next(number for number, step in enumerate(steps) if step is wanted)


def has_write(step: Step) -> bool:
    """Return True for a step that may change a variable, or keep the memory of what it takes."""
    return bool(step.writes) or (step.op is not None and bool(step.op.card.keeps))
