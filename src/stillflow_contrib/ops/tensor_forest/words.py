"""Single random numbers from a counter-based stream, as TensorFlow's C++ code draws them."""

from __future__ import annotations

from stillflow.ops.random.philox import MASK32, MASK64, WORDS_PER_BLOCK, Philox

_BLOCKS = 64  # words are made so many blocks at a time


class Words:
    """The words of a stream, one after the other.

    Args:
      seed: 0 is for a stream that cannot be foreseen.
    """

    def __init__(self, seed: int) -> None:
        self._stream = Philox.from_seeds(0, 0) if seed == 0 else Philox(seed & MASK64, 0, 0)
        if seed == 0:
            self._stream.high = 0
        self._words: list[int] = []

    def word(self) -> int:
        """Return the next 32 bits."""
        if not self._words:
            made = self._stream.reserve(_BLOCKS).words(_BLOCKS * WORDS_PER_BLOCK)
            self._words = made[::-1].tolist()
        return self._words.pop()

    def below(self, count: int) -> int:
        """Return a number from 0 to below `count`, each as likely; 0 if there is none."""
        if count & (count - 1) == 0:
            return self.word() & (count - 1) if count else self.word() * 0
        rejected = MASK32 % count + 1
        while (word := self.word()) < rejected:
            pass
        return word % count
