"""Waits in a queue, and their ends."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


def blocked(sess, op):
    """Run `op` in a thread that is sure to wait; give the thread and where its error goes."""
    errors = []

    def run():
        try:
            sess.run(op)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    time.sleep(0.05)
    assert thread.is_alive()
    return thread, errors


def ended(thread):
    thread.join(5)
    return not thread.is_alive()


def test_closing_the_session_reaches_a_blocked_dequeue():
    queue = tf.FIFOQueue(10, tf.int32)
    sess = tf.Session()
    sess.run(queue.size())
    thread, errors = blocked(sess, queue.dequeue())
    sess.close()
    assert ended(thread)
    assert isinstance(errors[0], tf.errors.CancelledError)
    assert "Dequeue operation was cancelled" in errors[0].message


def test_a_session_closed_before_the_first_run_has_begun_ends_it():
    queue = tf.FIFOQueue(10, tf.int32)
    taken = queue.dequeue()
    sess = tf.Session()
    make_plan = sess._plan_for

    def close_first(*args):
        sess.close()
        return make_plan(*args)

    sess._plan_for = close_first
    with pytest.raises(tf.errors.CancelledError, match="closed"):
        sess.run(taken)


def test_closing_a_queue_cancels_blocked_enqueues_on_demand():
    queue = tf.FIFOQueue(1, tf.int32)
    with tf.Session() as sess:
        sess.run(queue.enqueue(1))
        thread, errors = blocked(sess, queue.enqueue(2))
        sess.run(queue.close(cancel_pending_enqueues=True))
        assert ended(thread)
        assert "Enqueue operation was cancelled" in errors[0].message
        assert sess.run(queue.dequeue()) == 1


def test_closing_waits_for_enqueues_that_came_before():
    queue = tf.FIFOQueue(1, tf.int32)
    with tf.Session() as sess:
        sess.run(queue.enqueue(1))
        putting, _ = blocked(sess, queue.enqueue(2))
        closing, _ = blocked(sess, queue.close())
        taken = queue.dequeue()
        assert [sess.run(taken), sess.run(taken)] == [1, 2]
        assert ended(putting) and ended(closing)
        with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insufficient"):
            sess.run(taken)


def test_a_cancelled_batch_gives_back_what_it_had_taken():
    queue = tf.FIFOQueue(10, tf.int32, shapes=[[]])
    config = tf.ConfigProto(operation_timeout_in_ms=100)
    with tf.Session(config=config) as sess:
        sess.run(queue.enqueue_many([[1, 2, 3]]))
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(queue.dequeue_many(5))
        assert sess.run(queue.dequeue_many(3)).tolist() == [1, 2, 3]


def test_a_time_limit_of_one_run_ends_its_wait_alone():
    queue = tf.FIFOQueue(10, tf.int32)
    with tf.Session() as sess:
        thread, errors = blocked(sess, queue.dequeue())
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run(queue.dequeue(), options=tf.RunOptions(timeout_in_ms=50))
        assert thread.is_alive()
        sess.run(queue.enqueue(3))
        assert ended(thread) and not errors


def test_batches_larger_than_the_queue_pass_through():
    queue = tf.FIFOQueue(3, tf.int32, shapes=[[]])
    with tf.Session() as sess:
        thread, _ = blocked(sess, queue.enqueue_many([list(range(20))]))
        assert sess.run(queue.dequeue_many(20)).tolist() == list(range(20))
        assert ended(thread)


def test_interrupt_from_the_keyboard_ends_the_wait():
    queue = tf.FIFOQueue(10, tf.int32)
    with tf.Session() as sess:
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            sess.run(queue.dequeue())
        sess.run(queue.enqueue(5))
        assert sess.run(queue.dequeue()) == 5


def test_what_was_fed_may_change_afterwards():
    value = tf.placeholder(tf.float32, [3])
    queue = tf.FIFOQueue(10, tf.float32, shapes=[[3]])
    put, put_many = queue.enqueue(value), queue.enqueue_many(value[None])
    array = np.ones(3, np.float32)
    with tf.Session() as sess:
        sess.run(put, {value: array})
        sess.run(put_many, {value: array})
        array[:] = 7
        assert sess.run(queue.dequeue_many(2)).tolist() == [[1, 1, 1]] * 2


def test_what_a_variable_was_stays_in_the_queue():
    variable = tf.Variable([1.0, 2.0])
    queue = tf.FIFOQueue(10, tf.float32)
    put, change = queue.enqueue(variable), tf.assign_add(variable, [1.0, 1.0])
    with tf.Session() as sess:
        sess.run(variable.initializer)
        sess.run(put)
        sess.run(change)
        assert sess.run(queue.dequeue()).tolist() == [1.0, 2.0]


def test_threads_share_a_queue_and_each_element_comes_once():
    queue = tf.RandomShuffleQueue(50, 10, tf.int32, shapes=[[]])
    number = tf.placeholder(tf.int32, [None])
    put, take, close = queue.enqueue_many(number), queue.dequeue_up_to(7), queue.close()
    seen = []

    def fill(sess, start):
        for i in range(start, start + 500, 50):
            sess.run(put, {number: np.arange(i, i + 50)})

    def drain(sess):
        try:
            while True:
                seen.extend(sess.run(take).tolist())
        except tf.errors.OutOfRangeError:
            pass

    with tf.Session() as sess:
        fillers = [threading.Thread(target=fill, args=(sess, n * 500)) for n in range(4)]
        drains = [threading.Thread(target=drain, args=(sess,)) for _ in range(3)]
        for thread in (*fillers, *drains):
            thread.start()
        for thread in fillers:
            thread.join(30)
        sess.run(close)
        for thread in drains:
            thread.join(30)
    assert sorted(seen) == list(range(2000))


# ---- Puts and takes of one run


def limited(sess, fetches):
    """Run what would wait for ever if it waited for itself."""
    return sess.run(fetches, options=tf.RunOptions(timeout_in_ms=20_000))


def test_a_run_takes_what_it_puts_whichever_was_made_first():
    queue = tf.FIFOQueue(10, tf.int32, shapes=[[]])
    doubled = queue.dequeue() * 2
    put = queue.enqueue(3)
    batch = queue.dequeue_many(4)
    fill = queue.enqueue_many([[1, 2, 3, 4]])
    with tf.Session() as sess:
        for _ in range(3):
            assert limited(sess, [doubled, put])[0] == 6
            assert limited(sess, [fill, batch])[1].tolist() == [1, 2, 3, 4]


def test_a_run_puts_where_only_its_taking_makes_room():
    queue = tf.FIFOQueue(1, tf.int32, shapes=[[]])
    value = tf.placeholder(tf.int32, [])
    put = queue.enqueue(value)
    take = queue.dequeue()
    with tf.Session() as sess:
        sess.run(put, {value: 0})
        for number in range(5):
            options = tf.RunOptions(timeout_in_ms=20_000)
            assert sess.run([put, take], {value: number + 1}, options)[1] == number
        assert sess.run(queue.size()) == 1


def test_what_fails_before_a_put_ends_the_wait_of_a_take():
    queue = tf.FIFOQueue(10, tf.int32, shapes=[[]])
    take = queue.dequeue()
    with tf.control_dependencies([tf.Assert(False, ["before"])]):
        put = queue.enqueue(33)
    with tf.Session() as sess:
        with pytest.raises(tf.errors.InvalidArgumentError, match="before"):
            limited(sess, [take, put])
        assert sess.run(queue.size()) == 0


def test_a_put_that_fails_at_the_end_of_the_run_is_raised():
    first, second = tf.FIFOQueue(1, tf.int32), tf.FIFOQueue(1, tf.int32)
    take, put = first.dequeue(), second.enqueue(1)
    with tf.Session() as sess:
        sess.run([first.enqueue(5)])
        sess.run(second.close())
        with pytest.raises(tf.errors.CancelledError, match="is closed"):
            sess.run([take, put])


def test_a_put_that_had_no_turn_leaves_nothing_behind():
    first, second = tf.FIFOQueue(1, tf.int32), tf.FIFOQueue(1, tf.int32, shapes=[[]])
    take, put = first.dequeue(), second.enqueue(2)
    with tf.Session() as sess:
        sess.run(second.enqueue(1))
        with pytest.raises(tf.errors.DeadlineExceededError):
            sess.run([take, put], options=tf.RunOptions(timeout_in_ms=200))
        assert sess.run(second.dequeue()) == 1
        assert sess.run(second.size()) == 0


@pytest.mark.parametrize("grouped", [False, True])
def test_what_is_taken_goes_on_into_other_queues(grouped):
    value = tf.placeholder(tf.float32, [])
    result, puts, fills = value, [], []
    for _ in range(3):  # a delay line, as WaveNet's fast generation has
        queues = [tf.FIFOQueue(2, tf.float32, shapes=[[]]) for _ in range(2)]
        before = queues[0].dequeue()
        puts.append(queues[0].enqueue(result))
        earlier = queues[1].dequeue()
        puts.append(queues[1].enqueue(before))
        fills += [queue.enqueue_many([[0.0, 0.0]]) for queue in queues]
        result = result + 2 * before + 3 * earlier
    put = tf.group(*puts) if grouped else puts
    options = tf.RunOptions(timeout_in_ms=20_000)
    with tf.Session() as sess:
        run = [sess.run([result, put], {value: i}, options)[0] for i in range(4)]
        assert run == [0.0, 216.0, 432.0, 648.0]
    with tf.Session() as sess:
        sess.run(fills)
        run = [sess.run([result, put], {value: i + 1}, options)[0] for i in range(6)]
        assert run == [1.0, 2.0, 9.0, 16.0, 44.0, 72.0]


def test_queues_that_feed_each_other_start_with_what_was_made_first():
    first, second = (tf.FIFOQueue(5, tf.float32, shapes=[[]]) for _ in range(2))
    a, b = first.dequeue(), second.dequeue()
    puts = [first.enqueue(b + 1), second.enqueue(a * 2)]
    with tf.Session() as sess:
        sess.run([first.enqueue(5.0), second.enqueue(3.0)])
        found = [limited(sess, [a, b, puts])[:2] for _ in range(3)]
        assert found == [[5.0, 3.0], [4.0, 10.0], [11.0, 8.0]]
