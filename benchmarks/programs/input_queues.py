"""TFRecords through queues: a reader, a parser, batches in random order."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

from ..pictures import counting, parse_image, raw_images, write_examples

STEPS = 10
BATCHES = 20
BATCH = 64


def build(tf: Any) -> Callable[[], float]:
    """Return a function that reads 20 batches of 28 x 28 images and returns their number."""
    tf.logging.set_verbosity(tf.logging.ERROR)
    folder = tempfile.TemporaryDirectory()
    path = write_examples(tf, folder.name, raw_images(100, 784), 2_000)
    with tf.Graph().as_default():
        names = tf.train.string_input_producer([path])
        _, serialized = tf.TFRecordReader().read(names)
        image, label = parse_image(tf, serialized)
        pixels = tf.reshape(tf.decode_raw(image, tf.uint8), [784])
        pixels = tf.cast(pixels, tf.float32) * (1.0 / 255)
        batch = tf.train.shuffle_batch(
            [pixels, label], BATCH, capacity=1_000, min_after_dequeue=500, num_threads=2
        )
        session = tf.Session()
        coordinator = tf.train.Coordinator()
        tf.train.start_queue_runners(session, coordinator)
    return counting(session, batch, BATCHES, folder)
