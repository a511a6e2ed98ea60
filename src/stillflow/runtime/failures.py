"""Errors of kernels as the errors that TF would raise."""

from __future__ import annotations

import dis
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stillflow import errors
from stillflow._home import is_our_module
from stillflow.graph import dims as dims_lib
from stillflow.graph.dtypes import cpp_name
from stillflow.graph.op_text import attributes_text
from stillflow.graph.operation import Operation, Tensor
from stillflow.util.raised import is_deliberate

# PyTorch's messages about kernels and types that Apple's GPUs do not have.
_OF_APPLE = re.compile(r"\bMPS (?:device|framework|Tensor|backend)\b")
_WITHOUT_APPLE = (
    "; put it under tf.device('/cpu:0'), or run on processors alone with "
    "tf.ConfigProto(device_count={'GPU': 0})"
)


def as_op_error(
    error: BaseException, op: Operation | None, given: Sequence[Any] | None = None
) -> BaseException:
    """Convert a kernel's error to a `tf.errors` exception that names the operation, if known.

    `given` are the values that the kernel took, where they are known.
    """
    if op is None or isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit)):
        return error
    where = f"\n\t [[{{{{node {op.name}}}}}]]"
    if isinstance(error, errors.OpError):
        if error.op is not None:
            return error
        kind_of_error: Any = type(error)
        return kind_of_error(op.node_def, op, error.message + where)
    told = [*map(_described, op._inputs)] if given is None else [*map(_described, given)]
    kind, message = kind_and_message(error, op.type, told)
    return kind(op.node_def, op, message + where)


def kind_and_message(
    error: BaseException, op_type: str, inputs: Sequence[str] = ()
) -> tuple[Any, str]:
    """Return the class of `tf.errors` for a kernel's error, and its message.

    A text of Python's or of a library's is about this program's inside; the message then tells the
    operation and its inputs, of these types and shapes, instead, and the exception stays the cause
    of the new one.
    """
    if isinstance(error, errors.OpError):
        return type(error), error.message
    message = str(error).strip("\n") or type(error).__name__
    if _OF_APPLE.search(message) and isinstance(error, (NotImplementedError, TypeError)):
        told = f"{op_type} is not implemented on Apple's GPU for {_listed(inputs)}"
        return errors.UnimplementedError, f"{told}{_WITHOUT_APPLE}"
    if isinstance(error, MemoryError) or "allocate" in message or "out of memory" in message:
        return errors.ResourceExhaustedError, f"OOM when allocating a tensor{_amount(message)}"
    own = is_deliberate(error)
    if isinstance(error, NotImplementedError) or "not implemented for" in message:
        told = f"{op_type} is not implemented for {_listed(inputs)}"
        return errors.UnimplementedError, message if own else told
    if not own and _is_of_another_kind(error):
        told = f"Trying to access resource using the wrong type for {op_type}"
        return errors.InvalidArgumentError, told
    if isinstance(error, RecursionError):
        told = f"{op_type}: functions or values are nested too deeply"
        return errors.ResourceExhaustedError, told
    if isinstance(error, _OF_VALUES) or (
        isinstance(error, AttributeError) and type(error.obj).__name__ in _VALUES
    ):
        told = f"{op_type} cannot be computed for {_listed(inputs)}"
        return errors.InvalidArgumentError, message if own else told
    told = f"{op_type} failed for {_listed(inputs)}; this is a fault of Stillflow"
    return errors.InternalError, message if own else told


# Errors of values and shapes; a number where a list should be is a TypeError, too.
_OF_VALUES = (RuntimeError, ValueError, IndexError, ArithmeticError, TypeError)
_VALUES = frozenset({"ndarray", "Tensor", "list", "int", "float", "bytes"})
_AMOUNT = re.compile(r"allocate (\d[\d.]* ?(?:bytes|[KMGTPE]i?B))")


