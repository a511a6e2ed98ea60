"""Critical sections: the operations of several threads run one after the other."""

from __future__ import annotations

import threading

import pytest

import stillflow as tf


def _counter(section, v):
    def count():
        before = v.read_value()
        with tf.control_dependencies([tf.py_func(lambda: None, [], [])]):
            with tf.control_dependencies([v.assign(before + 1.0)]):
                return tf.identity(before)

    return section.execute(count)


def test_runs_of_several_threads_do_not_come_between():
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(0.0, use_resource=True)
        counted = _counter(tf.CriticalSection(), v)
        session.run(v.initializer)
        found: list[float] = []

        def work():
            for _ in range(25):
                found.append(session.run(counted))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(found) == [float(i) for i in range(100)]


def test_a_run_that_fails_leaves_the_section():
    with tf.Graph().as_default(), tf.Session() as session:
        section = tf.CriticalSection()
        fails = tf.placeholder(tf.bool, [])

        def check():
            with tf.control_dependencies([tf.Assert(tf.logical_not(fails), ["Error"])]):
                return tf.constant(1)

        checked = section.execute(check)
        kept = []
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match="Error") as info:
                session.run(checked, {fails: True})
            kept.append(info)  # and with it the frames of the run
        assert session.run(checked, {fails: False}) == 1


def test_waiting_for_a_section_ends_with_the_time_limit():
    inside, leave = threading.Event(), threading.Event()

    def stay():
        inside.set()
        leave.wait(20)
        return 1.0

    with tf.Graph().as_default(), tf.Session() as session:
        section = tf.CriticalSection()
        slow = section.execute(lambda: tf.py_func(stay, [], tf.float64))
        quick = section.execute(lambda: tf.constant(2))
        thread = threading.Thread(target=session.run, args=(slow,))
        thread.start()
        assert inside.wait(20)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(quick, options=tf.RunOptions(timeout_in_ms=50))
        leave.set()
        thread.join()
        assert session.run(quick) == 2


def test_sections_of_one_name_are_the_same():
    with tf.Graph().as_default():
        section = tf.CriticalSection(shared_name="s")
        same = tf.CriticalSection(shared_name="s")
        with pytest.raises(ValueError, match="attempts to directly access the CriticalSection"):
            section.execute(lambda: same.execute(lambda: tf.constant(1)))


def test_resources_of_two_sections_have_to_be_shared_knowingly():
    with tf.Graph().as_default():
        one, other = tf.CriticalSection(), tf.CriticalSection()
        v, w = (tf.Variable(0.0, use_resource=True) for _ in range(2))
        one.execute(lambda: v + 1)
        one.execute(lambda: v - 1)
        with pytest.raises(ValueError, match="requested exclusive resource access"):
            other.execute(lambda: v + 1, exclusive_resource_access=False)
        one.execute(lambda: w + 1, exclusive_resource_access=False)
        other.execute(lambda: w + 1, exclusive_resource_access=False)
