"""Lines that are written plainly, read by the loop in C; others are left to others."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow import native
from stillflow.ops.io.parsing.plain_records import PlainRecords

pytestmark = pytest.mark.usefixtures("graph")

TYPES = [tf.int32, tf.float32, tf.string, tf.int64, tf.float64]
LINES = [b"1,2.5,abc,-4,1e3", b"-2147483647,-.5,a b,999999999999999999,5.", b"007,1e-5, ,-0,-0.0"]


@pytest.fixture
def reader():
    if native.library() is None:
        pytest.skip("the loops in C were not built")
    return PlainRecords(TYPES, b",", True)


def decoded(lines, defaults=((), (), (), (), ()), **options):
    kinds = [dtype.as_numpy_dtype for dtype in TYPES]
    values = [np.array(each, kind) for each, kind in zip(defaults, kinds, strict=True)]
    with tf.Session() as session:
        records = tf.placeholder(tf.string, np.shape(lines))
        return session.run(tf.decode_csv(records, values, **options), {records: lines})


def test_plain_lines_are_read(reader):
    columns = reader.columns(LINES)
    assert [column.tolist() for column in columns] == [
        [1, -2147483647, 7],
        np.float32([2.5, -0.5, 1e-5]).tolist(),
        [b"abc", b"a b", b" "],
        [-4, 999999999999999999, 0],
        [1e3, 5.0, 0.0],
    ]
    for number, line in enumerate(LINES):
        assert [each.tolist() for each in reader.one(line)] == [
            column.tolist()[number] for column in columns
        ]


def test_quotes_are_taken_off_fields(reader):
    line = b'"1","2.5","a,b","-4","1e3"'
    assert [each.tolist() for each in reader.one(line)] == [1, 2.5, b"a,b", -4, 1e3]
    assert PlainRecords([tf.string] * 2, b",", False).one(b'"a,b"')[0].item() == b'"a'


@pytest.mark.parametrize("shape", [(), (3,), (1, 3)])
def test_columns_are_the_same_either_way(either_way, shape):
    lines = np.array(LINES[0] if not shape else LINES, object).reshape(shape)
    for column, dtype in zip(decoded(lines), TYPES, strict=True):
        assert np.shape(column) == shape
        if dtype != tf.string:
            assert column.dtype == dtype.as_numpy_dtype


def test_decimal_numbers_are_the_nearest_doubles(reader):
    rng = np.random.RandomState(0)
    texts = [f"{x:.{digits}g}" for x in np.exp(rng.randn(500) * 20) for digits in (3, 9, 15)]
    numbers = PlainRecords([tf.float64], b",", True)
    read = [numbers.one(text.encode()) for text in texts]
    found = [(text, each[0].item()) for text, each in zip(texts, read, strict=True) if each]
    assert len(found) > 500
    assert all(value == float(text) for text, value in found)


@pytest.mark.parametrize(
    "line",
    [
        b"", b"1,2,a,3", b"1,2,a,3,4,5", b",2,a,3,4", b"1,2,a,3,", b'1,2,"",3,4', b"1,2,a\r,3,4",
        b"1.5,2,a,3,4", b"2147483648,2,a,3,4", b" 1,2,a,3,4", b"1,x,a,3,4", b"1,.,a,3,4",
        b"1,1e,a,3,4", b"1,1e400,a,3,4", b"1,nan,a,3,4", b"1,12345678901234567890,a,3,4",
        b"1,2,a,9999999999999999999,4", b"+1,2,a,3,4", b"1,2,,3,4", b"-,2,a,3,4",
        b'1,2,"a,3,4', b'1,2,"a"b,3,4', b'1,2,"a""b",3,4', b'1,2,a"b,3,4', b'1,2,a,3,4"',
        b'1,2,a,3,"4', b'1,2,a,3,"', b'"1,2,a,3,4"', b'1,2,"a\n",3,4',
    ],
)  # fmt: skip
def test_other_lines_are_left_to_others(reader, line):
    assert reader.one(line) is None
    assert reader.columns([LINES[0], line]) is None


def test_what_may_stand_for_a_missing_field_is_looked_for():
    assert PlainRecords(TYPES, b",", True, b"NA").one(LINES[0]) is None
    assert PlainRecords([tf.int32], b"-", True).one(b"1") is None
    found = decoded(
        np.array([b"NA,1,NA,2,3"], object), ([7], [0.0], [b"x"], [0], [0.0]), na_value="NA"
    )
    assert [each.tolist() for each in found] == [[7], [1.0], [b"x"], [2], [3.0]]


def test_a_line_that_is_not_plain_among_others(either_way):
    lines = np.array([*LINES, b'5,1,"a,b",2,3'], object)
    found = decoded(lines)
    assert found[0].tolist() == [1, -2147483647, 7, 5]
    assert found[2].tolist() == [b"abc", b"a b", b" ", b"a,b"]


def test_a_default_of_two_numbers_is_refused(either_way):
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        decoded(np.array(LINES, object), ([1, 2], [0.0], [b""], [0], [0.0]))
