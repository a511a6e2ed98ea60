"""Strings and numbers as bytes that sort as they do: the keys of slices in checkpoints."""

from __future__ import annotations

import re

_SPECIAL = re.compile(rb"[\0\xff]")
_ESCAPES = {b"\0": b"\0\xff", b"\xff": b"\xff\0"}
_ESCAPED = re.compile(b"|".join(map(re.escape, _ESCAPES.values())))
_STRING = re.compile(rb"((?:[^\x00\xff]|\x00\xff|\xff\x00)*)\x00\x01")


def encode_string(text: bytes) -> bytes:
    """Return a string, so that none is the start of another one."""
    return _SPECIAL.sub(lambda found: _ESCAPES[found.group()], text) + b"\0\1"


def decode_string(code: bytes) -> tuple[bytes, bytes]:
    """Return the string that a code begins with, and the rest.

    ValueError if it begins with none.
    """
    found = _STRING.match(code)
    if found is None:
        raise ValueError("the code of a string has no end")
    text = _ESCAPED.sub(lambda escape: escape.group()[:1], found[1])
    return text, code[found.end() :]


def encode_unsigned(value: int) -> bytes:
    """Return a number that is not negative: how many bytes, then these, the highest first."""
    size = (value.bit_length() + 7) // 8
    return bytes([size]) + value.to_bytes(size, "big")


def decode_unsigned(code: bytes) -> tuple[int, bytes]:
    """Return the number that a code begins with, and the rest."""
    end = 1 + code[0]
    return int.from_bytes(code[1:end], "big"), code[end:]


def encode_signed(value: int) -> bytes:
    """Return a number of 64 bits: its sign and how many bytes it takes are in the first bits."""
    magnitude = ~value if value < 0 else value
    size = magnitude.bit_length() // 7 + 1
    # As many ones as there are bytes, then a zero unless the number's own bits reach so far.
    header = ((1 << size) - 1) << (8 * size - size)
    return ((value & (1 << 8 * size) - 1) ^ header).to_bytes(size, "big")


def decode_signed(code: bytes) -> tuple[int, bytes]:
    """Return the number of 64 bits that a code begins with, and the rest."""
    if not code[0] & 0x80:
        magnitude, rest = decode_signed(bytes(octet ^ 0xFF for octet in code))
        return ~magnitude, code[len(code) - len(rest) :]
    bits = f"{int.from_bytes(code[:2].ljust(2, bytes(1)), 'big'):016b}"
    size = len(bits) - len(bits.lstrip("1"))
    header = ((1 << size) - 1) << (8 * size - size)
    return int.from_bytes(code[:size], "big") ^ header, code[size:]
