"""The memory of devices."""

from __future__ import annotations

import pytest

import stillflow as tf


def test_a_processor_does_not_say_what_is_in_use(cpu):
    stats = tf.contrib.memory_stats
    with tf.Graph().as_default(), tf.Session() as session:
        for measure in (stats.BytesInUse, stats.MaxBytesInUse):
            with pytest.raises(tf.errors.InvalidArgumentError, match="No OpKernel was registered"):
                session.run(measure())


def test_a_gpu_says_what_is_in_use():
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    stats = tf.contrib.memory_stats
    with tf.Graph().as_default(), tf.device("/gpu:0"), tf.Session() as session:
        values = tf.Variable(tf.zeros([1 << 20]))
        session.run(tf.global_variables_initializer())
        in_use, most, limit = session.run(
            [stats.BytesInUse(), stats.MaxBytesInUse(), stats.BytesLimit()]
        )
        assert values.shape.num_elements() * 4 <= in_use <= most <= limit
