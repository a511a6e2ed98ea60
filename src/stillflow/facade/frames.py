"""Tracebacks without the frames that tell a user nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType


def cut(error: BaseException | None, is_hidden: Callable[[str], bool]) -> None:
    """Cut frames of hidden files from the tracebacks of an exception and of its causes."""
    for one in _chain(error):
        one.__traceback__ = _cut(one.__traceback__, is_hidden)


def forget_hidden_causes(error: BaseException | None) -> None:
    """Let exceptions stand alone that go back to one with no frame left."""
    for one in _chain(error):
        if one.__cause__ is not None and one.__cause__.__traceback__ is None:
            one.__cause__ = None
        if one.__context__ is not None and one.__context__.__traceback__ is None:
            one.__context__ = None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    todo = [error]
    while todo:
        one = todo.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            yield one
            todo += [one.__cause__, one.__context__]


def _cut(traceback: TracebackType | None, is_hidden: Callable[[str], bool]) -> TracebackType | None:
    kept = []
    while traceback is not None:
        if not is_hidden(traceback.tb_frame.f_code.co_filename):
            kept.append(traceback)
        traceback = traceback.tb_next
    result = None
    for entry in reversed(kept):
        result = TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result
