"""MNIST, Fashion MNIST or made-up pictures in the form that classifiers of pictures take."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf

INPUT_SHAPE = (28, 28, 1)
NUM_CLASSES = 10
_TINY = (16, 128)  # pictures to train and to test with

_Pictures = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def _made_up(count: int) -> _Pictures:
    pictures = np.random.randint(0, 256, (count, *INPUT_SHAPE[:2]), dtype=np.uint8)
    return pictures, np.random.randint(0, NUM_CLASSES, (count,), dtype=np.int64)


def _prepared(pictures: Any, labels: Any) -> _Pictures:
    return pictures[..., None].astype("float32") / 255.0, np.eye(NUM_CLASSES, dtype="f")[labels]


def load_reshaped_data(
    use_fashion_mnist: bool = False, fake_tiny_data: bool = False
) -> tuple[_Pictures, _Pictures]:
    """Pictures `[count, 28, 28, 1]` in [0, 1] and one-hot labels, to train and to test with.

    Args:
      use_fashion_mnist: whether Fashion MNIST is loaded and not MNIST.
      fake_tiny_data: whether a few random pictures are made instead.
    """
    if fake_tiny_data:
        train, test = (_made_up(count) for count in _TINY)
    else:
        name = "fashion_mnist" if use_fashion_mnist else "mnist"
        datasets: Any = tf.keras.datasets
        train, test = getattr(datasets, name).load_data()
    return _prepared(*train), _prepared(*test)
