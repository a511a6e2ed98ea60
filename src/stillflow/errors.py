"""The exceptions that running a graph raises: `OpError` and one subclass per error code."""

from __future__ import annotations

import functools
import os
import re
import runpy
import traceback
import warnings
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from stillflow._export import export, export_value
from stillflow._home import FOLDERS

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16

export_value("errors.OK", OK)
export_value("errors.CANCELLED", CANCELLED)
export_value("errors.UNKNOWN", UNKNOWN)
export_value("errors.INVALID_ARGUMENT", INVALID_ARGUMENT)
export_value("errors.DEADLINE_EXCEEDED", DEADLINE_EXCEEDED)
export_value("errors.NOT_FOUND", NOT_FOUND)
export_value("errors.ALREADY_EXISTS", ALREADY_EXISTS)
export_value("errors.PERMISSION_DENIED", PERMISSION_DENIED)
export_value("errors.RESOURCE_EXHAUSTED", RESOURCE_EXHAUSTED)
export_value("errors.FAILED_PRECONDITION", FAILED_PRECONDITION)
export_value("errors.ABORTED", ABORTED)
export_value("errors.OUT_OF_RANGE", OUT_OF_RANGE)
export_value("errors.UNIMPLEMENTED", UNIMPLEMENTED)
export_value("errors.INTERNAL", INTERNAL)
export_value("errors.UNAVAILABLE", UNAVAILABLE)
export_value("errors.DATA_LOSS", DATA_LOSS)
export_value("errors.UNAUTHENTICATED", UNAUTHENTICATED)

_RUNPY = ("<frozen runpy>", runpy.__file__)  # a file up to Python 3.10
_SHELL = os.path.join("IPython", "core", "interactiveshell.py")  # whose run_code() runs a cell
_TAG = re.compile(r"\{\{([a-z_]+) ([A-Za-z0-9_\-.\\/]+)\}\}")  # a node, as messages name it


class InaccessibleTensorError(ValueError):
    """A tensor was used outside the function or control-flow body it belongs to."""


class OperatorNotAllowedInGraphError(TypeError):
    """A tensor was used where Python needs its value, which only running the graph gives."""


@export("errors.OpError", "OpError")
class OpError(Exception):
    """An operation failed while the graph ran.

    Attributes:
      message: What went wrong.
      error_code: The code, one of `tf.errors.CANCELLED` ... `tf.errors.UNAUTHENTICATED`.
      op: The `tf.Operation` that failed, or None if it is not known (or not in this graph).
      node_def: The `NodeDef` of the node that failed, or None.
    """

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int) -> None:
        super().__init__()
        self._node_def = node_def
        self._op = op
        self._message = message
        self._error_code = error_code

    @property
    def message(self) -> str:
        """The message; for nodes of the graph it names the program's lines."""
        if "{{" in self._message and self._op is not None:
            scopes: list[str] = []
            told = _TAG.sub(functools.partial(_place, self._op, scopes), self._message)
            if scopes:
                told += "Additional information about colocations:" + "\n".join(scopes)
            self._message = told
        return self._message

    @property
    def op(self) -> Any:
        """The `tf.Operation` that failed, or None."""
        return self._op

    @property
    def error_code(self) -> int:
        """The error code."""
        return self._error_code

    @property
    def node_def(self) -> Any:
        """The `NodeDef` of the node that failed, or None."""
        return self._node_def

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self._node_def, self._op, self._message, self._error_code)

    def __str__(self) -> str:
        if self._op is None:
            return self.message
        return f"{self.message}\n\nOriginal stack trace for {self._op.name!r}:\n" + defined_at(
            self._op
        )


