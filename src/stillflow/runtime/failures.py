"""Errors of kernels as the errors that TF would raise."""

from __future__ import annotations

import dis
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stillflow import errors
from stillflow.graph import dims as dims_lib
from stillflow.graph.dtypes import cpp_name
from stillflow.graph.op_text import attributes_text
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.kernel_errors import as_op_error
from stillflow.util.raised import is_deliberate


def named_error(error: BaseException, ops: Mapping[int, Operation], filename: str) -> BaseException:
    """Return `as_op_error` of the operation on whose line emitted code raised an error.

    `ops` are by line of the source, which was compiled under the name `filename`.
    """
    trace, found = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            found = trace
        trace = trace.tb_next
    op = None if found is None else ops.get(found.tb_lineno)
    if isinstance(error, errors.OpError):
        return as_op_error(error, op)
    if op is None:
        if is_deliberate(error):
            return error
        message = "The run failed outside of its operations; this is a fault of Stillflow"
        return errors.internal(message)
    given = _taken(found)
    return as_op_error(error, op, given if len(given) == len(op._inputs) else None)


def _taken(trace: Any) -> list[Any]:
    """Return the arrays that the statement takes at which an exception passed."""
    code, values = trace.tb_frame.f_code, trace.tb_frame.f_locals
    ranges = [(start, end) for start, end, line in code.co_lines() if line == trace.tb_lineno]
    names: list[str] = []
    for step in dis.get_instructions(code):
        if "LOAD_FAST" in step.opname and any(a <= step.offset < b for a, b in ranges):
            names += step.argval if isinstance(step.argval, tuple) else [step.argval]
    taken = [values[name] for name in dict.fromkeys(names) if name in values]
    return [value for value in taken if type(value).__name__ in ("ndarray", "Tensor")]


def no_kernel(op: Operation) -> BaseException:
    """Return the error for an operation without a kernel, such as a part of an invalid loop."""
    if op.card.flow in ("exit", "next iteration"):
        message = f"{op.type} is not in a while context: no Enter leads to it"
        return errors.invalid_argument(message, op)
    if op.card.elsewhere:
        return kernels_elsewhere(op)
    message = f"Stillflow has no kernel for op {op.type} yet"
    return errors.unimplemented(message, op)


def no_loop(op: Operation, tensor: Tensor) -> BaseException:
    """Return the error for a Merge of a value that goes round although nothing begins a loop."""
    message = f"{op.type} is not in a while context: no Enter leads to '{tensor.name}'"
    return errors.invalid_argument(message, op)


def no_scalar(shape: Sequence[int | None]) -> errors.OpError:
    """Return the error for a predicate that is no scalar."""
    text = dims_lib.to_string(tuple(shape))
    return errors.invalid_argument(f"The second input must be a scalar, but it has shape {text}")


def truth_of(value: Any) -> bool:
    """Return the truth of a predicate whose rank no plan knows; it must be a scalar.

    InvalidArgumentError if it is none.
    """
    if value.ndim:
        raise no_scalar(value.shape)
    return bool(value)


def kernels_elsewhere(op: Operation) -> errors.OpError:
    """Return the error for an operation that only devices run that there are none of."""
    message = (
        f"No OpKernel was registered to support Op '{op.type}' used by {{{{node {op.name}}}}}with "
        f"these attrs: {attributes_text(op.card.signature, op.attrs)}\n"
        "Registered kernels:\n  <no registered kernels>\n"
    )
    return errors.invalid_argument(message, op)


def fed_for_a_reference(op: Operation, index: int, fed: Sequence[str]) -> BaseException:
    """Return the error where a value was fed for a variable that an operation is to change."""
    tensor = op._inputs[index]
    kind = cpp_name(tensor.dtype.base_dtype)
    given = f"_arg_{tensor.op.name}_{tensor.value_index}_{fed.index(tensor.name)}:0"
    message = (
        f"Input {index} of node {op.name} was passed {kind} from {given} incompatible with "
        f"expected {kind}_ref."
    )
    return errors.invalid_argument(message, op)


def uninitialized(op: Operation, message: str) -> BaseException:
    """Return the error for reading a variable that was never given a value."""
    where = f"\n\t [[{{{{node {op.name}}}}}]]"
    return errors.failed_precondition(message + where, op)


def dead_fetch(tensor: Tensor, fetched: Iterable[Tensor]) -> BaseException:
    """Return the error for fetching a value of a branch that was not taken.

    `fetched` are all fetches of the run but those that are fed.
    """
    return errors.invalid_argument(
        f"Retval[{_place(tensor, fetched)}] does not have value\n\t"
        f"'{tensor.op.name}' is in a branch that was not taken"
    )


def fetched_in_loop(tensor: Tensor, fetched: Iterable[Tensor]) -> BaseException:
    """Return the error for a fetch that has a value in more than one iteration of a loop."""
    return errors.internal(
        f"Retval[{_place(tensor, fetched)}] has already been set.\n\t"
        f"'{tensor.op.name}' is inside a loop; fetch what leaves it",
        tensor.op,
    )


def _place(tensor: Tensor, fetched: Iterable[Tensor]) -> int:
    """Return the number of a fetch; TensorFlow sorts them by name."""
    return sum(name < tensor.name for name in {each.name for each in fetched})
