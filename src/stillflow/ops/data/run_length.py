"""Run lengths: numbers of elements that a pipeline processes at once."""

from __future__ import annotations

MOST = 64
# Nobody is to wait for elements much longer than for one: beyond this, fewer are taken.
_SHORT, _LONG = 1_000_000, 4_000_000  # nanoseconds


class RunLength:
    """The length of the next run of elements: it grows while runs are short.

    Args:
      size: of the first run.
      most: elements of a run.

    Attributes:
      size: that length.
    """

    def __init__(self, size: int = 1, most: int = MOST) -> None:
        self.size = size
        self.most = most

    def took(self, nanoseconds: int, count: int) -> None:
        """Record the duration of a run of `count` elements."""
        if nanoseconds > _LONG:
            self.size = max(1, self.size // 2)
        elif nanoseconds < _SHORT and count >= self.size:
            self.size = min(2 * self.size, self.most)
