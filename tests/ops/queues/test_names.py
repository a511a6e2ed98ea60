"""Names that errors give to queues."""

from __future__ import annotations

import re

import pytest

import stillflow as tf


def number_in_error(make):
    """Return the number in the name of a queue that is closed, after several plans have met it."""
    with tf.Graph().as_default(), tf.Session() as session:
        queue = make()
        session.run(queue.close())
        session.run(queue.size())
        with pytest.raises(tf.errors.OutOfRangeError) as raised:
            session.run(queue.dequeue())
    return int(re.search(r"Queue '_(\d+)_", raised.value.message)[1])


@pytest.mark.parametrize("kind", ["FIFOQueue", "PaddingFIFOQueue"])
def test_a_queue_counts_once_however_many_operations_use_it(kind):
    def make():
        return getattr(tf, kind)(3, tf.float32, [[]])

    first = number_in_error(make)
    assert [number_in_error(make) for _ in range(3)] == [first + 1, first + 2, first + 3]
