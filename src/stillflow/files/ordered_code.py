"""Strings and numbers as bytes that sort as they do: the keys of slices in checkpoints."""

from __future__ import annotations

import re

_SPECIAL = re.compile(rb"[\0\xff]")
_ESCAPES = {b"\0": b"\0\xff", b"\xff": b"\xff\0"}


def encode_string(text: bytes) -> bytes:
    """A string, so that none is the start of another one."""
    return _SPECIAL.sub(lambda found: _ESCAPES[found.group()], text) + b"\0\1"


def encode_unsigned(value: int) -> bytes:
    """A number that is not negative: how many bytes, then these, the highest first."""
    size = (value.bit_length() + 7) // 8
    return bytes([size]) + value.to_bytes(size, "big")


def encode_signed(value: int) -> bytes:
    """A number of 64 bits: its sign and how many bytes it takes are in the first bits."""
    magnitude = ~value if value < 0 else value
    size = magnitude.bit_length() // 7 + 1
    # As many ones as there are bytes, then a zero unless the number's own bits reach so far.
    header = ((1 << size) - 1) << (8 * size - size)
    return ((value & (1 << 8 * size) - 1) ^ header).to_bytes(size, "big")
