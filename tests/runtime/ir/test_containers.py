"""Known contents of stacks in plans."""

from __future__ import annotations

import stillflow as tf
from stillflow.runtime.ir.containers import _is_paired


def stacks():
    return [op for op in tf.get_default_graph().get_operations() if op.type == "StackV2"]


def test_stacks_of_gradients_of_loops_hand_on_what_is_known():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3, 4, 2])
        outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(2), x, dtype=tf.float32)
        assert tf.gradients(outputs, x)[0] is not None
        assert stacks()
        assert all(_is_paired(stack) for stack in stacks())


def test_stacks_that_are_popped_twice_or_may_be_full_do_not():
    with tf.Graph().as_default():
        for size, pops in ((-1, 2), (1, 1)):
            stack = tf.raw_ops.StackV2(max_size=size, elem_type=tf.float32)
            tf.raw_ops.StackPushV2(handle=stack, elem=1.0)
            for _ in range(pops):
                tf.raw_ops.StackPopV2(handle=stack, elem_type=tf.float32)
        assert len(stacks()) == 2
        assert not any(_is_paired(stack) for stack in stacks())
