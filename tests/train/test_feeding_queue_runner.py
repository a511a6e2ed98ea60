"""Threads that feed what they put into a queue."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.train.feeding_queue_runner import FeedingQueueRunner


def _feed(placeholder, values):
    left = list(values)

    def feed():
        if not left:
            raise tf.errors.OutOfRangeError(None, None, "no more")
        return {placeholder: left.pop(0)}

    return feed


def test_puts_in_what_its_function_feeds_and_closes_at_the_end():
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(10, tf.float32, shapes=[()])
        value = tf.placeholder(tf.float32, [])
        runner = FeedingQueueRunner(
            queue, [queue.enqueue(value)], feed_fns=[_feed(value, [1.0, 2.0, 3.0])]
        )
        coordinator = tf.train.Coordinator()
        threads = runner.create_threads(session, coordinator, start=True)
        assert [session.run(queue.dequeue()) for _ in range(3)] == [1.0, 2.0, 3.0]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(queue.dequeue())
        coordinator.request_stop()
        coordinator.join(threads)


def test_needs_a_function_for_each_operation():
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(10, tf.float32)
        with pytest.raises(ValueError, match="feed_fns is not None"):
            FeedingQueueRunner(queue, [queue.enqueue(1.0)], feed_fns=[])


def test_an_error_of_its_function_reaches_the_coordinator():
    def fails():
        raise KeyError("column")

    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(10, tf.float32)
        runner = FeedingQueueRunner(queue, [queue.enqueue(1.0)], feed_fns=[fails])
        coordinator = tf.train.Coordinator()
        threads = runner.create_threads(session, coordinator, start=True)
        with pytest.raises(KeyError, match="column"):
            coordinator.join(threads)


def test_stands_in_a_meta_graph_as_a_plain_queue_runner():
    with tf.Graph().as_default():
        queue = tf.FIFOQueue(10, tf.float32)
        tf.train.add_queue_runner(FeedingQueueRunner(queue, [queue.enqueue(1.0)]))
        message = tf.train.export_meta_graph()
        assert len(message.collection_def["queue_runners"].bytes_list.value) == 1