def _place(op: Any, scopes: list[str], tag: re.Match[str]) -> str:
    """Return the text for `{{node name}}`; add the scopes of its creation to `scopes`."""
    kind, name = tag.groups()
    if kind == "function_node":
        return ""
    try:
        made = op.graph.get_operation_by_name(name)
    except (AttributeError, KeyError, ValueError):  # of another graph, or task
        return tag[0]
    frames = _frames(made)
    if not frames:
        return tag[0]
    text = f"node {name} (defined at {frames[-1][0]}:{frames[-1][1]}) "
    if kind == "colocation_node":
        devices = _scope_lines(
            name, "device assignments", "device", [(at.obj, at) for at in made._device_assignments]
        )
        colocations = _scope_lines(
            name, "node-device colocations", "colocate_with", list(made._colocation_dict.items())
        )
        scopes.append(f"{colocations}\n{devices}")
        text += f"placed on device {devices} "
    return text


def _scope_lines(name: str, what: str, scope: str, entered: list[tuple[Any, Any]]) -> str:
    """Says which scopes of a kind an operation was made in, and where they were entered."""
    if not entered:
        return f"No {what} were active during op '{name}' creation."
    lines = [f"  with tf.{scope}({obj}): <{at.filename}:{at.lineno}>" for obj, at in entered]
    return "\n".join([f"{what.capitalize()} active during op '{name}' creation:", *lines])


def _restore(cls: type[OpError], node_def: Any, op: Any, message: str, error_code: int) -> OpError:
    error = cls.__new__(cls)
    OpError.__init__(error, node_def, op, message, error_code)
    return error


def defined_at(op: Any) -> str:
    """Return the lines of the program that created `op`, and the operation it was derived from."""
    lines = _format_frames(op)
    output = list(lines)
    original = getattr(op, "_original_op", None)
    while original is not None:
        output.append(f"\n...which was originally created as op {original.name!r}, defined at:\n")
        previous, lines = lines, _format_frames(original)
        output.extend(_elide(lines, previous))
        original = getattr(original, "_original_op", None)
    return "".join(output)


def is_ours(path: str) -> bool:
    """Return True if a source file is of this package or starts programs."""
    return path.startswith(FOLDERS) or path in _RUNPY


def of_program(frames: list[Any]) -> list[Any]:
    """Return the program's frames of a stack: not of this package, nor of a launcher.

    Frames are (file, line, function, ...) each, outermost first.
    """
    # In a notebook, the cell is the program; the frames outside serve all cells.
    shell = [
        at
        for at, frame in enumerate(frames)
        if frame[2] == "run_code" and str(frame[0]).endswith(_SHELL)
    ]
    inside = frames[shell[-1] + 1 :] if shell else frames
    return [frame for frame in inside if not is_ours(str(frame[0]))]


def _frames(op: Any) -> list[Any]:
    """Return the stack frames of the program that made an operation, outermost first."""
    frames = getattr(op, "traceback", None) or getattr(op, "_traceback", None) or []
    frames = [tuple(frame)[:4] for frame in frames]
    return of_program(frames) or frames


def _format_frames(op: Any) -> list[str]:
    """One text per stack frame of the program."""
    return traceback.format_list(_frames(op))


def _elide(lines: list[str], previous: list[str]) -> list[str]:
    """Shortens the stretch at the start of `lines` that `previous` has shown already."""
    shared = 0
    for line, line_before in zip(lines, previous):
        if line != line_before:
            break
        shared += 1
    if shared <= 2:
        return lines
    elided = f"[elided {shared - 2} identical lines from previous traceback]\n"
    return [lines[0], elided, *lines[shared - 1 :]]


def _with_code(error_code: int) -> Callable[..., Any]:
    """Return the constructor of a class whose errors all have one code."""

    def initialize(self: OpError, node_def: Any, op: Any, message: str) -> None:
        OpError.__init__(self, node_def, op, message, error_code)

    return initialize


@export("errors.CancelledError")
class CancelledError(OpError):
    """The operation was cancelled, for instance since its queue or session was closed."""

    __init__ = _with_code(CANCELLED)


