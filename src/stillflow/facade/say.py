"""One line on stderr, once."""

from __future__ import annotations

import sys

_said: set[str] = set()
# Frames between the look-up of a name and the module that needs it.
_MACHINERY = ("stillflow.facade.", "importlib", "_frozen_importlib")


def say(message: str) -> None:
    """Print ``stillflow: message`` to stderr, the first time this message comes up."""
    if message not in _said:
        _said.add(message)
        print(f"stillflow: {message}", file=sys.stderr)


def say_to_program(message: str) -> bool:
    """Say it, and return True, if a program's own module is the cause, not a library."""
    from stillflow.facade.revive.program_files import own

    frame = sys._getframe(1)
    while frame.f_back is not None and _is_machinery(str(frame.f_globals.get("__name__", ""))):
        frame = frame.f_back
    if not own(frame.f_code.co_filename):
        return False
    say(message)
    return True


def _is_machinery(module: str) -> bool:
    return module.startswith(_MACHINERY)
