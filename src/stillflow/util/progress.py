"""Progress of long work, on stderr: a bar on a terminal, elsewhere a line every ten seconds."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any, TypeVar

T = TypeVar("T")

_BAR_AFTER = 2.0  # seconds
_LINE_EVERY = 10.0
_shown: list[str] = []  # what is shown now: work inside other work shows nothing


def over(items: Iterable[T], doing: str, things: str) -> Iterator[T]:
    """Yield the items, and show how many are done once that takes long.

    Nothing is shown where TF_CPP_MIN_LOG_LEVEL is 3.

    Args:
      items: their number is shown as well if they have a length.
      doing: the work, such as "converting".
      things: the kind of the items, such as "tensors".
    """
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL") == "3" or sys.stderr is None:
        yield from items
        return
    start = time.monotonic()
    on_terminal = sys.stderr.isatty()
    due = start + (_BAR_AFTER if on_terminal else _LINE_EVERY)
    total = len(items) if isinstance(items, Sized) else None
    show: Callable[[int], object] | None = None
    close: Callable[[], None] | None = None
    try:
        for done, item in enumerate(items):
            yield item
            now = time.monotonic()
            if now < due:
                continue
            if show is None:
                if _shown:
                    due = float("inf")
                    continue
                _shown.append(doing)
                show, close = _bar(doing, things, total) if on_terminal else (None, None)
                show = show or _lines(doing, things, total, start)
            show(done + 1)
            due = now + (0.1 if close else _LINE_EVERY)
    finally:
        if close is not None:
            close()
        if show is not None:
            _shown.pop()


def _lines(doing: str, things: str, total: int | None, start: float) -> Callable[[int], None]:
    of = "" if total is None else f" of {total:,}"

    def show(done: int) -> None:
        seconds = time.monotonic() - start
        print(f"stillflow: {doing}: {done:,}{of} {things}, {seconds:.0f} s", file=sys.stderr)

    return show


def _bar(doing: str, things: str, total: int | None) -> tuple[Any, Any]:
    """Return what moves a bar and what removes it; nothing without the package rich."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
    except ImportError:
        return None, None
    bar = Progress(
        "{task.description}", BarColumn(), MofNCompleteColumn(), things, TimeRemainingColumn(),
        console=Console(stderr=True), transient=True,
    )  # fmt: skip
    task = bar.add_task(doing, total=total)
    bar.start()
    return (lambda done: bar.update(task, completed=done)), bar.stop
