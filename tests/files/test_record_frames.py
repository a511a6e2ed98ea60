"""Records cut out of bytes and put into frames: in C and without, the very same."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.files.damage import damages

from stillflow import native
from stillflow.files import record_frames
from stillflow.files.record_frames import Cut

SIZES = st.lists(st.sampled_from([0, 1, 3, 8, 20, 100, 700, 769, 5000]), max_size=12)


@pytest.fixture(autouse=True)
def in_c() -> None:
    if native.library() is None:
        pytest.skip("the loops in C were not built")


def plainly(function, *arguments):
    """Return a function's result without the native library."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "library", lambda: None)
        return function(*arguments)


def framed(records):
    return bytes(record_frames.framed(records))


def contents(sizes):
    noise = random.Random(len(sizes))
    return [noise.randbytes(size) for size in sizes]


@given(SIZES, st.integers(0, 20))
def test_frames_are_the_same(sizes, more):
    records = contents(sizes + [more] * more)
    written = framed(records)
    assert written == plainly(framed, records)
    assert record_frames.cut(written, {}) == Cut(records, len(written), 12)


@given(SIZES, st.lists(damages(), max_size=3))
def test_what_is_found_in_damaged_bytes_is_the_same(sizes, damaged):
    data = framed(contents(sizes))
    for damage in damaged:
        data = damage(data) if data else data
    found, expected = record_frames.cut(data, {}), plainly(record_frames.cut, data, {})
    assert found[:2] == expected[:2]
    assert found.fault == expected.fault
    assert found.fault is not None or found.wanted == expected.wanted


def test_what_is_found_after_any_flipped_bit_is_the_same():
    data = framed(contents([5, 0, 31]))
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        found = record_frames.cut(bytes(flipped), {})
        expected = plainly(record_frames.cut, bytes(flipped), {})
        assert (found.records, found.fault) == (expected.records, expected.fault)


@pytest.mark.parametrize("size", range(16))
def test_what_is_found_in_the_beginning_of_a_record_is_the_same(size):
    data = framed([b"x" * 100])[:size]
    for text in (data, data[:-1] + b"!"):
        found, expected = record_frames.cut(text, {}), plainly(record_frames.cut, text, {})
        assert found.fault == expected.fault
        assert found.fault is not None or found == expected


def test_all_records_are_found_however_many_there_are():
    data = framed([b""] * 20_000)
    found = record_frames.cut(data, {})
    assert 0 < len(found.records) <= 20_000
    assert found.size == 16 * len(found.records)
    assert found.fault is None
