"""Where the features of many Examples stand in their bytes, found for all examples in step.

An Example is a map: entries of a name and a feature, one after the other. The first entries of all
examples are passed over in one step, then the second ones, and so on; what the entries are is
looked at for all of them at the end. Only the way that protobuf libraries write is read here; of
any other bytes nothing is found, and the protobuf library is to read them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stillflow.ops.parsing.spans import MARGIN, Spans, lengths

ENTRY, NAME, FEATURE = 0x0A, 0x0A, 0x12
_WORD = 8
# By how many bytes of a word belong to a name, those bits.
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(_WORD + 1)], np.uint64)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, its bits in no order: it mixes those of words
STEPS = 8  # taken before it is looked at whether any example still has entries
FEW = 16  # entries a step, on average: for fewer the protobuf library is faster


class FeatureMaps:
    """Finds features of these names."""

    def __init__(self, names: Sequence[str]) -> None:
        texts = [name.encode() for name in names]
        known = sorted(set(texts))
        self.sizes = np.array([len(text) for text in known], np.int64)
        count = -(-max(map(len, known), default=0) // _WORD)
        padded = b"".join(text.ljust(count * _WORD, b"\0") for text in known)
        self.words = np.frombuffer(padded, "<u8").reshape(len(known), count).T
        mixed = _mixed(list(self.words), self.sizes)
        self.order = np.argsort(mixed)
        self.mixed = mixed[self.order]
        place = {text: i for i, text in enumerate(known)}
        self.places = [place[text] for text in texts]
        self.usable = len(set(mixed.tolist())) == len(known) > 0

    def find(self, examples: Sequence[bytes]) -> Spans | None:
        """The features [names, examples]; None for examples that are written otherwise."""
        if not self.usable:
            return None
        text = b"".join([*examples, bytes(MARGIN + _WORD * len(self.words))])
        data = np.frombuffer(text, np.uint8)
        found = entries(data, np.fromiter(map(len, examples), np.int64, len(examples)))
        if found is None:
            return None
        begins, stops, rows = found
        sizes = data[begins + 1].astype(np.int64)
        names = begins + 2
        after = names + sizes
        inner, values = lengths(data, np.minimum(after, stops) + 1)
        good = (data[begins] == NAME) & (sizes < 128) & (after < stops) & (inner >= 0)
        good &= (data[np.minimum(after, stops)] == FEATURE) & (values + inner == stops)
        if not good.all():
            return None
        known, places = self._names(text, names, sizes)
        where = places[known], rows[known]
        spans = np.zeros((2, len(self.sizes), len(examples)), np.int64)
        spans[0][where], spans[1][where] = values[known], stops[known]
        return Spans(text, spans[0][self.places], spans[1][self.places])

    def _names(
        self, text: bytes, names: np.ndarray, sizes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Which names are looked for, and which ones of those they are."""
        at_any_byte = np.ndarray(len(text) - _WORD + 1, "<u8", text, strides=(1,))
        words = [
            at_any_byte[names + n * _WORD] & _MASKS[np.clip(sizes - n * _WORD, 0, _WORD)]
            for n in range(len(self.words))
        ]
        found = np.searchsorted(self.mixed, _mixed(words, sizes))
        places = self.order[np.minimum(found, len(self.order) - 1)]
        known = self.sizes[places] == sizes
        for word, expected in zip(words, self.words, strict=True):
            known &= word == expected[places]
        return known, places


def _mixed(words: list[np.ndarray], sizes: np.ndarray) -> np.ndarray:
    """One number for a name of some words."""
    mixed = sizes.astype(np.uint64)
    for word in words:
        mixed = (mixed ^ word) * _FACTOR
    return mixed


def entries(
    data: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Where entries begin and end, and the examples they are of; for examples of these sizes."""
    stops = np.cumsum(sizes)
    rows = np.flatnonzero(sizes)
    starts, stops = (stops - sizes)[rows], stops[rows]
    inner, at = lengths(data, starts + 1)
    if not ((data[starts] == ENTRY) & (inner >= 0) & (at + inner == stops)).all():
        return None
    blocks = [at[None]]
    passed = 0
    while going := int(np.count_nonzero(at < stops)):
        passed += going
        if passed < FEW * len(blocks):
            return None
        blocks.append(_followed(data, at, stops))
        at = blocks[-1][-1]
    begins = np.concatenate(blocks)
    begins, ends = begins[:-1], begins[1:]
    inside = begins < stops
    begins, ends = begins[inside], ends[inside]
    size, after = lengths(data, begins + 1)
    if not ((data[begins] == ENTRY) & (size >= 0) & (after + size == ends)).all():
        return None
    return after, ends, np.broadcast_to(rows, inside.shape)[inside]


def _followed(data: np.ndarray, at: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Where the next entries begin [STEPS, examples], or the example stops."""
    followed = np.empty((STEPS + 1, len(at)), np.int64)
    followed[0], length = at, data[1:]
    for step in range(STEPS):  # as if all were shorter than 128 bytes, which takes less time
        at = np.minimum(at + length[at] + 2, stops)
        followed[step + 1] = at
    begins = followed[:-1]
    if ((length[begins] > 127) & (begins < stops)).any():
        for step in range(STEPS):
            size, after = lengths(data, followed[step] + 1)
            followed[step + 1] = np.minimum(after + size, stops)
    return followed[1:]
