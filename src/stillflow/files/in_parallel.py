"""The same work on many things, by as many threads as there are processors."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

_MOST = 8


def for_each(work: Callable[[T], None], items: Sequence[T]) -> None:
    """Call `work`, which should release the GIL, with every item.

    Threads take the items in order, each the next one when it is done with one. An exception for
    the first item that has one is raised; items behind it may be left out.
    """
    rest = iter(enumerate(items))
    failures: list[tuple[int, Exception]] = []
    count = min(len(items), os.cpu_count() or 1, _MOST)
    others = [
        threading.Thread(target=_take, args=(work, rest, failures), daemon=True)
        for _ in range(count - 1)
    ]
    for thread in others:
        thread.start()
    _take(work, rest, failures)
    for thread in others:
        thread.join()
    if failures:
        raise min(failures, key=lambda failure: failure[0])[1]


def _take(
    work: Callable[[T], None], rest: Iterator[tuple[int, T]], failures: list[tuple[int, Exception]]
) -> None:
    for index, item in rest:
        try:
            work(item)
        except Exception as error:
            failures.append((index, error))
        if failures:
            return
