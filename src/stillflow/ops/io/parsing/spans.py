"""Values of many features of a batch, decoded together.

Features hold few values as a rule, so the cost of a call counts more than its work. Here the bytes
of all features are in one array, each with its start and its size, and every step of decoding is
taken for all of them at once. Only the form that protobuf libraries write is read here: one list of
packed numbers, or one string; any other feature is processed separately.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any, NamedTuple, overload

import numpy as np

from stillflow import native
from stillflow.ops.io.parsing import wire
from stillflow.ops.io.parsing.scanning import WORD, joined, places, running_total, strings, windows
from stillflow.ops.io.parsing.scanning import words as words_at
from stillflow.ops.strings.kernels import strings_of
from stillflow.util import texts
from stillflow.util.texts import FEW, address_of

_LIMIT = 512  # bytes of a feature: longer ones are copied as fast one by one
SHORT_HEADER = 4  # bytes of the header of a list if its lengths take a byte each
_NUMBERS = {"float": np.float32, "int64": np.int64}
_VOID = 2  # of a list of nothing


class Spans(NamedTuple):
    """Bytes of features, [features, rows] of them."""

    data: np.ndarray  # uint8, with MARGIN bytes that belong to none
    starts: np.ndarray  # int64
    sizes: np.ndarray  # int64; 0 for a feature that is not there
    short: bool = False  # whether all are known to be one list whose lengths take a byte each

    def column(self, feature: int) -> Column:
        """Return the bytes of one feature."""
        return Column(self.data, self.starts[feature], self.sizes[feature])


class Read(NamedTuple):
    """Values read from features [features, rows]."""

    plain: np.ndarray  # bool [features]: whether they could be read in all rows
    values: np.ndarray  # of those, one after the other
    counts: np.ndarray  # int64 [features, rows]: how many each has; none of the others


class Column(Sequence[bytes]):
    """The bytes of one feature by row; they are copied when they are asked for."""

    __slots__ = ("data", "sizes", "starts")

    def __init__(self, data: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> None:
        self.data = data
        self.starts = starts
        self.sizes = sizes

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, row: int) -> bytes: ...

    @overload
    def __getitem__(self, row: slice) -> list[bytes]: ...

    def __getitem__(self, row: int | slice) -> bytes | list[bytes]:
        if isinstance(row, slice):
            return [self[each] for each in range(*row.indices(len(self)))]
        start = self.starts[row]
        return self.data[start : start + self.sizes[row]].tobytes()

    def __iter__(self) -> Iterator[bytes]:
        return iter(strings(self.data, self.starts, self.sizes))


def join(raws: Sequence[Sequence[bytes]]) -> Spans:
    """Features that are given as bytes of their own."""
    items = list(chain.from_iterable(raws))
    sizes = np.fromiter(map(len, items), np.int64, len(items))
    shape = len(raws), len(raws[0])
    return Spans(joined(items), (running_total(sizes) - sizes).reshape(shape), sizes.reshape(shape))


def decode(spans: Spans, kind: str, runs: Sequence[slice]) -> list[wire.Block | None]:
    """Values of features that hold values of one type, for runs of them that follow each other.

    None for a run in which some feature is to be looked at by itself.
    """
    group = slice(runs[0].start, runs[-1].stop)
    starts, sizes = spans.starts[group], spans.sizes[group]
    spanned = Spans(spans.data, starts, sizes, spans.short)
    library = native.library()
    if library is None:
        found = _read(spanned, kind)
    elif kind in _NUMBERS:
        found = _read_in_c(library, spanned, kind)
    else:
        found = _strings_in_c(library, spanned)
    if found is None:
        return [None] * len(runs)
    plain, values, counts = found
    ends = [0, *np.cumsum(counts.sum(1)).tolist()]
    blocks: list[wire.Block | None] = []
    for run in runs:
        part = slice(run.start - group.start, run.stop - group.start)
        read = values[ends[part.start] : ends[part.stop]]
        alike = wire.Block(read, counts[part], sizes[part] > 0)
        blocks.append(alike if plain[part].all() else None)
    return blocks


def _read_in_c(library: Any, spans: Spans, kind: str) -> Read | None:
    """Read numbers in features; None if there is one that is none."""
    counts = np.empty(spans.starts.shape, np.int64)
    features = (
        address_of(spans.data), address_of(spans.starts), address_of(spans.sizes), counts.size,
        wire.TAGS[kind], address_of(counts),
    )  # fmt: skip
    library.count_values(*features)
    plain = np.all(counts >= 0, axis=1)
    counts[~plain] = 0
    values = np.empty(int(counts.sum()), _NUMBERS[kind])
    if not library.read_values(*features, address_of(values)):
        return None
    return Read(plain, values, counts)


def _strings_in_c(library: Any, spans: Spans) -> Read:
    """Read strings in features."""
    counts = np.empty(spans.starts.shape, np.int64)
    features = (
        address_of(spans.data), address_of(spans.starts), address_of(spans.sizes), counts.size,
        address_of(counts),
    )  # fmt: skip
    library.count_strings(*features)
    plain = np.all(counts >= 0, axis=1)
    counts[~plain] = 0
    total = int(counts.sum())
    starts, sizes = np.empty(total, np.int64), np.empty(total, np.int64)
    library.find_strings(*features, address_of(starts), address_of(sizes))
    if total > FEW and texts.library() is not None:
        found = texts.Texts(starts + texts.address_of(spans.data), sizes, spans.data)
        return Read(plain, texts.strings_at(found, (total,)), counts)
    return Read(plain, strings_of(strings(spans.data, starts, sizes), (total,)), counts)


def _read(spans: Spans, kind: str) -> Read | None:
    """Return the same without C, and of strings, too."""
    data, starts, sizes, short = spans
    good, begins, inner, kept = _payloads(Spans(data, starts.ravel(), sizes.ravel(), short), kind)
    plain = np.all(good.reshape(starts.shape), axis=1)
    if not plain.all():
        each = np.repeat(plain, starts.shape[1])
        inner, kept = inner * each, kept & each
    try:
        values, counts = _VALUES[kind](data, begins, inner, kept)
    except wire.Damaged:
        return None
    return Read(plain, values, counts.reshape(starts.shape))


def _payloads(spans: Spans, kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return features of one list, with the places of their values, their bytes, if any."""
    data, starts, sizes, short = spans
    if short:
        head, good = np.minimum(sizes, SHORT_HEADER), np.ones(len(sizes), bool)
    else:
        words, masks, heads = _headers(kind)
        kinds = np.minimum(sizes, _LIMIT)
        good = words_at(data, starts) & masks.take(kinds) == words.take(kinds)
        head = heads.take(kinds)
    begins, inner = starts + head, sizes - head
    if kind == "int64":  # no number goes on past the end
        good &= (data.take(begins + inner - 1) < 128) | (inner == 0)
    elif kind == "float":
        good &= inner & 3 == 0  # no number is cut short
    return good, begins, inner, head > _VOID


