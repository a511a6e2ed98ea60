"""The middle form of a plan: one `Step` for every call that remains after folding."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stillflow.graph.operation import Operation
from stillflow.ops.kernel_errors import as_op_error, raise_from

# Conditions under which a value exists: (name of a Python bool, its value), outermost first.
# None: it never exists (a branch that folding has shown not to be taken).
Guard = tuple[tuple[str, bool], ...] | None
# Memory that a value may be part of; see `Memory`.
Roots = frozenset[int]
# A variable that is known only at run time; others are numbers from 0 on.
ANY = -1
# The target of a call: a type of operation, several types, or the kernel itself.
Called = str | tuple[str, ...] | Callable[..., Any]


@dataclass(slots=True)
class Value:
    """A tensor's value while the plan runs: the local name it has, and when it exists."""

    name: str
    guard: Guard = ()
    roots: Roots = frozenset()
    is_handle: bool = False  # a reference or resource, not numbers


@dataclass(slots=True)
class Step:
    """One line of the emitted function.

    Kinds: "call" runs a kernel; "read" takes a variable's tensor out of its reference; "copy"
    clones; "move" brings a value to a device; "bool" makes a Python bool of a predicate; "alias"
    and "flag" serve Merge; "loop" runs a `while`, which is its first argument; "number" computes
    a Python number.
    """

    kind: str
    op: Operation | None
    outputs: list[str]
    inputs: list[str]
    guard: Guard
    function: Callable[..., Any] | None = None
    arguments: list[Any] = field(default_factory=list)  # Name, or a constant
    keywords: dict[str, Any] = field(default_factory=dict)
    writes: list[int] = field(default_factory=list)  # variables changed in place, by number
    copies: bool = False  # a "read" that must copy because a later step writes in place
    joined: list[Operation] = field(default_factory=list)  # others whose work this step does
    overwrites: bool = False  # whether its result is written over its first argument
    fused: bool = False  # several steps in one: its arguments are not those of its operation
    device: Any = None  # a GPU that it runs on, wherever its operation stands; it only gives values


def both(a: Guard, b: Guard) -> Guard:
    """Return the conjunction of two guards; None if they contradict each other."""
    if a is None or b is None:
        return None
    if a == b or not b:
        return a
    known = dict(a)
    result = list(a)
    for name, value in b:
        if name not in known:
            result.append((name, value))
        elif known[name] is not value:
            return None
    return tuple(result)


class Name(str):
    """An argument that is a local name, as opposed to a constant."""


def fuse(
    parts: Sequence[Step], outputs: list[str], function: Callable[..., Any], arguments: list[Any]
) -> Step:
    """Return a call that replaces several steps, with the operation and guard of the first.

    It is marked as a fusion: no later pattern may take it for the plain call of its operation.
    """
    first = parts[0]
    names = [str(each) for each in arguments if isinstance(each, Name)]
    result = Step("call", first.op, outputs, names, first.guard, function, arguments)
    result.fused = True
    result.writes = [buffer for step in parts for buffer in step.writes]
    _, *result.joined = [op for step in parts for op in ops_of(step)]
    return result


def ops_of(step: Step) -> list[Operation]:
    """Return the operations whose work a step does."""
    return [op for op in (step.op, *step.joined) if op is not None]


def is_plain(step: Step) -> bool:
    """Return True for a call of one operation's kernel by position, which is no fusion.

    A call that is bound to fail has no output, and is to fail where it stands.
    """
    return step.kind == "call" and not step.fused and not step.keywords and bool(step.outputs)


def is_call(step: Step | None, called: Called) -> bool:
    """Return True for a plain call of an operation of these types, or of this kernel."""
    if step is None or not is_plain(step):
        return False
    if callable(called):
        return step.function is called
    kinds = (called,) if isinstance(called, str) else called
    return step.op is not None and step.op.type in kinds


