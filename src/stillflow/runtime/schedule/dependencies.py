"""Dependencies among steps, while one after the other is done."""

from __future__ import annotations

from collections.abc import Collection, Sequence


class Dependencies:
    """Things by number, each of which waits for others.

    Args:
      before: for each, the numbers of those that it waits for.

    Attributes:
      followers: for each, the numbers of those that wait for it.
    """

    def __init__(self, before: Sequence[Collection[int]]) -> None:
        self.followers: list[list[int]] = [[] for _ in before]
        for number, others in enumerate(before):
            for other in others:
                self.followers[other].append(number)
        self._missing = [len(others) for others in before]

    def free(self) -> list[int]:
        """Those that wait for nothing."""
        return [number for number, count in enumerate(self._missing) if not count]

    def done(self, number: int) -> list[int]:
        """Mark one as done; return those that waited for nothing else."""
        for other in self.followers[number]:
            self._missing[other] -= 1
        return [other for other in self.followers[number] if not self._missing[other]]

    def let_go(self, number: int) -> None:
        """Has one wait no longer; it does not become free a second time."""
        self._missing[number] = 0
