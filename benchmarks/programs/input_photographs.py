"""Photographs through tf.data: decoded, resized, flipped at random, in batches."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

from ..pictures import counting, parse_image, photographs, write_examples

STEPS = 10
BATCHES = 2
BATCH = 32


def build(tf: Any) -> Callable[[], float]:
    """Return a function that takes 2 batches of 32 photographs and returns how many came."""
    tf.logging.set_verbosity(tf.logging.ERROR)
    folder = tempfile.TemporaryDirectory()
    path = write_examples(tf, folder.name, photographs(tf, 20), 200)

    def parse(serialized: Any) -> Any:
        image, label = parse_image(tf, serialized)
        pixels = tf.image.decode_jpeg(image, channels=3)
        pixels = tf.image.resize_images(tf.cast(pixels, tf.float32), [224, 224])
        return tf.image.random_flip_left_right(pixels), label

    with tf.Graph().as_default():
        data = tf.data.TFRecordDataset([path]).repeat().map(parse, num_parallel_calls=2)
        batch = data.shuffle(50).batch(BATCH).prefetch(1).make_one_shot_iterator().get_next()
        session = tf.Session()
    return counting(session, batch, BATCHES, folder)
