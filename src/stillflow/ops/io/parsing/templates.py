"""Recognition of the common form of short features in Examples.

The first bytes of an Example's entry are known from the name of the feature and the type of its
values but for some lengths, and these follow from the length of the entry:

    0A entry  0A length-of-name name  12 feature  type list  0A values

So one comparison replaces reading it step by step. It covers most features: one list, so short that
each length takes one byte.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stillflow.ops.io.parsing import wire
from stillflow.ops.io.parsing.scanning import WORD, margin, windows
from stillflow.ops.io.parsing.spans import SHORT_HEADER, Spans

ENTRY, NAME, FEATURE = 0x0A, 0x0A, 0x12
LONGEST = 127  # bytes of an entry, and so of a name
TAG = 2  # bytes of a tag and a length
BEFORE = 256  # bytes that there have to be before the first entry
_AROUND = 4  # bytes in an entry besides the name and the feature
_HEADER = TAG + _AROUND + SHORT_HEADER  # and before the values besides the name

Bytes = Sequence["int | None"]  # None for one that is not compared


class Templates:
    """Bytes before the values of these features, by the type of their values.

    As many bytes are compared for each, so that some of them may be in front of the entry.
    """

    def __init__(self, names: Sequence[bytes], kinds: Sequence[str]) -> None:
        sizes = np.array([[len(name)] for name in names])
        self.around = sizes + _AROUND
        self.count = -(-(_HEADER + int(sizes.max())) // WORD)
        self.width = self.count * WORD
        self.behind = sizes + _HEADER - self.width  # the beginning of an entry
        full: list[Bytes] = []
        empty: list[Bytes] = []
        for name, kind in zip(names, kinds, strict=True):
            tag, less = wire.TAGS[kind], len(name) + _AROUND
            named = [NAME, len(name), *name, FEATURE]
            full.append([
                ENTRY, None, *named, -less, tag, -less - TAG, wire.LIST, -less - SHORT_HEADER
            ])  # fmt: skip
            empty.append([ENTRY, less + TAG, *named, TAG, tag, 0, None, None])
        self.full, self.full_bits = self._words(full), self._bits(full)
        self.empty, self.empty_bits = self._words(empty), self._bits(empty)
        # To be multiplied with the length of the entry and added to the last word of `full`.
        self.lengths = self._words([[1, 0, 1, 0, 1]])[0, -1]

    def _words(self, rows: Sequence[Bytes]) -> np.ndarray:
        """Bytes as the last of some words [rows, words]; one below 0 borrows from the next."""
        table = np.zeros((len(rows), self.width), np.int64)
        for row, numbers in zip(table, rows, strict=True):
            row[self.width - len(numbers) :] = [number or 0 for number in numbers]
        digits = table.reshape(len(rows), self.count, WORD) << np.arange(0, 8 * WORD, 8)
        return digits.sum(-1).view(np.uint64)

    def _bits(self, rows: Sequence[Bytes]) -> np.ndarray:
        """Return the bits of such words that are compared."""
        return self._words([[0 if byte is None else 255 for byte in row] for row in rows])

    def spans(self, data: np.ndarray, entries: np.ndarray, named: bool = False) -> Spans | None:
        """Return the features whose entries begin at these places [features, examples].

        One that an example does not have begins at the margin. None if any feature is written
        otherwise.

        Args:
          named: whether what is in front of the features is known to be right.
        """
        lengths = data.take(entries + 1)
        if lengths.max(initial=0) > LONGEST:
            return None
        first = self.count - 1 if named else 0
        places = (entries + (self.behind + first * WORD)).ravel()
        words = windows(data, places, self.width - first * WORD).view(np.uint64)
        words = words.reshape(*entries.shape, -1)
        sizes = lengths.astype(np.int64)
        sizes -= self.around
        others = np.flatnonzero(self._differ(words, lengths) | (sizes < SHORT_HEADER))
        if len(others):
            absent = entries.take(others) == margin(data)
            empty = self._are_empty(words, others) & (sizes.take(others) == TAG)
            if not (absent | empty).all():
                return None
            sizes.reshape(-1)[others[absent]] = 0
        return Spans(data, entries + (self.around + TAG), sizes, short=True)

    def _differ(self, words: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Return True if the last words before the values differ from those of these lengths."""
        last = lengths.astype(np.uint64)
        last *= self.lengths
        last += self.full[:, -1:]
        last ^= words[..., -1]
        other = np.empty_like(last)
        for place in range(2, words.shape[-1] + 1):
            np.bitwise_xor(words[..., -place], self.full[:, -place, None], out=other)
            other &= self.full_bits[:, -place, None]
            last |= other
        return last != 0

    def _are_empty(self, words: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Return True if some entries have the last words of an empty list."""
        _, examples, count = words.shape
        features = places // examples
        words = words.reshape(-1, count).take(places, 0)
        words &= self.empty_bits[:, -count:].take(features, 0)
        return (words == self.empty[:, -count:].take(features, 0)).all(1)