def _amount(message: str) -> str:
    """Return the requested amount of memory; a GPU's report stays whole."""
    found = _AMOUNT.search(message)
    if "CUDA" in message or (found is None and message != "MemoryError"):
        return f": {message}"
    return "" if found is None else f" of {found[1]}"


def _is_of_another_kind(error: BaseException) -> bool:
    """Return True if a kernel used a session's state of another kind.

    A variable has no method of a queue, or one that takes other arguments.
    """
    if isinstance(error, AttributeError) and error.obj is None:
        return _NOT_SET.search(str(error)) is not None
    if isinstance(error, AttributeError):
        return is_our_module(type(error.obj).__module__)
    return isinstance(error, TypeError) and _ARGUMENTS.search(str(error)) is not None


_NOT_SET = re.compile(r"has no setter|can't set attribute")
_ARGUMENTS = re.compile(r"\w+\.\w+\(\) (takes|missing|got an unexpected)")


def _listed(inputs: Sequence[str]) -> str:
    return f"inputs {', '.join(inputs)}" if inputs else "its attributes"


def _described(value: Any) -> str:
    """Return the type and the shape of a tensor, or of a value: `float [2,3]`."""
    if isinstance(value, Tensor):
        return f"{cpp_name(value.dtype)} {dims_lib.to_string(value._dims)}"
    text = value.dtype == object
    name = "string" if text else cpp_name(str(value.dtype).removeprefix("torch."))
    return f"{name} {dims_lib.to_string(tuple(value.shape))}"


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
        return errors.InternalError(None, None, message)
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
        return errors.InvalidArgumentError(op.node_def, op, message)
    if op.card.elsewhere:
        return kernels_elsewhere(op)
    message = f"Stillflow has no kernel for op {op.type} yet"
    return errors.UnimplementedError(op.node_def, op, message)


def no_loop(op: Operation, tensor: Tensor) -> BaseException:
    """Return the error for a Merge of a value that goes round although nothing begins a loop."""
    message = f"{op.type} is not in a while context: no Enter leads to '{tensor.name}'"
    return errors.InvalidArgumentError(op.node_def, op, message)


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
    return errors.InvalidArgumentError(op.node_def, op, message)


def fed_for_a_reference(op: Operation, index: int, fed: Sequence[str]) -> BaseException:
    """Return the error where a value was fed for a variable that an operation is to change."""
    tensor = op._inputs[index]
    kind = cpp_name(tensor.dtype.base_dtype)
    given = f"_arg_{tensor.op.name}_{tensor.value_index}_{fed.index(tensor.name)}:0"
    message = (
        f"Input {index} of node {op.name} was passed {kind} from {given} incompatible with "
        f"expected {kind}_ref."
    )
    return errors.InvalidArgumentError(op.node_def, op, message)


def uninitialized(op: Operation, message: str) -> BaseException:
    """Return the error for reading a variable that was never given a value."""
    where = f"\n\t [[{{{{node {op.name}}}}}]]"
    return errors.FailedPreconditionError(op.node_def, op, message + where)


def dead_fetch(tensor: Tensor, fetched: Iterable[Tensor]) -> BaseException:
    """Return the error for fetching a value of a branch that was not taken.

    `fetched` are all fetches of the run but those that are fed.
    """
    return errors.InvalidArgumentError(
        None,
        None,
        f"Retval[{_place(tensor, fetched)}] does not have value\n\t"
        f"'{tensor.op.name}' is in a branch that was not taken",
    )


def fetched_in_loop(tensor: Tensor, fetched: Iterable[Tensor]) -> BaseException:
    """Return the error for a fetch that has a value in more than one iteration of a loop."""
    return errors.InternalError(
        tensor.op.node_def,
        tensor.op,
        f"Retval[{_place(tensor, fetched)}] has already been set.\n\t"
        f"'{tensor.op.name}' is inside a loop; fetch what leaves it",
    )


def _place(tensor: Tensor, fetched: Iterable[Tensor]) -> int:
    """Return the number of a fetch; TensorFlow sorts them by name."""
    return sum(name < tensor.name for name in {each.name for each in fetched})
