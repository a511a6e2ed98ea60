"""`_enqueue_data`, which programs took from TensorFlow's internals."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow.facade.feeding_functions import enqueue_data


def first_rows(data: Any, count: int) -> list[np.ndarray]:
    with tf.Graph().as_default():
        queue = enqueue_data(data, 20, name="mine")
        assert queue.name.startswith("mine/")
        rows = queue.dequeue_many(count)
        with tf.Session() as session:
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coord)
            found: list[np.ndarray] = session.run(rows)
            coord.request_stop()
            coord.join(threads)
    return found


def test_an_array_comes_row_by_row_with_numbers() -> None:
    array = np.arange(12.0).reshape(4, 3)
    numbers, rows = first_rows(array, 6)
    np.testing.assert_array_equal(numbers, [0, 1, 2, 3, 0, 1])
    np.testing.assert_array_equal(rows, array[[0, 1, 2, 3, 0, 1]])


def test_several_arrays_come_side_by_side() -> None:
    columns = OrderedDict(a=np.arange(3), b=np.array([b"x", b"y", b"z"]))
    numbers, a, b = first_rows(columns, 3)
    assert numbers.tolist() == a.tolist() == [0, 1, 2]
    assert b.tolist() == [b"x", b"y", b"z"]


def test_what_is_not_supported_is_named() -> None:
    with pytest.raises(NotImplementedError, match="generators"):
        enqueue_data(lambda: iter([]), 10)
    with pytest.raises(TypeError, match="must be either a numpy array"):
        enqueue_data([1, 2], 10)
