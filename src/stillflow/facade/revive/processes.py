r"""Processes, event loops and warnings as before Python 3.14.

On Linux, a process is started by ``fork`` unless the program chooses otherwise: it has the parent's
state, and its arguments need not be pickled.  ``asyncio.get_event_loop()`` makes a loop where there
is none.  Escapes like ``"\d"``, and comparisons by ``is``, cause no warnings while sources are
compiled.
"""

from __future__ import annotations

import functools
import threading
import warnings
from typing import Any

from stillflow.facade.revive.after import after_import

_COMPILING = r".*(invalid (escape|octal escape) sequence|\"is( not)?\" with|in a 'finally' block)"


def activate() -> None:
    """Patch these modules when they are imported; the program's own filters go first."""
    after_import("multiprocessing.context", _patch_start)
    after_import("asyncio.events", _patch_loop)
    after_import("asyncio", _patch_loop)
    warnings.filterwarnings("ignore", _COMPILING, SyntaxWarning, append=True)


def _patch_start(context: Any) -> None:
    default, kinds = context._default_context, context._concrete_contexts
    chosen = getattr(default, "_default_context", None)
    if getattr(chosen, "_name", "") == "forkserver" and "fork" in kinds:
        default._default_context = kinds["fork"]


def _patch_loop(asyncio: Any) -> None:
    plain = asyncio.get_event_loop
    if hasattr(plain, "__wrapped__"):
        return

    @functools.wraps(plain)
    def get_event_loop() -> Any:
        try:
            return plain()
        except RuntimeError:
            if threading.current_thread() is not threading.main_thread():
                raise
        from asyncio import new_event_loop, set_event_loop

        loop = new_event_loop()
        set_event_loop(loop)
        return loop

    asyncio.get_event_loop = get_event_loop
