"""Hashes of byte strings: MurmurHash64A, and SipHash-2-4, which has a key."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence

import numpy as np

from stillflow import native
from stillflow.util.texts import address_of, any_texts_of

_MASK = (1 << 64) - 1
_MULTIPLIER = 0xC6A4A7935BD1E995
_SHIFT = 47


def murmur64(data: bytes, seed: int) -> int:
    """Return the MurmurHash64A of bytes, read as little-endian words."""
    state = seed ^ (len(data) * _MULTIPLIER & _MASK)
    whole = len(data) // 8 * 8
    for (word,) in struct.iter_unpack("<Q", data[:whole]):
        word = word * _MULTIPLIER & _MASK
        word = (word ^ word >> _SHIFT) * _MULTIPLIER & _MASK
        state = (state ^ word) * _MULTIPLIER & _MASK
    if whole < len(data):
        state = (state ^ int.from_bytes(data[whole:], "little")) * _MULTIPLIER & _MASK
    state = (state ^ state >> _SHIFT) * _MULTIPLIER & _MASK
    return state ^ state >> _SHIFT


def murmur64s(strings: Sequence[bytes] | np.ndarray, seed: int) -> np.ndarray:
    """Return the MurmurHash64A of each of some byte strings, uint64 [n]."""
    library = native.library()
    result = np.empty(len(strings), np.uint64)
    if library is not None:
        texts = any_texts_of(strings)
        library.find_murmurs(*texts.pointers, seed, address_of(result))
        return result
    if len(strings) < _FEW:
        return np.array([murmur64(string, seed) for string in strings], np.uint64)
    multiplier, shift = np.uint64(_MULTIPLIER), np.uint64(_SHIFT)
    for places, words, sizes in _by_words(strings):
        state = np.uint64(seed) ^ sizes * multiplier
        for word in words.T[:-1]:
            mixed = word * multiplier
            mixed = (mixed ^ mixed >> shift) * multiplier
            state = (state ^ mixed) * multiplier
        state = np.where(sizes & _SEVEN, (state ^ words[:, -1]) * multiplier, state)
        state = (state ^ state >> shift) * multiplier
        result[places] = state ^ state >> shift
    return result


def siphashes(strings: Sequence[bytes] | np.ndarray, key: tuple[int, int]) -> np.ndarray:
    """Return the SipHash-2-4 of each of some byte strings under one key, uint64 [n]."""
    library = native.library()
    result = np.empty(len(strings), np.uint64)
    if library is not None:
        texts, start = any_texts_of(strings), np.array(_sip_start(key), np.uint64)
        library.find_siphashes(*texts.pointers, address_of(start), address_of(result))
        return result
    if len(strings) < _FEW:
        return np.array([siphash(string, key) for string in strings], np.uint64)
    for places, words, sizes in _by_words(strings):
        words[:, -1] |= sizes << np.uint64(56)
        state = [np.full(len(places), word, np.uint64) for word in _sip_start(key)]
        for word in words.T:
            state[3] = state[3] ^ word
            _sip_rounds_of_many(state, 2)
            state[0] = state[0] ^ word
        state[2] = state[2] ^ np.uint64(0xFF)
        _sip_rounds_of_many(state, 4)
        result[places] = state[0] ^ state[1] ^ state[2] ^ state[3]
    return result


_FEW = 16  # strings: each by itself is faster
_SEVEN = np.uint64(7)


def _by_words(
    strings: Sequence[bytes] | np.ndarray,
) -> Iterator[tuple[list[int], np.ndarray, np.ndarray]]:
    """Yield strings with the same number of whole words: their places, words, and sizes.

    The last of the words is filled up with zeros.
    """
    groups: dict[int, list[int]] = {}
    for place, string in enumerate(strings):
        groups.setdefault(len(string) // 8, []).append(place)
    for count, places in groups.items():
        width = 8 * (count + 1)
        padded = bytearray().join([strings[place].ljust(width, b"\0") for place in places])
        sizes = np.array([len(strings[place]) for place in places], np.uint64)
        yield places, np.frombuffer(padded, "<u8").reshape(len(places), count + 1), sizes


def _sip_rounds_of_many(state: list[np.ndarray], count: int) -> None:
    a, b, c, d = state
    for _ in range(count):
        a, c = a + b, c + d
        b, d = _all_rotated(b, 13) ^ a, _all_rotated(d, 16) ^ c
        a, c = _all_rotated(a, 32) + d, c + b
        b, d = _all_rotated(b, 17) ^ c, _all_rotated(d, 21) ^ a
        c = _all_rotated(c, 32)
    state[:] = a, b, c, d


def _all_rotated(words: np.ndarray, bits: int) -> np.ndarray:
    return words << np.uint64(bits) | words >> np.uint64(64 - bits)


def _sip_start(key: tuple[int, int]) -> list[int]:
    low, high = key[0] & _MASK, key[1] & _MASK
    return [
        low ^ 0x736F6D6570736575, high ^ 0x646F72616E646F6D,
        low ^ 0x6C7967656E657261, high ^ 0x7465646279746573,
    ]  # fmt: skip


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & _MASK


def _sip_rounds(state: list[int], count: int) -> None:
    a, b, c, d = state
    for _ in range(count):
        a, c = (a + b) & _MASK, (c + d) & _MASK
        b, d = _rotated(b, 13) ^ a, _rotated(d, 16) ^ c
        a, c = (_rotated(a, 32) + d) & _MASK, (c + b) & _MASK
        b, d = _rotated(b, 17) ^ c, _rotated(d, 21) ^ a
        c = _rotated(c, 32)
    state[:] = a, b, c, d


def siphash(data: bytes, key: tuple[int, int]) -> int:
    """Return the SipHash-2-4 of bytes under a key of two 64-bit words."""
    state = _sip_start(key)
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 0xFF])
    for (word,) in struct.iter_unpack("<Q", padded):
        state[3] ^= word
        _sip_rounds(state, 2)
        state[0] ^= word
    state[2] ^= 0xFF
    _sip_rounds(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]
