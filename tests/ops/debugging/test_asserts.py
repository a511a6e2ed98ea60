"""`tf.Assert` of what is no scalar; the message is TensorFlow 1.15.5's."""

from __future__ import annotations

import pytest

import stillflow as tf


def test_a_condition_of_several_elements_is_refused_when_it_is_looked_at() -> None:
    with tf.Graph().as_default(), tf.Session() as sess:
        check = tf.Assert(tf.constant([True, False]), ["text"])
        assert check.type == "Assert"
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            sess.run(check)
    assert caught.value.message.startswith("In[0] should be a scalar: [2]\n")
