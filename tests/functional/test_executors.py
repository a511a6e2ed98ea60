"""`tf.experimental.function_executor_type`."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.graph.eager_mode import eager_mode


@tf.function
def plus_one(x):
    return x + 1.0


@pytest.mark.parametrize("kind", ["", "DEFAULT", "SINGLE_THREADED_EXECUTOR", None])
def test_calls_run_alike_and_tell_the_graph(kind):
    with tf.experimental.function_executor_type(kind):
        y = plus_one(tf.constant(1.0))
        with eager_mode():
            assert plus_one(tf.constant(1.0)).numpy() == 2.0
    assert y.op.node_def.attr["executor_type"].s == (kind or "").encode()
    with tf.Session() as session:
        assert session.run(y) == 2.0


def test_another_executor_is_not_found():
    with (
        eager_mode(),
        tf.experimental.function_executor_type("BAD"),
        pytest.raises(tf.errors.NotFoundError, match=r"executor type: BAD .*\[Op:__inference_plus"),
    ):
        plus_one(tf.constant(1.0))
    with eager_mode():
        assert plus_one(tf.constant(1.0)).numpy() == 2.0
