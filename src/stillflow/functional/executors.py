"""`tf.experimental.function_executor_type`: the executor that calls of functions ask for.

All kinds run a body in the same way here; what is asked for is checked and written into graphs.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from stillflow import errors
from stillflow.graph.export import export
from stillflow.ops.functional.cards import EXECUTORS


class _OfThread(threading.local):
    wanted = ""


_of_thread = _OfThread()


def wanted_executor() -> str:
    """Return the executor type that this thread asks for, "" for none."""
    return _of_thread.wanted


def check_executor(name: str) -> None:
    """Raise NotFoundError unless this thread asks for an executor that exists."""
    wanted = _of_thread.wanted
    if wanted and wanted not in EXECUTORS:
        raise errors.NotFoundError(
            None, None, f"No executor factory registered for the given executor type: {wanted} "
            f"Registered factories are {{{', '.join(EXECUTORS)}}}. [Op:{name}]",
        )  # fmt: skip


@export("experimental.function_executor_type")
@contextlib.contextmanager
def function_executor_type(executor_type: str | None) -> Iterator[None]:
    """Ask for a kind of executor for the functions that are called within the context.

    Args:
      executor_type: "", "DEFAULT" or "SINGLE_THREADED_EXECUTOR"; None for the usual one. A call in
        eager execution raises `NotFoundError` for another one.
    """
    before, _of_thread.wanted = _of_thread.wanted, executor_type or ""
    try:
        yield
    finally:
        _of_thread.wanted = before
