"""Advice for a program of TensorFlow 0.x that ends where 1.x differs."""

from __future__ import annotations

from stillflow.cli.frames import failing_line
from stillflow.cli.python2_signs import program


def hint(error: BaseException) -> str | None:
    """Return a sentence that offers ``--tf0`` for the error that ended the program.

    None if the line of the program that failed does not look like 0.x, or is served 0.x already.
    """
    from stillflow.cli.checking.old_api import signs
    from stillflow.cli.checking.sources import parse
    from stillflow.facade import tf0

    if tf0.active() or isinstance(error, (KeyboardInterrupt, MemoryError)):
        return None
    failing = failing_line(error, within_libraries=True)
    if failing is None:
        return None
    path, number = failing
    try:
        tree, lines, _ = parse(path)
    except (SyntaxError, OSError, RecursionError):
        return None
    for sign in signs(tree):
        first, last = (lines[min(at, len(lines)) - 1] for at in (sign.line, sign.end))
        if first <= number <= last:
            return (
                f"{sign.name} in {path}, line {first}, is that of TensorFlow 0.x: "
                f"python -m stillflow --tf0 {program()}"
            )
    return None
