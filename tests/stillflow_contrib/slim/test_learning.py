"""Training loop of slim: its end, and its restart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import stillflow as tf

learning = tf.contrib.slim.learning


pytestmark = pytest.mark.filterwarnings("ignore:Attempting to use a closed FileWriter")


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as made:
        yield made


def train_op() -> Any:
    w = tf.get_variable("w", initializer=[2.0, -3.0])
    loss = tf.reduce_sum(tf.square(w))
    return learning.create_train_op(loss, tf.train.GradientDescentOptimizer(0.1))


def test_an_aborted_session_is_followed_by_another(tmp_path: Path) -> None:
    steps = []

    def step(sess: Any, op: Any, global_step: Any, kwargs: Any) -> tuple[Any, bool]:
        loss, number = sess.run([op, global_step])
        steps.append(number)
        if len(steps) == 3:
            raise tf.errors.AbortedError(None, None, "a server went away")
        return loss, number >= 5

    assert learning.train(train_op(), str(tmp_path), train_step_fn=step) < 13
    assert len(steps) > 3
    assert tf.train.latest_checkpoint(str(tmp_path))


def test_the_end_of_the_input_ends_the_training() -> None:
    limited = tf.train.limit_epochs(tf.constant(1.0), 4)
    with tf.control_dependencies([limited]):
        op = train_op()
    seen = []

    def step(*args: Any) -> tuple[Any, Any]:
        found = learning.train_step(*args)
        seen.append(found[0])
        return found

    with tf.control_dependencies([limited]):
        counted = tf.identity(op)
    assert learning.train(counted, None, train_step_fn=step) == seen[-1]
    assert 0 < len(seen) <= 4


def test_a_wrapped_session_is_the_one_that_runs() -> None:
    wrapped = []

    def wrap(sess: Any) -> Any:
        wrapped.append(sess)
        return sess

    learning.train(train_op(), None, number_of_steps=2, session_wrapper=wrap)
    assert len(wrapped) == 1


def test_other_exceptions_pass_through() -> None:
    def step(*args: Any) -> tuple[Any, bool]:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        learning.train(train_op(), None, train_step_fn=step)
