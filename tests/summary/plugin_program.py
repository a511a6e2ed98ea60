"""Summaries of the `tensorboard` package in TF1 graphs; prints {name: bytes in hexadecimal}.

Runs under TensorFlow 1.15.5 and under the launcher:

    $STILLFLOW_ENVS/tf115/bin/python tests/summary/plugin_program.py > tests/summary/plugins.json
    python -m stillflow tests/summary/plugin_program.py
"""

import binascii
import json

import numpy as np
import tensorflow as tf
from tensorboard.plugins.audio import summary as audio
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar import summary as custom_scalar
from tensorboard.plugins.histogram import summary as histogram
from tensorboard.plugins.image import summary as image
from tensorboard.plugins.pr_curve import summary as pr_curve
from tensorboard.plugins.scalar import summary as scalar
from tensorboard.plugins.text import summary as text

RANDOM = np.random.RandomState(0)
LABELS = RANDOM.rand(50) > 0.5
GUESSES = RANDOM.rand(50).astype(np.float32)
CHART = layout_pb2.Chart(title="losses", multiline=layout_pb2.MultilineChartContent(tag=["loss.*"]))
LAYOUT = layout_pb2.Layout(category=[layout_pb2.Category(title="all", chart=[CHART])])
PIXELS = np.full([1, 2, 2, 3], 7, np.uint8)
COUNTS = {
    "true_positive_counts": np.array([75, 64, 0]),
    "false_positive_counts": np.array([150, 105, 0]),
    "true_negative_counts": np.array([0, 45, 150]),
    "false_negative_counts": np.array([0, 11, 75]),
    "precision": np.array([0.25, 0.5, 0.0]),
    "recall": np.array([1.0, 0.75, 0.0]),
}

PROGRAMS = {
    "pr_curve.op": lambda: pr_curve.op(
        "pr",
        tf.constant(LABELS),
        tf.constant(GUESSES),
        num_thresholds=11,
        display_name="shown",
        description="*text*",
    ),
    "pr_curve.op with weights": lambda: pr_curve.op(
        "pr",
        tf.constant(LABELS),
        tf.constant(GUESSES),
        7,
        weights=tf.constant(0.5 + 0.5 * LABELS, tf.float32),
    ),
    "pr_curve.streaming_op": lambda: pr_curve.streaming_op(
        "pr", tf.constant(LABELS), tf.constant(GUESSES), num_thresholds=11
    ),
    "pr_curve.raw_data_op": lambda: pr_curve.raw_data_op(
        "pr", num_thresholds=3, **{key: tf.constant(value) for key, value in COUNTS.items()}
    ),
    "pr_curve.pb": lambda: pr_curve.pb("pr", LABELS, GUESSES, 11),
    "pr_curve.raw_data_pb": lambda: pr_curve.raw_data_pb("pr", num_thresholds=3, **COUNTS),
    "custom_scalar.op": lambda: custom_scalar.op(LAYOUT),
    "custom_scalar.pb": lambda: custom_scalar.pb(LAYOUT),
    "scalar.op": lambda: scalar.op("loss", tf.constant(2.0), description="text"),
    "histogram.op": lambda: histogram.op("weights", tf.constant(GUESSES), bucket_count=5),
    "image.op": lambda: image.op("picture", tf.constant(PIXELS)),
    "audio.op": lambda: audio.op("sound", tf.zeros([1, 4, 1]), 8000),
    "text.op": lambda: text.op("words", tf.constant([["a", "*b*"]])),
    "scalar.pb": lambda: scalar.pb("loss", 2.0),
    "histogram.pb": lambda: histogram.pb("weights", np.arange(10.0), bucket_count=5),
    "image.pb": lambda: image.pb("picture", PIXELS),
    "audio.pb": lambda: audio.pb("sound", np.zeros([1, 4, 1], np.float32), 8000),
    "text.pb": lambda: text.pb("words", "some"),
}


def content(build):
    with tf.Graph().as_default(), tf.Session() as session:
        made, update = build(), tf.no_op()
        if isinstance(made, tuple):  # a summary that gathers as it goes
            made, update = made
        if not isinstance(made, tf.Tensor):
            return made.SerializeToString()
        session.run(tf.local_variables_initializer())
        session.run(update)
        return session.run(made)


if __name__ == "__main__":
    found = {name: binascii.hexlify(content(build)).decode() for name, build in PROGRAMS.items()}
    print(json.dumps(found, indent=1, sort_keys=True))
