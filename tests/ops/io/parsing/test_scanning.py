"""Numbers and places found in many bytes at once."""

from __future__ import annotations

import numpy as np
import pytest

from stillflow.ops.io.parsing import scanning


def varint(number):
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    return bytes(made) + bytes((number,))


def decoded(texts):
    data = np.frombuffer(b"".join(texts), np.uint8)
    return scanning.numbers(data, np.cumsum([len(text) for text in texts]))


EDGES = [n + d for bits in range(7, 64, 7) for n in (1 << bits,) for d in (-1, 0, 1)]


@pytest.mark.parametrize("longest", range(1, 11))
def test_numbers_of_every_length_are_read(longest):
    numbers = [n for n in [0, 1, 5, *EDGES, 2**63, 2**64 - 1] if len(varint(n)) <= longest]
    found = decoded([varint(n) for n in numbers])
    assert found.view(np.uint64).tolist() == numbers


def test_what_a_number_of_ten_bytes_has_too_many_bits_is_dropped():
    assert decoded([b"\xff" * 9 + b"\x7f"]).tolist() == [-1]


def test_a_number_of_eleven_bytes_is_refused():
    with pytest.raises(scanning.TooLong) as raised:
        decoded([b"\x01", b"\x80" * 10 + b"\x00", b"\x02"])
    assert raised.value.at == 12


def test_items_of_spans_are_placed():
    starts, counts = np.array([40, 7, 0, 12, 90]), np.array([2, 0, 1, 3, 0])
    assert scanning.places(starts, counts, 4).tolist() == [40, 44, 0, 12, 16, 20]


@pytest.mark.parametrize("counts", [[], [0, 0]])
def test_no_items_have_no_places(counts):
    counts = np.array(counts, np.int64)
    assert scanning.places(counts + 5, counts, 4).tolist() == []


def test_lengths_are_read_with_where_they_end():
    sizes = [0, 127, 128, 300, 2**21, 2**28 - 1]
    texts = [varint(size) for size in sizes]
    ends = np.cumsum([len(text) for text in texts])
    found, stops = scanning.lengths(scanning.joined(texts), np.array([0, *ends[:-1]]))
    assert (found.tolist(), stops.tolist()) == (sizes, ends.tolist())


def test_lengths_that_are_too_long_are_far_below_nothing():
    found, _ = scanning.lengths(scanning.joined([b"\x05", b"\xff" * 9]), np.array([0, 1]))
    assert found[0] == 5
    assert found[1] < -(1 << 32)


def test_windows_are_bytes_from_any_place_on():
    data = scanning.joined([bytes(range(50))])
    assert scanning.windows(data, np.array([3, 41, 0]), 3).tolist() == [
        [3, 4, 5], [41, 42, 43], [0, 1, 2]
    ]  # fmt: skip
    assert scanning.strings(data, np.array([3, 5]), np.array([2, 0])) == [b"\x03\x04", b""]
