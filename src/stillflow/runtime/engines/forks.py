"""Objects that a forked process has to put in order: threads of engines do not live on in it."""

from __future__ import annotations

import os
from typing import Protocol

from stillflow.util.weak import LiveSet


class Forked(Protocol):
    """Object with something to do in a forked process."""

    def after_fork(self) -> None:
        """Put the object in order."""


_noted: LiveSet[Forked] = LiveSet()


def note(each: Forked) -> None:
    """Have `after_fork` of an object called in each forked process."""
    _noted.add(each)


def _after_fork() -> None:
    for each in _noted:
        each.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
