"""tf.user_ops."""

from __future__ import annotations

import stillflow as tf


def test_my_fact():
    with tf.Graph().as_default(), tf.Session() as session:
        fact = tf.user_ops.my_fact()
        assert fact.op.type == "Fact" and fact.shape.ndims is None
        assert session.run(fact) == b"0! == 1"
