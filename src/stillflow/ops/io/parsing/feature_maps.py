"""Places of features in the bytes of many Examples, found for all examples in step.

An Example is a map: entries of a name and a feature, one after the other. The first entries of all
examples are passed over in one step, then the second ones, and so on; the entries are decoded for
all of them at the end. Only the form that protobuf libraries write is read here; of any other bytes
nothing is found, and the protobuf library is to read them.

Examples of one writer often have their features in one order; then only the names of the first
example are looked up. The C++ library, which wrote most files, gives every example another order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from stillflow.ops.io.parsing.scanning import WORD, joined, lengths, margin, windows
from stillflow.ops.io.parsing.spans import Spans
from stillflow.ops.io.parsing.templates import BEFORE, ENTRY, FEATURE, LONGEST, NAME, TAG, Templates

_AROUND = 3  # bytes besides the name: its tag and length, and the tag of the feature
STEPS = 32  # taken before it is looked at whether any example still has entries
FEW = 16  # entries a step, on average: for fewer the protobuf library is faster
_TRIES, _SLOTS = 64, 1 << 20

# From the beginnings of entries to the next `STEPS` ones [steps, examples].
Follow = Callable[[np.ndarray], np.ndarray]


class Entries(NamedTuple):
    """Places of the examples' first entries, then of their second ones, ... [steps, examples]."""

    begins: np.ndarray
    ends: np.ndarray
    inside: np.ndarray  # whether there is one, for an example may have fewer than another


