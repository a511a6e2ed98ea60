"""Examples of 128 features, half of them sparse, parsed in batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..job import Job

STEPS = 20
BATCH = 128


def build(tf: Any) -> Job:
    """Return the number of values of a batch."""
    random = np.random.RandomState(0)
    features = {"dense%d" % n: tf.FixedLenFeature([4], tf.float32) for n in range(64)}
    features.update({"sparse%d" % n: tf.VarLenFeature(tf.int64) for n in range(64)})
    serialized = tf.placeholder(tf.string, [None])
    parsed = tf.parse_example(serialized, features)
    counts = [tf.size(parsed[name].values) if name[0] == "s" else tf.size(parsed[name])
              for name in sorted(parsed)]  # fmt: skip
    return Job([tf.add_n(counts)], {serialized: [example(tf, random) for _ in range(BATCH)]}, [])


def example(tf: Any, random: Any) -> bytes:
    """Return a serialized Example."""
    features = {}
    for n in range(64):
        floats = tf.train.FloatList(value=random.rand(4))
        numbers = tf.train.Int64List(value=random.randint(0, 1_000, random.randint(0, 6)))
        features["dense%d" % n] = tf.train.Feature(float_list=floats)
        features["sparse%d" % n] = tf.train.Feature(int64_list=numbers)
    text = tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()
    return bytes(text)
