"""Objects together with the program line where they entered a scope."""

from __future__ import annotations

import sys
from typing import Any


class CodeLocation:
    """An object and the line of the program that set it.

    Attributes:
      obj: what it is.
      filename, lineno: the line.
    """

    __slots__ = ("filename", "lineno", "obj")

    def __init__(self, obj: Any, filename: str | None = None, lineno: int | None = None) -> None:
        self.obj = obj
        self.filename = filename
        self.lineno = lineno

    def copy_metadata(self) -> CodeLocation:
        """Return the line alone."""
        return CodeLocation(None, self.filename, self.lineno)


def entered_here(obj: Any) -> CodeLocation:
    """`obj` with the line of the `with` statement, for use in generators of `contextmanager`."""
    frame = sys._getframe(3)  # this function, the generator, contextlib
    return CodeLocation(obj, frame.f_code.co_filename, frame.f_lineno)


def device_text(spec: Any) -> str:
    """Return the text of a device scope's argument, functions as their name and line."""
    code = getattr(spec, "__code__", None)
    if code is None:
        return str(spec)
    return f"{spec.__name__}<{code.co_filename}, {code.co_firstlineno}>"
