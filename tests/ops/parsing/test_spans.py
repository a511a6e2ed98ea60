"""Numbers decoded for many features at once are those decoded feature by feature."""

from __future__ import annotations

import numpy as np
import pytest

from stillflow.ops.parsing import spans, wire
from stillflow.protos import Feature

MANY = 300  # numbers whose lengths take two bytes


def floats(*values):
    return Feature(float_list={"value": values}).SerializeToString()


def integers(*values):
    return Feature(int64_list={"value": values}).SerializeToString()


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
        [integers(*range(MANY * 10))] * 4,
    ],
}


@pytest.mark.parametrize("kind", CASES)
def test_values_and_counts_are_those_of_each_feature(kind):
    rows = CASES[kind]
    found = spans.decode(spans.join(rows), kind)
    for row, feature in zip(rows, found, strict=True):
        expected = wire.decode(row, kind)
        np.testing.assert_array_equal(feature.values, expected.values)
        np.testing.assert_array_equal(feature.counts, expected.counts)


def test_long_features_are_read_too():
    rows = [[floats(*np.arange(1_000 + n)) for n in range(3)]]
    (found,) = spans.decode(spans.join(rows), "float")
    np.testing.assert_array_equal(found.counts, [1_000, 1_001, 1_002])
    np.testing.assert_array_equal(found.values[1_000:2_001], np.arange(1_001))


STRANGE = {
    "another type": integers(1),
    "not packed": b"\x12\x05\x0d\x00\x00\x80\x3f",
    "two lists": floats(1.0) + floats(2.0),
    "cut short": floats(1.0, 2.0)[:-1],
    "half a number": b"\x12\x05\x0a\x03abc",
    "an endless length": b"\x12" + b"\xff" * 12,
    "one byte": b"\x12",
}


@pytest.mark.parametrize("raw", STRANGE.values(), ids=STRANGE)
def test_what_is_written_otherwise_is_left_to_the_caller(raw):
    found = spans.decode(spans.join([[floats(1.0), raw], [floats(2.0), b""]]), "float")
    assert found[0] is None
    np.testing.assert_array_equal(found[1].values, [2.0])


def test_integers_that_go_on_past_the_end_are_left_to_the_caller():
    found = spans.decode(spans.join([[b"\x1a\x03\x0a\x01\x80", integers(1)]]), "int64")
    assert found == [None]
