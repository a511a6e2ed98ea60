"""The largest elements of long rows: those of numpy's stable sort, however they are found."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

WIDE = 64 * 40 + 17


def largest(data, count):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(data.dtype, [None] * data.ndim)
        return session.run(tf.nn.top_k(x, count), {x: data})


def check(data, count):
    found = largest(data, count)
    order = np.argsort(-data.astype(np.float64), axis=-1, kind="stable")[..., :count]
    np.testing.assert_array_equal(found.indices, order)
    np.testing.assert_array_equal(found.values, np.take_along_axis(data, order, -1))


@pytest.mark.parametrize("shape", [(WIDE,), (3, WIDE), (2, 3, 64 * 40), (3, 7)])
@pytest.mark.parametrize("count", [1, 2, 7])
def test_all_differ(shape, count):
    data = np.random.RandomState(0).permutation(int(np.prod(shape))).reshape(shape)
    check(data.astype(np.float32), count)
    check(data.astype(np.int32), count)


@pytest.mark.parametrize("places", [(0, 1), (5, 64), (100, WIDE - 1), (WIDE - 2, WIDE - 3)])
def test_of_equal_ones_the_first_comes_first(places):
    data = np.random.RandomState(1).rand(4, WIDE).astype(np.float32)
    data[1, list(places)] = 2
    data[2, 9] = 3
    for count in (2, 3, 5):
        check(data, count)


def test_the_last_of_equal_ones_may_not_belong_to_them():
    data = np.zeros((2, WIDE), np.float32)
    data[0, ::-1] = np.arange(WIDE)
    data[1, [70, 700, 1500]] = 1
    check(data, 2)
    check(data, 5)


def test_the_end_of_the_row_counts():
    data = np.random.RandomState(2).rand(2, WIDE).astype(np.float32)
    data[0, -1], data[1, -17:] = 5, np.arange(17)
    check(data, 6)


def test_infinities():
    data = np.full((2, WIDE), -np.inf, np.float32)
    data[0, [3, 900, 901]] = [1, np.inf, 0]
    check(data, 5)


@pytest.mark.usefixtures("either_way")
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.int8, np.float32, np.float64, np.float16])
@pytest.mark.parametrize("count", [1, 5, 100])
def test_rows_with_few_different_numbers_keep_the_order_of_equal_ones(dtype, count):
    check(np.random.RandomState(count).randint(-5, 6, (3, 500)).astype(dtype), count)
