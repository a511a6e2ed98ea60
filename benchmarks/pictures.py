"""Examples in TFRecord files, for the programs that read them. Runs on Python 3.7 as well."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np


def write_examples(tf: Any, folder: str, images: list[bytes], count: int) -> str:
    """Write `count` Examples of an image and a label; give the file."""
    path = os.path.join(folder, "examples")
    with tf.python_io.TFRecordWriter(path) as writer:
        for number in range(count):
            image = tf.train.BytesList(value=[images[number % len(images)]])
            label = tf.train.Int64List(value=[number % 10])
            features = {
                "image": tf.train.Feature(bytes_list=image),
                "label": tf.train.Feature(int64_list=label),
            }
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())
    return path


def raw_images(count: int, size: int) -> list[bytes]:
    """Random pixels."""
    random = np.random.RandomState(0)
    return [random.bytes(size) for _ in range(count)]


def photographs(tf: Any, count: int) -> list[bytes]:
    """JPEG files of 500 x 375 pixels that have edges and slopes, as photographs do."""
    random = np.random.RandomState(0)
    down, across = np.mgrid[0:375, 0:500]
    with tf.Graph().as_default(), tf.Session() as session:
        pixels = tf.placeholder(tf.uint8, [375, 500, 3])
        encoded = tf.image.encode_jpeg(pixels, quality=90)
        files = []
        for _ in range(count):
            waves = [np.sin(down / s + across / t) for s, t in random.uniform(5, 60, (3, 2))]
            image = np.stack(waves, -1) * 100 + 128 + random.normal(0, 8, (375, 500, 3))
            files.append(session.run(encoded, {pixels: image.clip(0, 255).astype(np.uint8)}))
    return files


def parse_image(tf: Any, serialized: Any) -> tuple[Any, Any]:
    """Return the two features of an Example."""
    features = {
        "image": tf.FixedLenFeature([], tf.string),
        "label": tf.FixedLenFeature([], tf.int64),
    }
    parsed = tf.parse_single_example(serialized, features)
    return parsed["image"], parsed["label"]


def counting(session: Any, batch: Any, batches: int, folder: Any) -> Callable[[], float]:
    """Return a step that takes some batches and returns how many examples came.

    Args:
      session: in which to take them.
      batch: images and labels.
      batches: how many.
      folder: of the files they come from; it stays for as long as the step does.
    """

    def step() -> float:
        folder.name  # noqa: B018  (keeps the files)
        return float(sum(len(session.run(batch)[1]) for _ in range(batches)))

    return step
