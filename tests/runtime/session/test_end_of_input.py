"""Steps that fail because the input has ended."""

from __future__ import annotations

import pytest

import stillflow as tf


@pytest.mark.parametrize("traced", [False, True])
def test_a_step_without_input_counts(session, traced):
    level = {"trace_level": tf.RunOptions.FULL_TRACE} if traced else {}
    asked = tf.RunOptions(**level), tf.RunMetadata()
    batch = tf.train.limit_epochs(tf.constant(1.0), num_epochs=2)
    counted = tf.Variable(0)
    train = tf.group(batch, tf.assign_add(counted, 1))
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    session.run(train, None, *asked)
    session.run(train, None, *asked)
    with pytest.raises(tf.errors.OutOfRangeError):
        session.run(train, None, *asked)
    assert session.run(counted) == 3


def test_what_needs_the_input_does_not_run(session):
    batch = tf.train.limit_epochs(tf.constant(1.0), num_epochs=1)
    total, counted = tf.Variable(0.0), tf.Variable(0, use_resource=True)
    with tf.control_dependencies([batch]):
        after = counted.assign_add(1)
    train = [tf.assign_add(total, batch), after]
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    session.run(train)
    with pytest.raises(tf.errors.OutOfRangeError):
        session.run(train)
    assert session.run([total, counted]) == [1.0, 1]
