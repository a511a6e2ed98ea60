"""FarmHash fingerprints of 128 bits (Geoff Pike's "CityHash128", which keeps its values).

Strings of one length are hashed side by side, as in `farmhash.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stillflow import native
from stillflow.util.farmhash import (
    K0,
    K1,
    BlockState,
    Words,
    absorb_half,
    fold,
    mix,
    rotate,
    row_fingerprints,
    rows_by_length,
    word,
)
from stillflow.util.texts import address_of, any_texts_of

_MULTIPLIER = np.uint64(0x9DDFEA08EB382D69)
_BLOCK = 64
_MASK = (1 << 64) - 1
Pair = tuple[Words, Words]


def fingerprints128(strings: Sequence[bytes]) -> np.ndarray:
    """Return the fingerprints of byte strings, uint64 [n, 2], the low word first."""
    result = np.empty((len(strings), 2), np.uint64)
    if (library := native.library()) is not None:
        texts = any_texts_of(strings)
        library.find_long_fingerprints(*texts.pointers, address_of(result))
        return result
    for group, rows in rows_by_length(strings):
        result[group] = np.stack(_fingerprint(rows), 1)
    return result


def _fingerprint(rows: np.ndarray) -> Pair:
    count, length = rows.shape
    if length < 16:
        return _murmur(rows, np.full(count, K0), np.full(count, K1))
    seed = word(rows, 0), word(rows, 8) + K0
    rest = rows[:, 16:]
    return _murmur(rest, *seed) if length < 16 + 2 * _BLOCK else _city(rest, *seed)


def _mix(low: Words, high: Words) -> Words:
    return mix(low, high, _MULTIPLIER)


def _murmur(rows: np.ndarray, a: Words, b: Words) -> Pair:
    """Hash strings of less than 128 bytes, with a seed of two words."""
    length = rows.shape[1]
    if length <= 16:
        a = fold(a * K1) * K1
        c = b * K1 + row_fingerprints(rows)
        d = fold(a + (word(rows, 0) if length >= 8 else c))
    else:
        c = _mix(word(rows, -8) + K1, a)
        d = _mix(b + np.uint64(length), c + word(rows, -16))
        a = a + d
        for at in range(0, length - 16, 16):
            a = (a ^ fold(word(rows, at) * K1) * K1) * K1
            b = b ^ a
            c = (c ^ fold(word(rows, at + 8) * K1) * K1) * K1
            d = d ^ c
    a, b = _mix(a, c), _mix(d, b)
    return a ^ b, _mix(b, a)


class _State(BlockState):
    """State for strings of more than 127 bytes."""

    def __init__(self, rows: np.ndarray, x: Words, y: Words) -> None:
        self.rows, self.x, self.y = rows, x, y
        self.z = np.full(rows.shape[0], rows.shape[1] * int(K1) & _MASK, np.uint64)
        first = rotate(y ^ K1, 49) * K1 + word(rows, 0)
        self.v = first, rotate(first, 42) * K1 + word(rows, 8)
        self.w = rotate(y + self.z, 35) * K1 + x, rotate(x + word(rows, 88), 53) * K1

    def absorb_end(self, at: int) -> None:
        """Absorb 32 bytes from offset `at`, after the last whole pair of blocks."""
        (v0, v1), (w0, w1) = self.v, self.w
        self.y = rotate(self.x + self.y, 42) * K0 + v1
        w0 = w0 + word(self.rows, at + 16)
        self.x = self.x * K0 + w0
        self.z = self.z + w1 + word(self.rows, at)
        v2, v3 = absorb_half(self.rows, at, v0 + self.z, v1)
        self.v, self.w = (v2 * K0, v3), (w0, w1 + v0)


def _city(rows: np.ndarray, x: Words, y: Words) -> Pair:
    length = rows.shape[1]
    state, rest = _State(rows, x, y), length % (2 * _BLOCK)
    for at in range(0, length - rest, _BLOCK):
        state.absorb(at, K1)
    (v0, v1), (w0, w1) = state.v, state.w
    state.x = state.x + rotate(v0 + state.z, 49) * K0
    state.y = state.y * K0 + rotate(w1, 37)
    state.z = state.z * K0 + rotate(w0, 27)
    state.v, state.w = (v0 * K0, v1), (w0 * np.uint64(9), w1)
    for done in range(32, rest + 32, 32):
        state.absorb_end(length - done)
    (v0, v1), (w0, w1) = state.v, state.w
    x, y = _mix(state.x, v0), _mix(state.y + state.z, w0)
    return _mix(x + v1, w1) + y, _mix(x + w1, y + v1)