@export("errors.UnknownError")
class UnknownError(OpError):
    """An error that fits no other class, for instance one from a Python function."""

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int = UNKNOWN) -> None:
        super().__init__(node_def, op, message, error_code)


@export("errors.InvalidArgumentError")
class InvalidArgumentError(OpError):
    """An operation received an argument that it cannot use.

    Example:
      >>> x = tf.placeholder(tf.float32, [], name="x")
      >>> try: tf.Session().run(x)
      ... except tf.errors.InvalidArgumentError as error: print(error.message[:48])
      You must feed a value for placeholder tensor 'x'
    """

    __init__ = _with_code(INVALID_ARGUMENT)


@export("errors.DeadlineExceededError")
class DeadlineExceededError(OpError):
    """The operation did not finish in the time it was given."""

    __init__ = _with_code(DEADLINE_EXCEEDED)


@export("errors.NotFoundError")
class NotFoundError(OpError):
    """A requested item does not exist, such as a file or a checkpoint's key.

    Example:
      >>> try: tf.gfile.GFile("missing.txt").read()
      ... except tf.errors.NotFoundError as error: print(error.message)
      missing.txt; No such file or directory
    """

    __init__ = _with_code(NOT_FOUND)


@export("errors.AlreadyExistsError")
class AlreadyExistsError(OpError):
    """An item to be created exists already."""

    __init__ = _with_code(ALREADY_EXISTS)


@export("errors.PermissionDeniedError")
class PermissionDeniedError(OpError):
    """The caller may not do this."""

    __init__ = _with_code(PERMISSION_DENIED)


@export("errors.UnauthenticatedError")
class UnauthenticatedError(OpError):
    """The caller did not prove who it is."""

    __init__ = _with_code(UNAUTHENTICATED)


@export("errors.ResourceExhaustedError")
class ResourceExhaustedError(OpError):
    """Memory, disk space or another resource ran out."""

    __init__ = _with_code(RESOURCE_EXHAUSTED)


@export("errors.FailedPreconditionError")
class FailedPreconditionError(OpError):
    """The state does not allow the operation, such as reading an uninitialized variable."""

    __init__ = _with_code(FAILED_PRECONDITION)


@export("errors.AbortedError")
class AbortedError(OpError):
    """The operation was aborted because of a concurrent one."""

    __init__ = _with_code(ABORTED)


@export("errors.OutOfRangeError")
class OutOfRangeError(OpError):
    """The input is at its end: an iterator, a reader or a closed queue has nothing left.

    Example:
      >>> item = tf.data.Dataset.range(0).make_one_shot_iterator().get_next()
      >>> try: tf.Session().run(item)
      ... except tf.errors.OutOfRangeError as error: print("end of the data", error.error_code)
      end of the data 11
    """

    __init__ = _with_code(OUT_OF_RANGE)


@export("errors.UnimplementedError")
class UnimplementedError(OpError):
    """The operation exists, but not for these arguments or on this device."""

    __init__ = _with_code(UNIMPLEMENTED)


@export("errors.InternalError")
class InternalError(OpError):
    """An invariant is violated: a defect of the runtime."""

    __init__ = _with_code(INTERNAL)


@export("errors.UnavailableError")
class UnavailableError(OpError):
    """A service cannot be reached just now."""

    __init__ = _with_code(UNAVAILABLE)


@export("errors.DataLossError")
class DataLossError(OpError):
    """Data is damaged or incomplete, such as a truncated file."""

    __init__ = _with_code(DATA_LOSS)


Error = TypeVar("Error", bound=OpError)
Error_co = TypeVar("Error_co", bound=OpError, covariant=True)


class _FromMessage(Protocol[Error_co]):
    def __call__(self, message: str, op: Any = None) -> Error_co: ...


def _from_message(kind: Callable[[Any, Any, str], Error]) -> _FromMessage[Error]:
    def make(message: str, op: Any = None) -> Error:
        return kind(None if op is None else op.node_def, op, message)

    return make


