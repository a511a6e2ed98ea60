"""Numbers of many features of a batch, decoded together.

Features hold few numbers as a rule, so what one call costs counts more than what it does. Here the
bytes of all features stand in one array, each with where it begins and ends, and every step of
decoding is taken for all of them at once. Only the way that protobuf libraries write is read here:
one list of packed numbers; for any other feature the caller is told to look at it by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np

from stillflow.ops.parsing import wire

MARGIN = 16  # bytes after the last feature: so far past its start a header is looked for
_LENGTH_BYTES = 4  # of a length that is read here
_LONG = 256  # bytes a feature: from here on to copy features one by one is faster


class Spans(NamedTuple):
    """Bytes of features, [features, rows] of them."""

    data: bytes  # with MARGIN bytes that belong to none
    starts: np.ndarray  # int64
    stops: np.ndarray  # int64; of a feature that is not there, its start

    def select(self, features: list[int]) -> Spans:
        """Some of the features, in this order."""
        return Spans(self.data, self.starts[features], self.stops[features])

    def columns(self) -> list[Column]:
        """The bytes of each feature."""
        return list(map(Column, repeat(self.data), self.starts, self.stops))


class Column(Sequence[bytes]):
    """The bytes of one feature by row; they are copied when they are asked for."""

    __slots__ = ("data", "starts", "stops")

    def __init__(self, data: bytes, starts: np.ndarray, stops: np.ndarray) -> None:
        self.data = data
        self.starts = starts
        self.stops = stops

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, row: Any) -> Any:
        return self.data[self.starts[row] : self.stops[row]]

    def __iter__(self) -> Iterator[bytes]:
        data = self.data
        pairs = zip(self.starts.tolist(), self.stops.tolist(), strict=True)
        return iter([data[start:stop] for start, stop in pairs])


def join(raws: Sequence[Sequence[bytes]]) -> Spans:
    """Features that are given as bytes of their own."""
    data = b"".join([b"".join(row) for row in raws] + [bytes(MARGIN)])
    flat = chain.from_iterable(raws)
    sizes = np.fromiter(map(len, flat), np.int64, len(raws) * len(raws[0]))
    stops = np.cumsum(sizes)
    shape = len(raws), len(raws[0])
    return Spans(data, (stops - sizes).reshape(shape), stops.reshape(shape))


def lengths(data: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lengths written at these places, and where they end; -1 for what is too long."""
    byte = data[at]
    value, stops = (byte & 127).astype(np.int64), at + 1
    more = byte > 127
    for place in range(1, _LENGTH_BYTES):
        if not more.any():
            return value, stops
        byte = data[stops]
        value |= np.where(more, (byte & 127).astype(np.int64) << 7 * place, 0)
        stops = stops + more
        more &= byte > 127
    value[more] = -1
    return value, stops


def decode(spans: Spans, kind: str) -> list[wire.Decoded | None]:
    """Values of features that hold numbers of one type; None for one to be looked at by itself."""
    data = np.frombuffer(spans.data, np.uint8)
    starts, plain = _payloads(data, spans, kind)
    features = np.flatnonzero(plain.all(1))
    found: list[wire.Decoded | None] = [None] * len(plain)
    if not len(features):
        return found
    starts = starts[features].ravel()
    sizes = spans.stops[features].ravel() - starts
    if kind == "float":
        values, counts = _floats(spans.data, starts, sizes), sizes // 4
    else:
        values, counts = wire.varints(_gathered(spans.data, starts, sizes), sizes)
    counts = counts.reshape(len(features), -1)
    stops = np.cumsum(counts.sum(1)).tolist()
    start = 0
    for feature, stop, count in zip(features.tolist(), stops, counts, strict=True):
        found[feature] = wire.Decoded(values[start:stop], count)
        start = stop
    return found


def _payloads(data: np.ndarray, spans: Spans, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Where the numbers of features begin, and which features are one list of them."""
    starts, stops = spans.starts, spans.stops
    inner, after = lengths(data, starts + 1)
    outer, begin = lengths(data, after + 1)
    listed = (data[after] == wire.LIST) & (begin + outer == stops)
    void = (inner == 0) & (after == stops)
    plain = (data[starts] == wire.TAGS[kind]) & (inner >= 0) & (after + inner == stops)
    plain &= void | (listed & (outer >= 0))
    if kind == "float":
        plain &= void | (outer % 4 == 0)
    else:
        plain &= void | (data[stops - 1] < 128)
    absent = starts == stops
    return np.where(absent | void, stops, begin), plain | absent


def _gathered(data: bytes, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The bytes of spans, one after the other."""
    total = int(sizes.sum())
    if total >= _LONG * len(sizes):
        pairs = zip(starts.tolist(), (starts + sizes).tolist(), strict=True)
        return np.frombuffer(b"".join([data[start:stop] for start, stop in pairs]), np.uint8)
    return np.frombuffer(data, np.uint8)[_places(starts, sizes, 1)]


def _floats(data: bytes, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    if int(sizes.sum()) >= _LONG * len(sizes):
        return _gathered(data, starts, sizes).view("<f4")
    at_any_byte = np.ndarray(len(data) - 3, "<f4", data, strides=(1,))
    return at_any_byte[_places(starts, sizes // 4, 4)]


def _places(starts: np.ndarray, counts: np.ndarray, width: int) -> np.ndarray:
    """Where each item of spans begins that hold so many items of `width` bytes."""
    before = np.cumsum(counts) - counts
    return np.repeat(starts - before * width, counts) + np.arange(0, counts.sum() * width, width)
