"""Snappy's format: literals, copies of three kinds, and what is damaged."""

from __future__ import annotations

import pytest

from stillflow.files import varint
from stillflow.files.snappy import decompress


def literal(text: bytes) -> bytes:
    """Return an element that stands for itself, with its length in as few bytes as it takes."""
    rest = len(text) - 1
    if rest < 60:
        return bytes([rest << 2]) + text
    width = (rest.bit_length() + 7) // 8
    return bytes([59 + width << 2]) + rest.to_bytes(width, "little") + text


def copy(length: int, distance: int, kind: int) -> bytes:
    """Return an element that repeats `length` bytes from `distance` bytes before."""
    if kind == 1:
        return bytes([distance >> 8 << 5 | length - 4 << 2 | 1, distance & 255])
    return bytes([length - 1 << 2 | kind]) + distance.to_bytes((0, 1, 2, 4)[kind], "little")


def stream(size: int, *elements: bytes) -> bytes:
    return varint.encode(size) + b"".join(elements)


@pytest.mark.parametrize("size", [1, 60, 61, 256, 257, 70000])
def test_literals_of_any_length(size: int) -> None:
    text = bytes(index % 251 for index in range(size))
    assert decompress(stream(size, literal(text))) == text
    assert decompress(memoryview(stream(size, literal(text)))) == text


@pytest.mark.parametrize("kind", [1, 2, 3])
def test_copies_of_each_kind(kind: int) -> None:
    data = stream(15, literal(b"stillflow"), copy(6, 9, kind))
    assert decompress(data) == b"stillflowstillf"


def test_a_copy_may_overlap_its_own_output() -> None:
    assert decompress(stream(12, literal(b"ab"), copy(10, 2, 2))) == b"ab" * 6
    assert decompress(stream(9, literal(b"x"), copy(8, 1, 1))) == b"x" * 9


def test_a_copy_from_far_before() -> None:
    far = bytes(index % 253 for index in range(300))
    assert decompress(stream(310, literal(far), copy(10, 300, 1)))[300:] == far[:10]


def test_nothing_is_a_stream_too() -> None:
    assert decompress(stream(0)) == b""


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (stream(1000, literal(b"a")), "promised than there can be"),
        (stream(5, literal(b"abc")), "less than was promised"),
        (stream(2, literal(b"abc")), "more than was promised"),
        (stream(9, literal(b"abcdefghi")[:-2]), "literal over the end"),
        (stream(70, bytes([60 << 2])), "cut off"),
        (stream(8, literal(b"abcd"), copy(4, 4, 2)[:-1]), "cut off"),
        (stream(8, literal(b"abcd"), copy(4, 5, 2)), "before the start"),
        (stream(8, literal(b"abcd"), copy(4, 0, 2)), "before the start"),
    ],
)
def test_damage_is_a_value_error(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        decompress(data)
