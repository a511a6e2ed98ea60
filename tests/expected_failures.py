"""Lists of tests that have to fail under an option of the suite, with the reason of each."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path


class ExpectedFailures:
    """Tests that fail under an option.

    Args:
      path: rows of a test's id, in which * stands for anything, and a reason, by a tab.
    """

    def __init__(self, path: Path) -> None:
        lines = path.read_text().splitlines()
        rows = (line.split("\t") for line in lines if line[:1] not in ("", "#"))
        self._rows = [
            (re.compile(".*".join(map(re.escape, pattern.split("*")))), reason)
            for pattern, reason in rows
        ]

    def reason(self, test: str) -> str | None:
        """Return why a test fails, None if it has to pass."""
        return next((why for pattern, why in self._rows if pattern.fullmatch(test)), None)

    def without_test(self, tests: Iterable[str]) -> list[str]:
        """Return the patterns that no test matches."""
        tests = list(tests)
        patterns = [pattern for pattern, _ in self._rows]
        return [each.pattern for each in patterns if not any(map(each.fullmatch, tests))]
