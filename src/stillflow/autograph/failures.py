"""Errors of converted functions: their texts name the origin in the program."""

from __future__ import annotations

import inspect
import itertools
import linecache
import os
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any, NamedTuple

from stillflow import errors
from stillflow.autograph import hooks
from stillflow.autograph.allowed import is_of_library
from stillflow.autograph.conversion import Part, part_of
from stillflow.graph.export import export

#: Errors with only a message, which can be raised again with another one.
_OF_A_MESSAGE = {
    AssertionError, AttributeError, NameError, NotImplementedError, RuntimeError, StopIteration,
    TypeError, ValueError, errors.InaccessibleTensorError, errors.OperatorNotAllowedInGraphError,
}  # fmt: skip


@export("contrib.autograph.AutoGraphError")
class AutoGraphError(Exception):
    """Base class of errors of AutoGraph."""


class ConversionError(AutoGraphError):
    """A function could not be converted."""


class StagingError(AutoGraphError):
    """A converted function failed with an error whose class cannot be made with another message."""


class MultilineMessageKeyError(KeyError):
    """A KeyError whose message may have several lines.

    Args:
      message: the text.
      key: its only argument.
    """

    def __init__(self, message: str, key: Any) -> None:
        super().__init__(key)
        self._message = message

    def __str__(self) -> str:
        return self._message


MultilineMessageKeyError.__name__ = "KeyError"  # its name in tracebacks


class FrameInfo(NamedTuple):
    """A line of a program that was at work when an error was raised."""

    filename: str
    lineno: int
    function_name: str | None
    code: str
    converted: bool


def _first_letters(paths: Sequence[str]) -> str:
    """Return the letters that all begin with, as TensorFlow compares them: not folder by folder."""
    first, last = min(paths), max(paths)
    ends = (at for at, (one, other) in enumerate(zip(first, last)) if one != other)
    return first[: next(ends, min(len(first), len(last)))]


class ErrorMetadata:
    """Origin of an error.

    Attributes:
      translated_stack: lines of the program, innermost first.
      cause_message: the class of the first error, and its message.
    """

    def __init__(self, stack: Sequence[FrameInfo], cause_message: str) -> None:
        self.translated_stack = tuple(stack)
        self.cause_message = cause_message

    def get_message(self) -> str:
        """Return the text of the error."""
        paths = [frame.filename for frame in self.translated_stack]
        common = ""
        if len(paths) > 1:
            common = os.path.dirname(_first_letters(paths)).rstrip(os.path.sep)
        lines = ["in converted code:", *([f"    relative to {common}:"] if common else []), ""]
        for frame in reversed(self.translated_stack):
            path = frame.filename[len(common) + 1 if common else 0 :]
            mark = "  *" if frame.converted else ""
            lines.append(f"    {path}:{frame.lineno} {frame.function_name}{mark}")
            lines.append(f"        {frame.code or '<source unavailable>'}")
        lines += ["", *(f"    {line}" for line in self.cause_message.split("\n")), ""]
        return "\n".join(lines)

    def to_exception(self, source_error: Exception) -> Exception:
        """Return an error of the class of `source_error`, if possible, with this one's text."""
        made = self._made(source_error)
        made.__suppress_context__ = True
        made.ag_error_metadata = self  # type: ignore[attr-defined]
        return made

    def _made(self, error: Exception) -> Exception:
        kind, message = type(error), self.get_message()
        if isinstance(error, errors.OpError):
            arguments = inspect.signature(kind).parameters
            codes = [error.error_code] if "error_code" in arguments else []
            if list(arguments) == ["node_def", "op", "message", "error_code"][: 3 + len(codes)]:
                return kind(error.node_def, error.op, message, *codes)
        if kind in _OF_A_MESSAGE or issubclass(kind, AutoGraphError) or _takes_anything(kind):
            return kind(message)
        if kind is KeyError:
            return MultilineMessageKeyError(message, self.cause_message)
        return StagingError(message)


def _takes_anything(kind: type[Exception]) -> bool:
    """Return True if a class is made as `Exception` is, by itself and its bases of the program.

    Python's own classes inherit their constructors in some of its versions only; for TensorFlow
    each has its own.
    """
    own = itertools.takewhile(lambda base: base is not Exception, kind.__mro__)
    return not any("__init__" in vars(base) or base.__module__ == "builtins" for base in own)


def told(error: Exception) -> Exception:
    """Return the error to raise for one that a converted function's call raised.

    The first frame of its traceback is that of the caller.
    """
    if hasattr(error, "ag_pass_through"):
        return error
    stack = _stack(error)
    inner = getattr(error, "ag_error_metadata", None)
    if inner is None:
        metadata = ErrorMetadata(stack, f"{type(error).__name__}: {error}")
    else:
        metadata = ErrorMetadata([*inner.translated_stack, *stack], inner.cause_message)
    return metadata.to_exception(error)


def _stack(error: Exception) -> list[FrameInfo]:
    """Return the lines that are the program's, innermost first.

    Of one function the innermost alone.
    """
    found: list[tuple[Part | None, FrameInfo]] = []
    for frame, line in _of_program(error):
        part = part_of(frame.f_code)
        around = found[-1][0] if found else None
        if part is not None and part.is_inside and around and part.whole == around.whole:
            found.pop()
        found.append((part, _described(frame, line, part)))
    return [info for _, info in reversed(found)]


def _of_program(error: Exception) -> Iterator[tuple[FrameType, int]]:
    """Yield frames and their lines, without frames inside of a library."""
    traceback, hidden = error.__traceback__, True
    while traceback is not None:
        frame = traceback.tb_frame
        hidden = errors.is_ours(frame.f_code.co_filename) or (hidden and is_of_library(frame))
        if not hidden:
            yield frame, traceback.tb_lineno
        traceback = traceback.tb_next


def _described(frame: FrameType, line: int, part: Part | None) -> FrameInfo:
    code = frame.f_code
    text = linecache.getline(code.co_filename, line, frame.f_globals).strip()
    name = code.co_name if part is None else part.name
    return FrameInfo(code.co_filename, line, name, text, part is not None)


hooks.told.provide(told)
