"""Damages to the bytes of a file."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st


@st.composite
def damages(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """Something that changes bytes: flips, overwrites, removes, repeats or cuts some."""
    kind = draw(st.sampled_from(["flip", "set", "remove", "repeat", "cut", "insert"]))
    place, size = draw(st.floats(0, 1)), draw(st.integers(1, 12))
    value = draw(st.sampled_from([0, 1, 127, 128, 255])) if kind == "set" else 0
    more = draw(st.binary(max_size=12))
    bit = 1 << draw(st.integers(0, 7))

    def damage(content: bytes) -> bytes:
        at = min(int(place * len(content)), len(content) - 1)
        head, tail = content[:at], content[at:]
        return {
            "flip": head + bytes([tail[0] ^ bit]) + tail[1:],
            "set": head + bytes([value]) * min(size, len(tail)) + tail[size:],
            "remove": head + tail[size:],
            "repeat": head + tail[:size] + tail,
            "cut": head,
            "insert": head + more + tail,
        }[kind]

    return damage
