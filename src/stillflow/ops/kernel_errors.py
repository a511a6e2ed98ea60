"""Errors of kernels as classes and messages of `tf.errors`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NoReturn

from stillflow import errors
from stillflow._home import is_our_module
from stillflow.graph import dims as dims_lib
from stillflow.graph.dtypes import cpp_name
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


def raise_from(made: BaseException, error: BaseException) -> NoReturn:
    """Raise the error that another one became, with that as its cause, unless it is the same.

    Code that follows the causes of an error that is its own cause does not end.
    """
    if made is error:
        raise error
    raise made from error


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