def in_order(
    parts: Sequence[Step], arguments: Sequence[Any], outputs: Sequence[str],
    constants: Mapping[str, Any],
) -> Callable[..., list[Any]]:  # fmt: skip
    """Return a function that runs steps one after the other: calls that change no variable.

    Args:
      parts: the steps.
      arguments: names of what the function takes.
      outputs: names of what it gives.
      constants: the plan's, by name.
    """
    known = {name: constants[name] for step in parts for name in step.inputs if name in constants}

    def run(*given: Any) -> list[Any]:
        values = {**known, **dict(zip(map(str, arguments), given, strict=True))}
        for step in parts:
            assert step.function is not None
            taken = [values[each] if isinstance(each, Name) else each for each in step.arguments]
            try:
                made = step.function(*taken, **step.keywords)
            except Exception as error:
                raise_from(as_op_error(error, step.op, taken), error)
            values.update(zip(step.outputs, [made] if len(step.outputs) == 1 else made))
        return [values[name] for name in outputs]

    return run


def count_uses(steps: Iterable[Step], kept: Iterable[str] = ()) -> Counter[str]:
    """Return the number of uses of each name, by steps and by the plan's results."""
    return Counter([*kept, *(name for step in steps for name in step.inputs)])


def taken_by(step: Step) -> list[str]:
    """Return the names of a step's inputs."""
    if step.kind in ("call", "loop"):
        values = (*step.arguments, *step.keywords.values())
        return [str(value) for value in values if isinstance(value, Name)]
    return [str(name) for name in step.inputs]


def all_taken(step: Step) -> set[str]:
    """Return the names that a step takes: inputs, arguments, and conditions."""
    return {*step.inputs, *taken_by(step), *(name for name, _ in step.guard or ())}


def last_uses(steps: Sequence[Step], kept: Iterable[str]) -> dict[str, int]:
    """Return the position of the last step that takes or makes each name.

    Their number for kept ones.
    """
    last: dict[str, int] = {}
    for number, step in enumerate(steps):
        for name in step.outputs:
            last.setdefault(name, number)
        last.update(dict.fromkeys(all_taken(step), number))
    last.update(dict.fromkeys(kept, len(steps)))
    return last


def may_meet(first: Collection[int], second: Collection[int]) -> bool:
    """Return True if two groups of variables may have one in common."""
    if ANY in first or ANY in second:
        return bool(first and second)
    return not set(first).isdisjoint(second)


class Memory:
    """Aliases among values: those that may share memory.

    Every buffer has a root: "fresh" memory made by a step of this plan, a variable's memory seen
    through a "read" step, or "borrowed" memory of a feed or constant.
    """

    def __init__(self) -> None:
        self.kinds: list[str] = []
        self.readers: dict[int, Step] = {}
        self.variables: list[Any] = []  # the variables of the plan, by number
        self._numbers: dict[int, int] = {}  # by `id` of the variable
        self.buffers: dict[int, int] = {}  # root -> number of the variable
        self.snapshots: set[int] = set()  # roots whose readers must not see later writes

    def fresh(self) -> Roots:
        return self._new("fresh")

    def borrowed(self) -> Roots:
        return self._new("borrowed")

    def borrow(self, roots: Iterable[int]) -> None:
        """Protect fresh memory from being overwritten: it is kept for longer than its value."""
        for root in roots:
            if self.kinds[root] == "fresh":
                self.kinds[root] = "borrowed"

    def variable(self, step: Step, buffer: int, snapshot: bool) -> Roots:
        root = self._new("variable")
        if snapshot:
            self.snapshots |= root
        for number in root:
            self.readers[number] = step
            self.buffers[number] = buffer
        return root

    def number_of(self, variable: Any) -> int:
        """Return the number of a variable in this plan."""
        number = self._numbers.setdefault(id(variable), len(self.variables))
        if number == len(self.variables):
            self.variables.append(variable)
        return number

    def _new(self, kind: str) -> Roots:
        self.kinds.append(kind)
        return frozenset((len(self.kinds) - 1,))

    def may_change(self, roots: Roots) -> bool:
        """Return True if a value shows later writes to a variable it was read from."""
        return any(self.kinds[root] == "variable" and root not in self.snapshots for root in roots)

    def is_fresh(self, roots: Roots) -> bool:
        return all(
            self.kinds[root] == "fresh"
            or (self.kinds[root] == "variable" and self.readers[root].copies)
            for root in roots
        )


def assigned_buffer(step: Step, buffer_of: Callable[[str], int | None]) -> int | None:
    """Return the buffer of the resource variable that a step assigns; None for other steps.

    A handle of another kind is an argument, no input: the kernel raises.
    """
    if step.kind != "call" or step.op is None or step.op.card.access != "replace":
        return None
    return buffer_of(step.inputs[0]) if step.inputs else None
