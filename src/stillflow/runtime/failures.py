"""What went wrong in a kernel, as the error TF would raise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stillflow import errors
from stillflow.graph.dtypes import cpp_name
from stillflow.graph.op_text import attributes_text
from stillflow.graph.operation import Operation, Tensor


def as_op_error(error: BaseException, op: Operation | None) -> BaseException:
    """Turns what a kernel raised into a `tf.errors` exception that names the operation."""
    if op is None or isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
        return error
    where = f"\n\t [[{{{{node {op.name}}}}}]]"
    if isinstance(error, errors.OpError):
        if error.op is not None:
            return error
        kind_of_error: Any = type(error)
        return kind_of_error(op.node_def, op, error.message + where)
    kind, message = kind_and_message(error)
    return kind(op.node_def, op, message + where)


def kind_and_message(error: BaseException) -> tuple[Any, str]:
    """The class of `tf.errors` for what a kernel raised, and what it says."""
    if isinstance(error, errors.OpError):
        return type(error), error.message
    message = str(error).strip("\n") or type(error).__name__
    if isinstance(error, MemoryError) or "allocate" in message or "out of memory" in message:
        return errors.ResourceExhaustedError, f"OOM when allocating a tensor: {message}"
    if isinstance(error, NotImplementedError) or "not implemented for" in message:
        return errors.UnimplementedError, message
    if isinstance(error, (RuntimeError, ValueError, IndexError, ArithmeticError)):
        return errors.InvalidArgumentError, message
    return errors.InternalError, message


def named_error(error: BaseException, ops: Mapping[int, Operation], filename: str) -> BaseException:
    """What emitted code raised, as `as_op_error` of the operation on whose line it happened.

    Args:
      ops: the operations of the source's lines.
      filename: the name that the source was compiled under.
    """
    frame, op = error.__traceback__, None
    while frame is not None:
        if frame.tb_frame.f_code.co_filename == filename:
            op = ops.get(frame.tb_lineno)
        frame = frame.tb_next
    return as_op_error(error, op)


def no_kernel(op: Operation) -> BaseException:
    """The error for an operation that nothing runs, among them parts of loops that are none."""
    if op.type in ("Exit", "RefExit", "NextIteration", "RefNextIteration"):
        message = f"{op.type} is not in a while context: no Enter leads to it"
        return errors.InvalidArgumentError(op.node_def, op, message)
    if op.card.elsewhere:
        return kernels_elsewhere(op)
    message = f"Stillflow has no kernel for op {op.type} yet"
    return errors.UnimplementedError(op.node_def, op, message)


def kernels_elsewhere(op: Operation) -> errors.OpError:
    """The error for an operation that only devices run that there are none of."""
    message = (
        f"No OpKernel was registered to support Op '{op.type}' used by {{{{node {op.name}}}}}with "
        f"these attrs: {attributes_text(op.card.signature, op.attrs)}\n"
        "Registered kernels:\n  <no registered kernels>\n"
    )
    return errors.InvalidArgumentError(op.node_def, op, message)


def fed_for_a_reference(op: Operation, index: int, fed: Sequence[str]) -> BaseException:
    """The error where a value was fed for a variable that an operation is to change."""
    tensor = op._inputs[index]
    kind = cpp_name(tensor.dtype.base_dtype)
    given = f"_arg_{tensor.op.name}_{tensor.value_index}_{fed.index(tensor.name)}:0"
    message = (
        f"Input {index} of node {op.name} was passed {kind} from {given} incompatible with "
        f"expected {kind}_ref."
    )
    return errors.InvalidArgumentError(op.node_def, op, message)


def uninitialized(op: Operation, message: str) -> BaseException:
    """The error for reading a variable that was never given a value."""
    where = f"\n\t [[{{{{node {op.name}}}}}]]"
    return errors.FailedPreconditionError(op.node_def, op, message + where)


def dead_fetch(tensor: Tensor, fetched: Iterable[Tensor]) -> BaseException:
    """The error for fetching a value of a branch that was not taken.

    Args:
      tensor: the fetch.
      fetched: all fetches of the run but those that are fed.
    """
    return errors.InvalidArgumentError(
        None,
        None,
        f"Retval[{_place(tensor, fetched)}] does not have value\n\t"
        f"'{tensor.op.name}' is in a branch that was not taken",
    )


def fetched_in_loop(tensor: Tensor, fetched: Iterable[Tensor]) -> BaseException:
    """The error for a fetch that has a value in more than one iteration of a loop."""
    return errors.InternalError(
        tensor.op.node_def,
        tensor.op,
        f"Retval[{_place(tensor, fetched)}] has already been set.\n\t"
        f"'{tensor.op.name}' is inside a loop; fetch what leaves it",
    )


def _place(tensor: Tensor, fetched: Iterable[Tensor]) -> int:
    """The number of a fetch; TensorFlow sorts them by name."""
    return sum(name < tensor.name for name in {each.name for each in fetched})
