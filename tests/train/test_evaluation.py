"""One round of evaluation: hooks that end it, and the counter of rounds."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.train.evaluation import (
    StopAfterNEvalsHook,
    evaluate_once,
    get_or_create_eval_step,
)


def test_runs_so_many_rounds_then_the_final_operations():
    with tf.Graph().as_default():
        total = tf.get_local_variable("total", shape=[], initializer=tf.zeros_initializer())
        result = evaluate_once(
            None, eval_ops=total.assign_add(2.0), final_ops={"total": total},
            hooks=[StopAfterNEvalsHook(3)],
        )  # fmt: skip
        assert result == {"total": 6.0}


@pytest.mark.parametrize("wrap", [lambda op: [op], lambda op: {"update": op}, lambda op: op])
def test_counts_rounds_for_any_structure_of_operations(wrap):
    with tf.Graph().as_default():
        step = get_or_create_eval_step()
        update = wrap(tf.no_op())
        hook = StopAfterNEvalsHook(2, log_progress=False)
        assert evaluate_once(None, eval_ops=update, final_ops=step.read_value(), hooks=[hook]) == 2


def test_refuses_two_counters():
    with tf.Graph().as_default():
        for name in "ab":
            tf.add_to_collection(tf.GraphKeys.EVAL_STEP, tf.constant(0, name=name))
        with pytest.raises(ValueError, match=r"Multiple tensors added to tf\.GraphKeys\.EVAL_STEP"):
            get_or_create_eval_step()
