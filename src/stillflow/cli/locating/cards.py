"""The place in the sources of an operation's card."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from stillflow.graph import card

_HOME = Path(__file__).resolve().parents[3]  # the folder that holds our packages


class Place(NamedTuple):
    """A line of a file.

    Attributes:
      file: its path from the folder that holds the package: "stillflow/ops/nn/conv.py".
      line: counted from 1; 0 for the whole file.
    """

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


def shown(path: str | Path) -> str:
    """Return a path from the folder that holds our packages, or as it is if it lies elsewhere."""
    absolute = Path(path).resolve()
    inside = absolute.is_relative_to(_HOME)
    return absolute.relative_to(_HOME).as_posix() if inside else str(absolute)


def place_of_card(name: str) -> Place:
    """Return the statement that makes the card of an operation, or those of its family."""
    found = card.find(name)
    if found is None:
        raise KeyError(name)
    file, line = found.place
    return Place(shown(file), line)
