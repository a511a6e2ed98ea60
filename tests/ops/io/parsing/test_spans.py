"""Numbers decoded for many features at once are those decoded feature by feature."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.files.damage import damages

from stillflow.ops.io.parsing import spans, wire
from stillflow.protos import Feature

pytestmark = pytest.mark.usefixtures("either_way")
MANY = 120  # values whose lengths take two bytes


def floats(*values):
    return Feature(float_list={"value": values}).SerializeToString()


def integers(*values):
    return Feature(int64_list={"value": values}).SerializeToString()


def strings(*values):
    return Feature(bytes_list={"value": values}).SerializeToString()


CASES = {
    "float": [
        [floats(1.5), floats(-2.0, 3.25), b"", floats()],
        [b"", b"", b"", b""],
        [floats(*range(MANY)), floats(), floats(0.5), floats(*range(MANY))],
        [floats(*range(MANY))] * 4,
    ],
    "int64": [
        [integers(1), integers(127, 128), b"", integers()],
        [integers(-1, 2**63 - 1, -(2**63)), integers(300), integers(5), b""],
        [integers(*range(MANY)), integers(), integers(7), integers(*range(MANY))],
        [integers(*range(MANY))] * 4,
    ],
}


CASES["string"] = [
    [strings(b"one"), strings(b""), b"", strings()],
    [strings(bytes(4 * MANY)), strings(b"x"), strings(), strings(b"y")],
]


def one_by_one(rows, kind):
    """Features decoded together, but each for itself if another one is special."""
    runs = [slice(place, place + 1) for place in range(len(rows))]
    return spans.decode(spans.join(rows), kind, runs)


@pytest.mark.parametrize("kind", CASES)
def test_values_and_counts_are_those_of_each_feature(kind):
    rows = CASES[kind]
    for row, block in zip(rows, one_by_one(rows, kind), strict=True):
        expected = wire.decode(row, kind)
        np.testing.assert_array_equal(block.values, expected.values)
        np.testing.assert_array_equal(block.counts, [expected.counts])
        assert block.present.tolist() == [list(map(bool, row))]


@pytest.mark.parametrize("kind", CASES)
def test_features_of_a_run_stand_one_after_the_other(kind):
    rows = CASES[kind][:2]
    (block,) = spans.decode(spans.join(rows), kind, [slice(0, 2)])
    expected = wire.decode([*rows[0], *rows[1]], kind)
    np.testing.assert_array_equal(block.values, expected.values)
    np.testing.assert_array_equal(block.counts.ravel(), expected.counts)


def test_features_of_one_size_are_read_too():
    rows = [[floats(*np.arange(100) + n) for n in range(3)]]
    (block,) = one_by_one(rows, "float")
    np.testing.assert_array_equal(block.counts, [[100, 100, 100]])
    np.testing.assert_array_equal(block.values[100:200], np.arange(100) + 1)


def test_long_features_are_read_or_left_to_the_caller(either_way):
    (block,) = one_by_one([[floats(*range(1_000))] * 3], "float")
    if either_way == "plain":
        assert block is None
    else:
        np.testing.assert_array_equal(block.values, [*range(1_000)] * 3)


STRANGE = {
    "another type": integers(1),
    "not packed": b"\x12\x05\x0d\x00\x00\x80\x3f",
    "two lists": floats(1.0) + floats(2.0),
    "cut short": floats(1.0, 2.0)[:-1],
    "half a number": b"\x12\x05\x0a\x03abc",
    "an endless length": b"\x12" + b"\xff" * 12,
    "one byte": b"\x12",
    "three bytes": b"\x12\x01\x0a",
}


@pytest.mark.parametrize("raw", STRANGE.values(), ids=STRANGE)
def test_what_is_written_otherwise_is_left_to_the_caller(raw):
    first, second = one_by_one([[floats(1.0), raw], [floats(2.0), b""]], "float")
    assert first is None
    np.testing.assert_array_equal(second.values, [2.0])
    np.testing.assert_array_equal(second.counts, [[1, 0]])


def test_a_run_with_one_special_feature_is_left_to_the_caller():
    rows = [[floats(1.0)], [integers(1)], [floats(2.0)]]
    first, second = spans.decode(spans.join(rows), "float", [slice(0, 2), slice(2, 3)])
    assert first is None
    np.testing.assert_array_equal(second.values, [2.0])


def test_several_strings_are_read_or_left_to_the_caller(either_way):
    row = [strings(b"a", b"", b"bc"), b"", strings(*[b"d"] * MANY), strings()]
    (block,) = one_by_one([row], "string")
    if either_way == "plain":
        assert block is None
    else:
        assert block.values.tolist() == [b"a", b"", b"bc", *[b"d"] * MANY]
        np.testing.assert_array_equal(block.counts, [[3, 0, MANY, 0]])
        np.testing.assert_array_equal(block.present, [[True, False, True, True]])


@pytest.mark.parametrize("raw", [
    integers(1), strings(b"a") + strings(b"b"), strings(b"a", b"b")[:-1], b"\x0a", b"\x0a\x01\x0a",
    strings(b"a") + b"\x0a", b"\x0a\x02\x12\x00", b"\x0a" + b"\xff" * 12,
])  # fmt: skip
def test_strings_written_otherwise_are_left_to_the_caller(raw):
    first, second = one_by_one([[strings(b"c"), raw], [strings(b"d"), b""]], "string")
    assert first is None
    assert second.values.tolist() == [b"d"]


def test_integers_that_go_on_past_the_end_are_left_to_the_caller():
    assert one_by_one([[b"\x1a\x03\x0a\x01\x80", integers(1)]], "int64") == [None]


def test_integers_longer_than_any_are_left_to_the_caller():
    raw = b"\x1a\x0d\x0a\x0b" + b"\x80" * 10 + b"\x01"
    assert one_by_one([[integers(1), raw], [integers(2)] * 2], "int64") == [None, None]


def test_integers_of_every_length_are_read():
    numbers = [sign * (1 << bits) for bits in range(64) for sign in (1, -1) if sign * bits != 63]
    (block,) = one_by_one([[integers(*numbers[n : n + 9]) for n in range(len(numbers))]], "int64")
    expected = [number for n in range(len(numbers)) for number in numbers[n : n + 9]]
    np.testing.assert_array_equal(block.values, expected)


@pytest.mark.parametrize("kind", ["float", "int64"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20), st.lists(damages(), max_size=3))
def test_damaged_features_are_read_as_protobuf_reads_them_or_not_at_all(kind, numbers, damaged):
    raw = floats(*numbers) if kind == "float" else integers(*numbers)
    for damage in damaged:
        raw = damage(raw) if raw else raw
    first, second = one_by_one([[raw], [floats(1.5) if kind == "float" else integers(7)]], kind)
    assert second is None or len(second.values) == 1
    try:
        expected = wire.decode([raw], kind)
    except (wire.Damaged, wire.WrongKind):
        assert first is None
        return
    if first is not None:
        np.testing.assert_array_equal(first.values, expected.values)
        np.testing.assert_array_equal(first.counts, [expected.counts])
