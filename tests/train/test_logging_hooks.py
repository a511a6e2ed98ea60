"""Log lines of hooks."""

from __future__ import annotations

import logging

import stillflow as tf


def test_numbers_are_shown_with_the_digits_of_their_type(caplog):
    with tf.Graph().as_default():
        values = {"half": tf.constant(0.3), "several": tf.constant([0.3, 1.0])}
        hook = tf.train.LoggingTensorHook(values, every_n_iter=1)
        logger = logging.getLogger("tensorflow")
        logger.addHandler(caplog.handler)
        caplog.set_level(logging.INFO, "tensorflow")
        try:
            with tf.train.SingularMonitoredSession(hooks=[hook]) as session:
                session.run(values["half"])
        finally:
            logger.removeHandler(caplog.handler)
    # Recorded under TensorFlow 1.15.5.
    assert "half = 0.3, several = [0.3 1. ]" in [r.getMessage() for r in caplog.records]