@cache
def _headers(kind: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the first word of a feature by its size, the mask of it, and the number of bytes."""
    headers = [wire.header(wire.TAGS[kind], size) for size in range(_LIMIT)]
    heads = np.array([*map(len, headers), 0])
    padded = b"".join(text.ljust(WORD, b"\0") for text in [*headers, b""])
    words = np.frombuffer(padded, "<u8").copy()
    masks = (np.uint64(1) << heads.astype(np.uint64) * np.uint64(8)) - np.uint64(1)
    refused = np.array([text == wire.NO_HEADER for text in headers] + [True])
    words[refused], masks[refused] = 1, 0  # a value that no word has
    return words, masks, heads


def _floats(data: np.ndarray, starts: np.ndarray, sizes: np.ndarray, _: Any) -> wire.Decoded:
    width = int(sizes.max(initial=0))
    if not width or int(sizes.min()) < width:
        starts, width = places(starts, sizes // 4, 4), 4
    return wire.Decoded(windows(data, starts, width).view("<f4").ravel(), sizes // 4)


def _integers(data: np.ndarray, starts: np.ndarray, sizes: np.ndarray, _: Any) -> wire.Decoded:
    return wire.varints(data.take(places(starts, sizes, 1)), sizes)


def _strings(
    data: np.ndarray, starts: np.ndarray, sizes: np.ndarray, kept: np.ndarray
) -> wire.Decoded:
    there = np.flatnonzero(kept)
    values = strings(data, starts.take(there), sizes.take(there))
    return wire.Decoded(strings_of(values, (len(values),)), kept.astype(np.int64))


_VALUES = {"float": _floats, "int64": _integers, "string": _strings}
