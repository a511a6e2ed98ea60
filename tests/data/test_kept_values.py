"""Values that a dataset was made of, which later changes do not affect."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stillflow as tf

Dataset = tf.data.Dataset

# Each gives, of a vector of three ones, a dataset and its elements.
USES: dict[str, Any] = {
    "map": lambda ones: Dataset.range(4).map(lambda x: ones + tf.cast(x, tf.float32)),
    "parallel map": lambda ones: Dataset.range(4).map(
        lambda x: ones + tf.cast(x, tf.float32), num_parallel_calls=2
    ),
    "filter": lambda ones: Dataset.range(4).filter(lambda x: ones[0] < 2),
    "flat_map": lambda ones: Dataset.range(4).flat_map(lambda x: Dataset.from_tensors(ones)),
    "scan": lambda ones: Dataset.range(4).apply(
        tf.data.experimental.scan(ones, lambda state, x: (state + 1, state))
    ),
    "padded_batch": lambda ones: (
        Dataset.range(4)
        .map(lambda x: tf.fill([x], ones[0]))
        .padded_batch(2, [None], padding_values=ones[1])
    ),
}


@pytest.mark.parametrize("source", ["fed", "variable"])
@pytest.mark.parametrize("use", USES)
def test_what_a_dataset_takes_is_not_changed_later(use: str, source: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float32, [3])
        variable = tf.get_variable("v", [3], initializer=tf.ones_initializer(), use_resource=True)
        iterator = tf.data.make_initializable_iterator(
            USES[use](fed if source == "fed" else variable.read_value())
        )
        element, change = iterator.get_next(), variable.assign_add([5.0, 5.0, 5.0])
        session.run(variable.initializer)

        def elements(spoil: bool) -> list[Any]:
            array = np.ones(3, np.float32)
            session.run(iterator.initializer, {fed: array})
            if spoil:
                array[:] = 7
                session.run(change)
            found = []
            while True:
                try:
                    found.append(session.run(element).tolist())
                except tf.errors.OutOfRangeError:
                    return found

        expected = elements(spoil=False)
        assert len(expected) > 1
        assert elements(spoil=True) == expected


def test_elements_of_a_queue_are_not_changed_with_the_batch_that_was_fed() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        batch = tf.placeholder(tf.float32, [3])
        queue = tf.FIFOQueue(10, tf.float32, [[]])
        enqueue, dequeue = queue.enqueue_many([batch]), queue.dequeue_many(3)
        array = np.ones(3, np.float32)
        session.run(enqueue, {batch: array})
        array[:] = 7
        assert session.run(dequeue).tolist() == [1, 1, 1]
