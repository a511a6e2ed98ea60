"""`tensorflow.python.eager.tape`: the tapes of this thread, for code that handles them itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stillflow.graph import tapes
from stillflow.graph.tapes import Tape, variable_accessed
from stillflow.graph.tapes import pop as pop_tape
from stillflow.graph.tapes import push as push_tape
from stillflow.graph.tapes import stopped as stop_recording

__all__ = [
    "Tape", "could_possibly_record", "pop_tape", "push_new_tape", "push_tape",
    "record_operation", "should_record", "stop_recording", "variable_accessed",
    "variables_accessed", "watch", "watch_variable",
]  # fmt: skip


def push_new_tape(persistent: bool = False, watch_accessed_variables: bool = True) -> Tape:
    """Return a new tape, which records from now on."""
    tape = Tape(persistent, watch_accessed_variables)
    push_tape(tape)
    return tape


def watch(tape: Tape, tensor: Any) -> None:
    """Record computations from a tensor."""
    tape.watch(tensor)


def watch_variable(tape: Tape, variable: Any) -> None:
    """Record computations from a resource variable."""
    tape.watch_variable(variable)


def variables_accessed(variables: Iterable[Any]) -> None:
    """Tell the tapes that variables are read."""
    for variable in variables:
        variable_accessed(variable)


def should_record(tensors: Sequence[Any]) -> bool:
    """Return True if a tape watches any of these tensors."""
    return any(tape.should_record(tensors) for tape in tapes.active.tapes)


def could_possibly_record() -> bool:
    """Return True if any tape records."""
    return bool(tapes.active.tapes)


def record_operation(
    op_type: str,
    output_tensors: Sequence[Any],
    input_tensors: Sequence[Any],
    backward_function: Callable[..., Sequence[Any]],
) -> None:
    """Record a computation with a custom gradient function."""
    tapes.record(op_type, output_tensors, input_tensors, backward_function)