class FeatureMaps:
    """Finder of features by name; their values are expected to have these types."""

    def __init__(self, names: Sequence[str], kinds: Sequence[str]) -> None:
        texts = [name.encode() for name in names]
        known = list(dict.fromkeys(texts))
        self.usable = len(known) > 0 and max(map(len, known)) <= LONGEST
        if not self.usable:
            return
        self.templates = Templates(texts, kinds)
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
        """Find factors that give every name a slot of its own, among few slots."""
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
        """Return the features [names, examples]; None for examples that are written otherwise."""
        if not self.usable:
            return None
        data = joined([bytes(BEFORE), *examples])
        sizes = np.fromiter(map(len, examples), np.int64, len(examples))
        short = walked(data, sizes, _short_follower)
        found = None
        if short is not None:
            found = self._short(data, short) or self._long(data, short)
        if found is None:
            entries = walked(data, sizes, _follower)
            found = None if entries is None else self._long(data, entries)
        return found

    def _short(self, data: np.ndarray, entries: Entries) -> Spans | None:
        """Return the features in entries that are written by the templates."""
        placed, found = None, None
        if len(entries.begins) and entries.inside.all():
            placed = self._in_one_order(data, entries.begins)
        if placed is not None:
            found = self.templates.spans(data, self._again(placed))
        if found is None:
            placed = self._by_name(data, entries)
            if placed is not None:
                found = self.templates.spans(data, self._again(placed), named=True)
        return found

    def _again(self, placed: np.ndarray) -> np.ndarray:
        """Repeat results by name for names that are requested twice."""
        return placed if self.repeated is None else placed[self.repeated]

    def _in_one_order(self, data: np.ndarray, begins: np.ndarray) -> np.ndarray | None:
        """Return the places [names, examples] if all examples have the first one's order."""
        last, _ = self._named(data, begins[-1])
        if (last != last[0]).any():
            return None
        order, _ = self._named(data, begins[:, 0])
        wanted = order >= 0
        names = order[wanted]
        if len(set(names.tolist())) < len(names):
            return None
        if not wanted.all():
            others = begins[~wanted]
            found, sizes = self._named(data, others)
            if not ((found < 0) & _are_short(data, others, sizes)).all():
                return None
        placed = np.full((len(self.words), begins.shape[1]), margin(data))
        placed[names] = begins[wanted]
        return placed

    def _by_name(self, data: np.ndarray, entries: Entries) -> np.ndarray | None:
        """Return the features' places, with an own order for each example."""
        begins, _, inside = entries
        if not ((data.take(begins) == ENTRY) | ~inside).all():
            return None
        names, sizes = self._named(data, begins)
        wanted = (names >= 0) & inside
        if not wanted.all():
            others = np.nonzero(inside & ~wanted)
            if not _are_short(data, begins[others], sizes[others]).all():
                return None
        placed = self._placed(names, wanted, begins, margin(data))
        once = np.count_nonzero(placed < margin(data)) == np.count_nonzero(wanted)
        return placed if once else None

    def _named(self, data: np.ndarray, begins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the names of short entries, like `_known`."""
        words = windows(data, begins.ravel() + TAG, self.count * WORD).view("<u8")
        return self._known(words.reshape(*begins.shape, self.count))

    def _long(self, data: np.ndarray, entries: Entries) -> Spans | None:
        """Return the features in entries of any size."""
        begins, ends, inside = entries
        size, names = lengths(data, begins + 1)
        good = (data.take(begins) == ENTRY) & (names + size == ends)
        words = windows(data, names.ravel(), self.count * WORD).view("<u8")
        places, name_sizes = self._known(words.reshape(*names.shape, self.count))
        after = names + name_sizes + _AROUND
        sizes, values = lengths(data, after)
        good &= values + sizes == ends
        known = (places >= 0) & inside
        if not known.all():
            others = np.nonzero(~known)
            good[others] &= _is_entry(data, names[others], after[others])
            good |= ~inside
        if not good.all():
            return None
        starts, counts = (self._placed(places, known, given, 0) for given in (values, sizes))
        return Spans(data, self._again(starts), self._again(counts))

    def _placed(
        self, names: np.ndarray, known: np.ndarray, given: np.ndarray, nothing: int
    ) -> np.ndarray:
        """Arrange facts about entries [steps, examples] by name [names, examples]."""
        rows = given.shape[1]
        placed = np.full((len(self.words), rows), nothing)
        where = names * rows + np.arange(rows)
        if not known.all():
            where, given = where[known], given[known]
        placed.reshape(-1)[where.ravel()] = given.ravel()
        return placed

    def _known(self, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the names at the start of these words, -1 for others, and the names' sizes."""
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
    """Return True if there is a name and then a feature."""
    short = after - names <= LONGEST + _AROUND
    return short & (data.take(names) == NAME) & (data.take(after - 1) == FEATURE)


def _are_short(data: np.ndarray, begins: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return True if there are short entries with names of these sizes."""
    names, inner = begins + TAG, data.take(begins + 1)
    after = names + sizes + _AROUND
    size, values = lengths(data, after)
    good = (data.take(begins) == ENTRY) & (inner <= LONGEST) & (values + size == names + inner)
    return good & _is_entry(data, names, after)


def walked(
    data: np.ndarray, sizes: np.ndarray, follower: Callable[[np.ndarray], Follow]
) -> Entries | None:
    """Return the entries of examples of these sizes.

    None where an example is not one map, has few entries, or stops before an entry does.
    """
    stops = BEFORE + np.cumsum(sizes)
    starts = stops - sizes
    inner, at = lengths(data, starts + 1)
    empty = sizes == 0
    if not ((data.take(starts) == ENTRY) & (at + inner == stops) | empty).all():
        return None
    followed = _followed(np.where(empty, stops, at), stops, follower(data), margin(data))
    if followed is None:
        return None
    count = int(np.argmax(followed[:, 0] >= stops[0]))
    if (followed[count] == stops).all():
        inside = np.ones((count, len(stops)), bool)
    elif (followed == stops).any(0).all():
        inside = followed < stops
        count = int(np.count_nonzero(inside.any(1)))
    else:
        return None
    return Entries(followed[:count], followed[1 : count + 1], inside[:count])


def _followed(at: np.ndarray, stops: np.ndarray, follow: Follow, end: int) -> np.ndarray | None:
    """Return the entries' places, from the first ones on [steps, examples], until all stop.

    It goes on past the stop of an example, but not far past `end`.
    """
    blocks = [at[None]]
    passed = 0
    while going := int(np.count_nonzero(at < stops)):
        passed += going
        if passed < FEW * len(blocks):
            return None
        blocks.append(follow(at))
        at = np.minimum(blocks[-1][-1], end + 1)
    return np.concatenate(blocks)


def _short_follower(data: np.ndarray) -> Follow:
    """Return a function to the next entries, if all are shorter than 128 bytes."""
    passed = TAG * np.arange(STEPS + 1)[:, None]  # bytes of tags and lengths
    sizes = [data[before + 1 :] for before in passed[:-1, 0].tolist()]

    def follow(at: np.ndarray) -> np.ndarray:
        steps = []
        for size in sizes:
            at = at + size[at]
            steps.append(at)
        return np.concatenate(steps).reshape(STEPS, -1) + passed[1:]

    return follow


def _follower(data: np.ndarray) -> Follow:
    """Return a function to the next entries."""
    end = margin(data)

    def follow(at: np.ndarray) -> np.ndarray:
        steps = []
        for _ in range(STEPS):
            size, after = lengths(data, at + 1)
            at = np.minimum(after + np.abs(size), end + 1)
            steps.append(at)
        return np.concatenate(steps).reshape(STEPS, -1)

    return follow
