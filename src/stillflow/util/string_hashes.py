"""Hashes of byte strings: MurmurHash64A, and SipHash-2-4, which has a key."""

from __future__ import annotations

import struct

_MASK = (1 << 64) - 1
_MULTIPLIER = 0xC6A4A7935BD1E995
_SHIFT = 47


def murmur64(data: bytes, seed: int) -> int:
    """The MurmurHash64A of bytes, read as little-endian words."""
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
    """The SipHash-2-4 of bytes under a key of two 64-bit words."""
    low, high = key[0] & _MASK, key[1] & _MASK
    state = [
        low ^ 0x736F6D6570736575, high ^ 0x646F72616E646F6D,
        low ^ 0x6C7967656E657261, high ^ 0x7465646279746573,
    ]  # fmt: skip
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) & 0xFF])
    for (word,) in struct.iter_unpack("<Q", padded):
        state[3] ^= word
        _sip_rounds(state, 2)
        state[0] ^= word
    state[2] ^= 0xFF
    _sip_rounds(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]
