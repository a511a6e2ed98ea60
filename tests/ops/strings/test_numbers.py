"""Strings read as numbers and numbers written as strings, many at once."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow import errors, native


def run(make, values, dtype=tf.string):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(dtype, [None])
        return session.run(make(x), {x: values}).tolist()


def numbers(texts, dtype):
    return run(lambda x: tf.string_to_number(x, dtype), np.array(texts, object))


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_integers_are_read(dtype):
    texts = [b"7", b"-0012", b" 3 ", b"4\n", b"-2147483648", b"2147483647"]
    assert numbers(texts, dtype) == [7, -12, 3, 4, -(2**31), 2**31 - 1]
    plain = [b"7", b"-0012", b"-2147483648", b"2147483647"]
    assert numbers(plain, dtype) == [7, -12, -(2**31), 2**31 - 1]


OUT_OF_RANGE = {
    tf.int32: [b"2147483648", b"-2147483649", b"-9223372036854775808", b"9" * 30],
    tf.int64: [b"9223372036854775808", b"-9223372036854775809"],
}
NO_INTEGERS = [b"", b"1.5", b"1e5", b"1_000", b"--1", b"1\n2", b"+1", b"-"]


@pytest.mark.parametrize("dtype", OUT_OF_RANGE)
def test_what_is_no_integer_of_the_type_is_refused(dtype):
    for text in [*NO_INTEGERS, *OUT_OF_RANGE[dtype]]:
        with pytest.raises(errors.InvalidArgumentError, match="could not correctly convert"):
            numbers([b"1", text], dtype)


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
def test_floating_point_numbers_are_read(dtype):
    texts = [b"1", b"-2.5", b".5", b"3.", b"1e-2", b"1.e3", b"1e400"]
    expected = np.array([1, -2.5, 0.5, 3, 0.01, 1000, np.inf], dtype.as_numpy_dtype).tolist()
    assert numbers(texts, dtype) == expected
    assert numbers([*texts, b" 0x10 ", b"+1", b"-inf"], dtype) == [*expected, 16, 1, -np.inf]


def test_numbers_too_large_for_single_precision_are_infinite():
    assert numbers([b"1e39", b"-1e39"], tf.float32) == [np.inf, -np.inf]


def test_numbers_below_the_normal_ones_are_read():
    if native.library() is None:
        pytest.skip("the loops in C were not built: Python's reading gives zero")
    texts = [b"1e-320", b"4e-324", b"-1e-310", b"2e-324"]
    assert numbers(texts, tf.float64) == [1e-320, 5e-324, -1e-310, 0]
    assert numbers([b"1e-40"], tf.float32) == [0]  # as TensorFlow has it


@pytest.mark.parametrize("text", [b".", b"1e", b"1_0", b"e5", b"1-1", b"abc", b"1.5\n2"])
def test_what_is_no_floating_point_number_is_refused(text):
    with pytest.raises(errors.InvalidArgumentError, match="could not correctly convert"):
        numbers([b"1", text], tf.float32)


def test_no_strings_are_no_numbers():
    assert numbers([], tf.float32) == []
    assert run(tf.as_string, np.zeros(0, np.int64), tf.int64) == []


SHOWN = {
    "plain": ({}, [b"1.500000", b"-inf", b"nan"]),
    "width": ({"width": 6, "precision": 1}, [b"   1.5", b"  -inf", b"   nan"]),
    "zeros": ({"width": 6, "precision": 1, "fill": "0"}, [b"0001.5", b"  -inf", b"   nan"]),
    "scientific": ({"precision": 1, "scientific": True}, [b"1.5e+00", b"-inf", b"nan"]),
}


@pytest.mark.parametrize(("options", "expected"), SHOWN.values(), ids=SHOWN)
def test_infinities_are_never_filled_up_with_zeros(options, expected):
    values = np.array([1.5, -np.inf, np.nan])
    assert run(lambda x: tf.as_string(x, **options), values, tf.float64) == expected


def test_complex_numbers_are_shown_in_parentheses():
    found = run(lambda x: tf.as_string(x, precision=1), np.array([1 - 2j, 3j]), tf.complex128)
    assert found == [b"(1.0,-2.0)", b"(0.0,3.0)"]


def test_truths_are_words():
    assert run(tf.as_string, np.array([True, False]), tf.bool) == [b"true", b"false"]
