"""Tapes: records of computations from watched tensors, made as they are built.

`tf.GradientTape` differentiates a tape's record. A tape records operations while it is among the
active tapes of its thread; every operation that a card makes is shown to them.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from stillflow.graph import dtypes
from stillflow.graph.lazy import LazyModule

if TYPE_CHECKING:
    from stillflow.graph import gradient_registry
    from stillflow.graph.operation import Operation, Tensor
else:
    gradient_registry = LazyModule("stillflow.graph.gradient_registry")

_TRAINABLE = frozenset(
    dtype._type_enum
    for dtype in (
        dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.complex64,
        dtypes.complex128, dtypes.resource, dtypes.variant,
    )
)  # fmt: skip

# The producer of a tensor that is watched for itself.
WATCHED = -1


class Entry(NamedTuple):
    """One recorded operation.

    `backward` takes the gradients of the outputs and the positions of the inputs whose gradient
    nobody wants, and gives one gradient or None for each input.
    """

    op_type: str
    outputs: tuple[Tensor, ...]
    inputs: tuple[Tensor, ...]
    backward: Callable[[Sequence[Any], frozenset[int]], Sequence[Any]]


class Tape:
    """State of one tape: its watched tensors and its entries.

    Args:
      persistent: whether it outlives being differentiated.
      watch_accessed_variables: whether reading a trainable variable makes it watched.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self.persistent = persistent
        self._watches_variables = watch_accessed_variables
        self.producers: dict[Tensor, int] = {}  # the number of the entry that made each tensor
        self._variables: dict[Tensor, Any] = {}
        self.entries: dict[int, Entry] = {}
        self._made = 0

    def watch(self, tensor: Tensor) -> None:
        """Record computations from `tensor` from now on."""
        self.producers.setdefault(tensor, WATCHED)

    def watch_variable(self, variable: Any) -> None:
        """Record computations from a resource variable from now on."""
        self.watch(variable.handle)
        self._variables.setdefault(variable.handle, _whole(variable))

    def variable_accessed(self, variable: Any) -> None:
        if self._watches_variables:
            self.watch_variable(variable)

    def watched_variables(self) -> tuple[Any, ...]:
        """Return the variables that are watched, in the order in which they came to be."""
        return tuple(self._variables[handle] for handle in sorted(self._variables, key=_age))

    def producer(self, tensor: Tensor) -> int | None:
        """Return the number of the entry that made a tensor, `WATCHED`, or None if unknown."""
        return self.producers.get(tensor)

    def should_record(self, tensors: Sequence[Tensor]) -> bool:
        """Return True if a gradient may flow to any of these tensors."""
        producers = self.producers
        for tensor in tensors:
            if tensor in producers and tensor.dtype.base_dtype._type_enum in _TRAINABLE:
                return True
        return False

    def record(self, entry: Entry) -> None:
        """Add an entry if any of its inputs is watched."""
        if self.should_record(entry.inputs):
            self.add(entry)

    def add(self, entry: Entry) -> None:
        """Add an entry with a watched input."""
        number = self._made
        self._made += 1
        self.entries[number] = entry
        for output in entry.outputs:
            self.producers[output] = number


def _age(tensor: Tensor) -> int:
    return tensor._id if tensor.holds_value else tensor.op._id


class _Active(threading.local):
    def __init__(self) -> None:
        self.tapes: list[Tape] = []


active = _Active()


def push(tape: Tape) -> None:
    """Make a tape record the operations that this thread builds."""
    active.tapes = [*active.tapes, tape]


def pop(tape: Tape) -> None:
    """Stop recording with a tape."""
    active.tapes = [item for item in active.tapes if item is not tape]


@contextlib.contextmanager
def recording(tape: Tape) -> Iterator[Tape]:
    """Record with a tape within the context."""
    push(tape)
    try:
        yield tape
    finally:
        pop(tape)


@contextlib.contextmanager
def stopped() -> Iterator[None]:
    """Stop all tapes of this thread within the context."""
    old, active.tapes = active.tapes, []
    try:
        yield
    finally:
        active.tapes = old


def _whole(variable: Any) -> Any:
    """Return the distributed variable of a replica's component; other variables unchanged."""
    from stillflow.graph.graph import get_default_graph

    modes = get_default_graph()._of_thread.strategies
    if not modes or modes[-1].replica is None:
        return variable
    for name in ("_distributed_container", "_aggregating_container"):
        container = getattr(variable, name, None)
        if container is not None:
            return container() or variable
    return variable


def variable_accessed(variable: Any) -> None:
    """Tell the tapes that a variable is read; those that watch trainable ones remember it."""
    if active.tapes and variable.trainable:
        for tape in active.tapes:
            tape.variable_accessed(variable)


def record_operation(op: Operation) -> None:
    """Show the tapes an operation that was built just now."""
    inputs = tuple(op._inputs)
    entry = None
    for tape in active.tapes:
        if tape.should_record(inputs):
            if entry is None:
                backward = gradient_registry.backward_function(op)
                entry = Entry(op.type, tuple(op._outputs), inputs, backward)
            tape.add(entry)


def record(
    op_type: str,
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    backward: Callable[..., Sequence[Any]],
) -> None:
    """Record a computation with a custom gradient: `backward(*gradients of the outputs)`."""
    entry = Entry(op_type, tuple(outputs), tuple(inputs), lambda grads, _: backward(*grads))
    for tape in active.tapes:
        tape.record(entry)
