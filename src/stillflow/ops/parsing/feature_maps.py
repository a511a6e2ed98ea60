"""Where the features of many Examples stand in their bytes, found for all examples in step.

An Example is a map: entries of a name and a feature, one after the other. The first entries of all
examples are passed over in one step, then the second ones, and so on; what the entries are is
looked at for all of them at the end. Only the way that protobuf libraries write is read here; of
any other bytes nothing is found, and the protobuf library is to read them.

Nothing is made of the order in which an example has its features: the C++ library, which wrote most
files, gives every example another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from stillflow.ops.parsing.scanning import MARGIN, WORD, joined, lengths, windows
from stillflow.ops.parsing.spans import Spans

ENTRY, NAME, FEATURE = 0x0A, 0x0A, 0x12
_AROUND = 3  # bytes besides the name: its tag and length, and the tag of the feature
_LONGEST = 127  # bytes of a name
STEPS = 32  # taken before it is looked at whether any example still has entries
FEW = 16  # entries a step, on average: for fewer the protobuf library is faster
_TRIES, _SLOTS = 64, 1 << 20

Follow = Callable[[np.ndarray], np.ndarray]  # from the beginnings of entries to the next ones


class FeatureMaps:
    """Finds features of these names."""

    def __init__(self, names: Sequence[str]) -> None:
        texts = [name.encode() for name in names]
        known = list(dict.fromkeys(texts))
        self.usable = len(known) > 0 and max(map(len, known)) <= _LONGEST
        if not self.usable:
            return
        self.count = -(-(max(map(len, known)) + _AROUND) // WORD)
        width = self.count * WORD
        bits = np.arange(width) < np.arange(_AROUND, _AROUND + 256)[:, None]
        self.masks = (bits * np.uint8(255)).view("<u8")  # by the size of a name
        written = [bytes((NAME, len(text))) + text + bytes((FEATURE,)) for text in known]
        padded = b"".join(text.ljust(width, b"\0") for text in written)
        self.words = np.frombuffer(padded, "<u8").reshape(len(known), self.count)
        self.repeated = None
        if len(known) < len(texts):
            self.repeated = np.array([known.index(text) for text in texts])
        self.usable = self._make_slots()

    def _make_slots(self) -> bool:
        """Finds factors that give every name a slot of its own, among few slots."""
        random = np.random.RandomState(0)
        size = 4 * len(self.words)
        while size <= _SLOTS:
            self.shift = np.uint64(64 - size.bit_length())
            for _ in range(_TRIES):
                self.factors = random.randint(0, 1 << 63, self.count, np.uint64) * 2 + 1
                slots = self._slots(self.words)
                if len(set(slots.tolist())) == len(slots):
                    self.slots = np.zeros(1 << size.bit_length(), np.int64)
                    self.slots[slots] = np.arange(len(slots))
                    return True
            size *= 2
        return False

    def _slots(self, words: np.ndarray) -> np.ndarray:
        mixed = words[..., 0] * self.factors[0]
        for place in range(1, self.count):
            mixed += words[..., place] * self.factors[place]
        return (mixed >> self.shift).view(np.int64)

    def find(self, examples: Sequence[bytes]) -> Spans | None:
        """The features [names, examples]; None for examples that are written otherwise."""
        if not self.usable:
            return None
        data = joined(examples)
        found = entries(data, np.fromiter(map(len, examples), np.int64, len(examples)))
        if found is None:
            return None
        names, stops, inside = found
        words = windows(data, names.ravel(), self.count * WORD).view("<u8")
        words = words.reshape(*names.shape, self.count)
        places, name_sizes = self._known(words)
        after = names + name_sizes + _AROUND
        sizes, values = lengths(data, after)
        good = values + sizes == stops
        known = (places >= 0) & inside
        if not known.all():
            others = np.nonzero(~known)
            good[others] &= _is_entry(data, names[others], after[others])
            good |= ~inside
        if not good.all():
            return None
        starts, found_sizes = self._placed(places, known, values, sizes)
        return Spans(data, starts, found_sizes)

    def _placed(
        self, places: np.ndarray, known: np.ndarray, values: np.ndarray, sizes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Where features begin and their sizes [names, examples]."""
        rows = values.shape[1]
        placed = np.zeros((2, len(self.words), rows), np.int64)
        where = places * rows + np.arange(rows)
        if not known.all():
            where, values, sizes = where[known], values[known], sizes[known]
        for part, given in zip(placed, (values, sizes), strict=True):
            part.reshape(-1)[where.ravel()] = given.ravel()
        starts, sizes = placed if self.repeated is None else placed[:, self.repeated]
        return starts, sizes

    def _known(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which names these words begin with, -1 for one not looked for, and the names' sizes."""
        sizes = words.view(np.uint8)[..., 1].astype(np.int64)
        words = words & self.masks.take(sizes, axis=0)
        places = self.slots.take(self._slots(words))
        same = words == self.words.take(places, axis=0)
        known = same[..., 0]
        for other in range(1, self.count):
            known = known & same[..., other]
        if not known.all():
            places[~known] = -1
        return places, sizes


def _is_entry(data: np.ndarray, names: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Whether there is a name and then a feature."""
    short = after - names <= _LONGEST + _AROUND
    return short & (data.take(names) == NAME) & (data.take(after - 1) == FEATURE)


def entries(
    data: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Of examples of these sizes the first entries, then the second ones, ... [steps, examples].

    Returns:
      Where each begins after its own tag and length; where it stops; whether it is one, for an
      example that has fewer entries than another has nothing there.
    """
    stops = np.cumsum(sizes)
    starts = stops - sizes
    inner, at = lengths(data, starts + 1)
    empty = sizes == 0
    if not ((data.take(starts) == ENTRY) & (at + inner == stops) | empty).all():
        return None
    at = np.where(empty, stops, at)
    for follow in (_short_follower(data), _follower(data)):
        followed = _followed(at, stops, follow)
        if followed is None:
            return None
        inside = (followed < stops)[:-1]
        begins, ends = followed[:-1], followed[1:]
        size, after = lengths(data, begins + 1)
        good = (data.take(begins) == ENTRY) & (after + size == ends)
        if (good | ~inside).all():
            return after, ends, inside
    return None


def _followed(at: np.ndarray, stops: np.ndarray, follow: Follow) -> np.ndarray | None:
    """Where entries begin, from the first ones on [steps, examples], and then where all stop."""
    blocks = [at[None]]
    passed = 0
    while going := int(np.count_nonzero(at < stops)):
        passed += going
        if passed < FEW * len(blocks):
            return None
        steps = []
        for _ in range(STEPS):
            at = follow(at)
            steps.append(at)
        blocks.append(np.minimum(np.concatenate(steps).reshape(STEPS, -1), stops))
        at = blocks[-1][-1]
    followed = np.concatenate(blocks)
    return followed[: np.count_nonzero((followed < stops).any(1)) + 1]


def _short_follower(data: np.ndarray) -> Follow:
    """Where the next entries begin if all are shorter than 128 bytes.

    It follows even past the end, no further than the margin.
    """
    sizes = (data[1:] & np.uint8(127)) + np.uint8(2)
    return lambda at: at + sizes[at]


def _follower(data: np.ndarray) -> Follow:
    """Where the next entries begin."""
    end = len(data) - MARGIN

    def follow(at: np.ndarray) -> np.ndarray:
        size, after = lengths(data, at + 1)
        return np.minimum(after + np.abs(size), end)

    return follow
