"""``distutils.version``: versions that compare number by number."""

from __future__ import annotations

import re
from functools import total_ordering
from typing import Any


@total_ordering
class Version:
    """A version that compares with another or with a string."""

    version: Any

    def __init__(self, vstring: str | None = None) -> None:
        if vstring:
            self.parse(vstring)

    def parse(self, vstring: str) -> None:
        """Take the version from a string."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__} ('{self}')"

    def _other(self, other: Any) -> Any:
        return type(self)(other) if isinstance(other, str) else other

    def __eq__(self, other: object) -> bool:
        return bool(self.version == self._other(other).version)

    def __lt__(self, other: Any) -> bool:
        return bool(self.version < self._other(other).version)

    def __hash__(self) -> int:
        return hash(str(self))


class LooseVersion(Version):
    """Any version: a list of numbers and words."""

    def parse(self, vstring: str) -> None:
        self.vstring = vstring
        parts = re.findall(r"\d+|[a-z]+|[^\da-z.]+", vstring)
        self.version = [int(part) if part.isdigit() else part for part in parts]

    def __str__(self) -> str:
        return self.vstring

    def __repr__(self) -> str:
        return f"LooseVersion ('{self}')"


class StrictVersion(Version):
    """A version like 1.2, 1.2.3 or 1.2a1."""

    version_re = re.compile(r"^(\d+) \. (\d+) (\. (\d+))? ([ab](\d+))?$", re.VERBOSE | re.ASCII)
    prerelease: tuple[str, int] | None

    def parse(self, vstring: str) -> None:
        """Take the version from a string.

        Raises:
          ValueError: it is not of that form.
        """
        match = self.version_re.match(vstring)
        if not match:
            raise ValueError(f"invalid version number '{vstring}'")
        major, minor, patch, tag, number = match.group(1, 2, 4, 5, 6)
        numbers = (int(major), int(minor), int(patch or 0))
        self.prerelease = (tag[0], int(number)) if tag else None
        # A pre-release comes before the release: any tag sorts before "z".
        self.version = (*numbers, self.prerelease or ("z", 0))

    def __str__(self) -> str:
        numbers = self.version[:3] if self.version[2] else self.version[:2]
        tag = "".join(map(str, self.prerelease)) if self.prerelease else ""
        return ".".join(map(str, numbers)) + tag
