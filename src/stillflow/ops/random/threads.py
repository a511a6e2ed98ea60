"""Spreading independent pieces of numpy work over threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

_lock = threading.Lock()
_pool: ThreadPoolExecutor | None = None


def in_pieces(total: int, size: int, threads: int, work: Callable[[int, int], None]) -> None:
    """Call `work(start, stop)` for consecutive pieces of range(total), of at most `size` each.

    Up to `threads` calls run at a time, including the caller's thread; pieces must not depend on
    each other.
    """
    starts = iter(range(0, total, size))

    def drain() -> None:
        # next() on a range iterator is atomic, so every piece is taken once.
        for start in starts:
            work(start, min(start + size, total))

    helpers = min(threads, -(-total // size)) - 1
    if helpers <= 0:
        drain()
        return
    pool = _threads()
    futures = [pool.submit(drain) for _ in range(helpers)]
    try:
        drain()
    finally:
        for future in futures:
            future.result()


def _threads() -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="stillflow-random")
        return _pool


def _forget_pool() -> None:
    """Forget the pool: a forked child has none of its parent's threads."""
    global _pool, _lock
    _pool = None
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