# Errors by their message; where no operation is given, the caller of one adds it.
cancelled = _from_message(CancelledError)
unknown = _from_message(UnknownError)
invalid_argument = _from_message(InvalidArgumentError)
deadline_exceeded = _from_message(DeadlineExceededError)
not_found = _from_message(NotFoundError)
already_exists = _from_message(AlreadyExistsError)
permission_denied = _from_message(PermissionDeniedError)
resource_exhausted = _from_message(ResourceExhaustedError)
failed_precondition = _from_message(FailedPreconditionError)
aborted = _from_message(AbortedError)
out_of_range = _from_message(OutOfRangeError)
unimplemented = _from_message(UnimplementedError)
internal = _from_message(InternalError)
unavailable = _from_message(UnavailableError)
data_loss = _from_message(DataLossError)


_CODE_TO_EXCEPTION_CLASS: dict[int, Any] = {
    CANCELLED: CancelledError,
    UNKNOWN: UnknownError,
    INVALID_ARGUMENT: InvalidArgumentError,
    DEADLINE_EXCEEDED: DeadlineExceededError,
    NOT_FOUND: NotFoundError,
    ALREADY_EXISTS: AlreadyExistsError,
    PERMISSION_DENIED: PermissionDeniedError,
    RESOURCE_EXHAUSTED: ResourceExhaustedError,
    FAILED_PRECONDITION: FailedPreconditionError,
    ABORTED: AbortedError,
    OUT_OF_RANGE: OutOfRangeError,
    UNIMPLEMENTED: UnimplementedError,
    INTERNAL: InternalError,
    UNAVAILABLE: UnavailableError,
    DATA_LOSS: DataLossError,
    UNAUTHENTICATED: UnauthenticatedError,
}
_EXCEPTION_CLASS_TO_CODE = {cls: code for code, cls in _CODE_TO_EXCEPTION_CLASS.items()}


@export("errors.exception_type_from_error_code")
def exception_type_from_error_code(error_code: int) -> type[Any]:
    """Return the exception class of an error code; KeyError if there is none."""
    return _CODE_TO_EXCEPTION_CLASS[error_code]


@export("errors.error_code_from_exception_type")
def error_code_from_exception_type(cls: Any) -> Any:
    """Return the error code of an exception class.

    For any other class it warns and returns an `UnknownError`, as TensorFlow does.
    """
    try:
        return _EXCEPTION_CLASS_TO_CODE[cls]
    except KeyError:
        warnings.warn("Unknown class exception", stacklevel=2)
        return UnknownError(None, None, "Unknown class exception", None)  # type: ignore[arg-type]


def _make_specific_exception(node_def: Any, op: Any, message: str, error_code: int) -> OpError:
    """Return the exception for an error code, with a warning if no class has this code."""
    exception_type = _CODE_TO_EXCEPTION_CLASS.get(error_code)
    if exception_type is None:
        warnings.warn(f"Unknown error code: {error_code:d}", stacklevel=2)
        return UnknownError(node_def, op, message, error_code)
    error: OpError = exception_type(node_def, op, message)
    return error


class Status:
    """Code and message that `raise_exception_on_not_ok_status` reads after its block."""

    def __init__(self) -> None:
        self.code = OK
        self.message = ""

    def set(self, code: int, message: str) -> None:
        """Record the outcome."""
        self.code = code
        self.message = message


@export("errors.raise_exception_on_not_ok_status")
class raise_exception_on_not_ok_status:
    """Context that gives a `Status` and raises the matching exception if it ends up not OK."""

    def __enter__(self) -> Status:
        self.status = Status()
        return self.status

    def __exit__(self, exc_type: Any, exc_value: Any, exc_traceback: Any) -> None:
        status, self.status = self.status, Status()
        if status.code != OK:
            raise _make_specific_exception(None, None, status.message, status.code)
