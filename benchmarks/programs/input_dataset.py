"""TFRecords through tf.data: parsed, shuffled, in batches."""

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

    def parse(serialized: Any) -> Any:
        image, label = parse_image(tf, serialized)
        pixels = tf.reshape(tf.decode_raw(image, tf.uint8), [784])
        return tf.cast(pixels, tf.float32) * (1.0 / 255), label

    with tf.Graph().as_default():
        data = tf.data.TFRecordDataset([path]).repeat().map(parse, num_parallel_calls=2)
        data = data.shuffle(500).batch(BATCH).prefetch(1)
        batch = data.make_one_shot_iterator().get_next()
        session = tf.Session()
    return counting(session, batch, BATCHES, folder)
