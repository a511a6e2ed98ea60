"""One line on stderr, once."""

from __future__ import annotations

import sys

_said: set[str] = set()


def say(message: str) -> None:
    """Print ``stillflow: message`` to stderr, the first time this message comes up."""
    if message not in _said:
        _said.add(message)
        print(f"stillflow: {message}", file=sys.stderr)
