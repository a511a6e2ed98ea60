"""FarmHash fingerprints of byte strings: 64 bits that never change between machines or versions.

The hash (Geoff Pike's "Fingerprint64") is defined on 64-bit words that wrap around, like numpy's
uint64 arrays, so strings of one length are hashed side by side. Words are read little-endian. A
string up to 16 bytes, up to 32, up to 64 and beyond each has its own scheme.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from stillflow import native
from stillflow.util.texts import address_of, any_texts_of

Words = np.ndarray  # uint64, one for each string

K0 = np.uint64(0xC3A5C85C97CB3127)
K1 = np.uint64(0xB492B66FBE98F273)
K2 = np.uint64(0x9AE16A3B2F90404F)
_CAT = np.uint64(0xC6A4A7935BD1E995)
_SEED = 81
_BLOCK = 64
_ALL_BITS = (1 << 64) - 1


def fingerprints(strings: Sequence[bytes] | np.ndarray) -> np.ndarray:
    """Return the fingerprints, uint64 [n], of byte strings of any lengths."""
    result = np.empty(len(strings), np.uint64)
    library = native.library()
    if library is not None:
        texts = any_texts_of(strings)
        library.find_fingerprints(*texts.pointers, address_of(result))
        return result
    for group, rows in rows_by_length(strings):
        result[group] = row_fingerprints(rows)
    return result


def rows_by_length(strings: Sequence[bytes] | np.ndarray) -> Iterator[tuple[list[int], np.ndarray]]:
    """Byte strings of one length together: their places, and uint8 [n, length]."""
    places: dict[int, list[int]] = {}
    for place, string in enumerate(strings):
        places.setdefault(len(string), []).append(place)
    for length, group in places.items():
        joined = b"".join([strings[place] for place in group])
        yield group, np.frombuffer(joined, np.uint8).reshape(len(group), length)


def row_fingerprints(rows: np.ndarray) -> np.ndarray:
    """Return the fingerprints, uint64 [n], of byte strings in the rows of uint8 [n, length]."""
    count, length = rows.shape
    if (library := native.library()) is not None and rows.flags.c_contiguous:
        result = np.empty(count, np.uint64)
        library.find_row_fingerprints(address_of(rows), count, length, address_of(result))
        return result
    if length == 0:
        return np.full(count, K2)
    if length < 4:
        return _tiny(rows)
    if length <= 16:
        return _short(rows)
    if length <= 32:
        return mix(*_ends(rows), _multiplier(length))
    if length <= _BLOCK:
        return _medium(rows)
    return _long(rows)


def fingerprint_cat(first: Words, second: Words) -> Words:
    """Return fingerprints of pairs, made of their fingerprints, uint64 [n]; the order matters."""
    mixed = (first ^ _CAT) ^ (fold(second * _CAT) * _CAT)
    return fold(fold(mixed * _CAT) * _CAT)


def word(rows: np.ndarray, offset: int) -> Words:
    """Return the eight bytes from `offset` on (from the end where it is negative)."""
    start = offset % rows.shape[1]
    return np.ascontiguousarray(rows[:, start : start + 8]).view("<u8")[:, 0]


def _half_word(rows: np.ndarray, offset: int) -> Words:
    start = offset % rows.shape[1]
    return np.ascontiguousarray(rows[:, start : start + 4]).view("<u4")[:, 0].astype(np.uint64)


def rotate(words: Words, bits: int) -> Words:
    """Rotates to the right."""
    return (words >> np.uint64(bits)) | (words << np.uint64(64 - bits))


def fold(words: Words) -> Words:
    return words ^ (words >> np.uint64(47))


def mix(low: Words, high: Words, multiplier: Words | np.uint64) -> Words:
    first = fold((low ^ high) * multiplier)
    return fold((high ^ first) * multiplier) * multiplier


def _multiplier(length: int) -> np.uint64:
    return np.uint64((int(K2) + 2 * length) & _ALL_BITS)


def _tiny(rows: np.ndarray) -> Words:
    length = rows.shape[1]
    first, middle, last = (
        rows[:, place].astype(np.uint64) for place in (0, length // 2, length - 1)
    )
    start = first + (middle << np.uint64(8))
    end = np.uint64(length) + (last << np.uint64(2))
    return fold(start * K2 ^ end * K0) * K2


def _short(rows: np.ndarray) -> Words:
    length = rows.shape[1]
    multiplier = _multiplier(length)
    if length < 8:
        start = np.uint64(length) + (_half_word(rows, 0) << np.uint64(3))
        return mix(start, _half_word(rows, -4), multiplier)
    start = word(rows, 0) + K2
    end = word(rows, -8)
    return mix(
        rotate(end, 37) * multiplier + start, (rotate(start, 25) + end) * multiplier, multiplier
    )


def _ends(rows: np.ndarray, scale: np.uint64 = K1) -> tuple[Words, Words]:
    """Two words of the first and the last 16 bytes."""
    start = word(rows, 0) * scale
    second = word(rows, 8)
    last = word(rows, -8) * _multiplier(rows.shape[1])
    spread = rotate(start + second, 43) + rotate(last, 30) + word(rows, -16) * K2
    return spread, start + rotate(second + K2, 18) + last


def _medium(rows: np.ndarray) -> Words:
    multiplier = _multiplier(rows.shape[1])
    spread, outer = _ends(rows, K2)
    mixed = mix(spread, outer, multiplier)
    third = word(rows, 16) * multiplier
    fourth = word(rows, 24)
    before_last = (spread + word(rows, -32)) * multiplier
    last = (mixed + word(rows, -24)) * multiplier
    return mix(
        rotate(third + fourth, 43) + rotate(before_last, 30) + last,
        third + rotate(fourth + word(rows, 0) * K2, 18) + before_last,
        multiplier,
    )


def absorb_half(rows: np.ndarray, at: int, first: Words, second: Words) -> tuple[Words, Words]:
    """Absorb 32 bytes from offset `at` into a pair of words."""
    w, x, y, z = (word(rows, at + 8 * index) for index in range(4))
    start = first + w
    total = start + x + y
    return total + z, rotate(second + start + z, 21) + rotate(total, 44) + start


class BlockState:
    """Seven words that a string is read into, a block at a time; subclasses begin them."""

    rows: np.ndarray
    x: Words
    y: Words
    z: Words
    v: tuple[Words, Words]
    w: tuple[Words, Words]

    def absorb(self, at: int, multiplier: Words | np.uint64, weight: int = 1) -> None:
        """Absorb the block from offset `at`; the last one has its own weight."""
        rows, times = self.rows, np.uint64(weight)
        (v0, v1), (w0, w1) = self.v, self.w
        x = rotate(self.x + self.y + v0 + word(rows, at + 8), 37) * multiplier ^ w1 * times
        y = rotate(self.y + v1 + word(rows, at + 48), 42) * multiplier
        y = y + v0 * times + word(rows, at + 40)
        z = rotate(self.z + w0, 33) * multiplier
        self.v = absorb_half(rows, at, v1 * multiplier, x + w0)
        self.w = absorb_half(rows, at + 32, z + w1, y + word(rows, at + 16))
        self.x, self.y, self.z = z, y, x


class _LongState(BlockState):
    """State for strings of more than 64 bytes."""

    def __init__(self, rows: np.ndarray) -> None:
        count = rows.shape[0]
        y = (_SEED * int(K1) + 113) & _ALL_BITS
        self.rows = rows
        self.x = np.uint64((_SEED * int(K2)) & _ALL_BITS) + word(rows, 0)
        self.y = np.full(count, y, np.uint64)
        self.z = fold(self.y * K2 + np.uint64(113)) * K2
        self.v = (np.zeros(count, np.uint64), np.zeros(count, np.uint64))
        self.w = self.v


def _long(rows: np.ndarray) -> Words:
    length = rows.shape[1]
    state = _LongState(rows)
    for at in range(0, length - 1 - (length - 1) % _BLOCK, _BLOCK):
        state.absorb(at, K1)
    multiplier = K1 + ((state.z & np.uint64(0xFF)) << np.uint64(1))
    (v0, v1), (w0, w1) = state.v, state.w
    w0 = w0 + np.uint64((length - 1) % _BLOCK)
    v0 = v0 + w0
    state.v, state.w = (v0, v1), (w0 + v0, w1)
    state.absorb(length - _BLOCK, multiplier, weight=9)  # overlaps the block before it
    (v0, v1), (w0, w1) = state.v, state.w
    return mix(
        mix(v0, w0, multiplier) + fold(state.y) * K0 + state.z,
        mix(v1, w1, multiplier) + state.x,
        multiplier,
    )
