"""Advice for a program of TensorFlow 0.x that ends where 1.x differs."""

from __future__ import annotations

import traceback

from stillflow.cli.python2_signs import program


def hint(error: BaseException) -> str | None:
    """Return a sentence that offers ``--tf0``.

    Args:
      error: what ended the program.

    Returns:
      None if the line of the program that failed does not look like 0.x, or is served 0.x already.
    """
    from stillflow.cli.checking.old_api import signs
    from stillflow.cli.checking.sources import parse
    from stillflow.facade import tf0
    from stillflow.facade.revive.sources import own

    if tf0.active() or isinstance(error, (KeyboardInterrupt, MemoryError)):
        return None
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.endswith(".py") or not own(frame.filename):
            continue
        try:
            tree, lines, _ = parse(frame.filename)
        except (SyntaxError, OSError, RecursionError):
            return None
        for sign in signs(tree):
            first, last = (lines[min(at, len(lines)) - 1] for at in (sign.line, sign.end))
            if frame.lineno is not None and first <= frame.lineno <= last:
                return (
                    f"{sign.name} in {frame.filename}, line {first}, is that of TensorFlow 0.x: "
                    f"python -m stillflow --tf0 {program()}"
                )
        return None
    return None
