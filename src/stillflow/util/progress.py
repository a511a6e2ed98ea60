"""Progress of long work, on stderr: a bar on a terminal, elsewhere a line every ten seconds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import NamedTuple, TypeVar

from stillflow.platform import native_level

T = TypeVar("T")

_BAR_AFTER = 2.0  # seconds
_LINE_EVERY = 10.0


class _Display(NamedTuple):
    """A way to show how many items are done.

    Attributes:
      show: takes their number.
      every: seconds from one call of `show` to the next.
      close: removes what is shown.
    """

    show: Callable[[int], object]
    every: float
    close: Callable[[], None]


_NOTHING = _Display(lambda done: None, float("inf"), lambda: None)
_shown: list[_Display] = []  # at most one: work inside other work shows nothing


def over(items: Iterable[T], doing: str, things: str) -> Iterator[T]:
    """Yield the items, and show how many are done once that takes long.

    Nothing is shown where TF_CPP_MIN_LOG_LEVEL is 3.

    Args:
      items: their number is shown as well if they have a length.
      doing: the work, such as "converting".
      things: the kind of the items, such as "tensors".
    """
    if getattr(sys.stderr, "closed", True) or not native_level.wanted(native_level.ERROR):
        yield from items
        return
    start = time.monotonic()
    due = start + (_BAR_AFTER if _is_terminal() else _LINE_EVERY)
    display: _Display | None = None
    try:
        for done, item in enumerate(items, 1):
            yield item
            now = time.monotonic()
            if now >= due:
                display = display or _display(items, doing, things, start)
                display.show(done)
                due = now + display.every
    finally:
        if display is not None:
            display.close()
            _shown[:] = [each for each in _shown if each is not display]


def _display(items: Iterable[T], doing: str, things: str, start: float) -> _Display:
    """Return what shows some work from now on: nothing inside other work that is shown."""
    if _shown:
        return _NOTHING
    total = len(items) if isinstance(items, Sized) else None
    bar = _bar(doing, things, total) if _is_terminal() else None
    _shown.append(bar or _lines(doing, things, total, start))
    return _shown[0]


def _is_terminal() -> bool:
    """Return True for a terminal; a stream that the program made may have no `isatty`."""
    return bool(getattr(sys.stderr, "isatty", bool)())


def _lines(doing: str, things: str, total: int | None, start: float) -> _Display:
    of = "" if total is None else f" of {total:,}"

    def show(done: int) -> None:
        seconds = time.monotonic() - start
        print(f"stillflow: {doing}: {done:,}{of} {things}, {seconds:.0f} s", file=sys.stderr)

    return _Display(show, _LINE_EVERY, lambda: None)


def _bar(doing: str, things: str, total: int | None) -> _Display | None:
    """Return a bar of the package rich, None without it."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn
    except ImportError:
        return None
    bar = Progress(
        "{task.description}", BarColumn(), MofNCompleteColumn(), things, TimeRemainingColumn(),
        console=Console(stderr=True), transient=True,
    )  # fmt: skip
    task = bar.add_task(doing, total=total)
    bar.start()
    return _Display(lambda done: bar.update(task, completed=done), 0.1, bar.stop)
