"""``tensorflow.python.util.decorator_utils``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def get_qualified_name(function: Any) -> str:
    """Return the name of a function, after that of its class."""
    return str(getattr(function, "__qualname__", None) or function.__name__)


def _normalize_docstring(docstring: str | None) -> str:
    """Return a docstring without its indentation."""
    return inspect.cleandoc(docstring.rstrip()) if docstring else ""


def add_notice_to_docstring(
    doc: str | None, instructions: str, no_doc_str: str, suffix_str: str, notice: list[str]
) -> str:
    """Return a docstring with a warning below its first line.

    Args:
      doc: the docstring; may be None.
      instructions: the replacement to recommend; the warning's last line.
      no_doc_str: the first line where there is no docstring.
      suffix_str: what to add to the first line where there is one.
      notice: the lines of the warning.

    Raises:
      ValueError: there is no notice.
    """
    if not notice:
        raise ValueError("The `notice` arg must not be empty.")
    lines = _normalize_docstring(doc).splitlines()
    first = f"{lines[0]} {suffix_str}" if lines else no_doc_str
    body = ["", f"Warning: {notice[0]}", *notice[1:], *([instructions] if instructions else [])]
    if len(lines) > 1 and lines[1].strip():
        body.append("")
    return "\n".join([first, *body, *lines[1:]])


def validate_callable(func: Any, decorator_name: str) -> None:
    """Raise ValueError for a function that is not callable."""
    if not callable(func):
        raise ValueError(
            f"{func} is not a function. If this is a property, make sure @property appears before "
            f"@{decorator_name} in your source code:\n\n@property\n@{decorator_name}\n"
            "def method(...)"
        )


class classproperty:
    """A property of a class."""

    def __init__(self, func: Callable[[Any], Any]) -> None:
        self._func = func

    def __get__(self, owner_self: Any, owner_cls: Any) -> Any:
        return self._func(owner_cls)
