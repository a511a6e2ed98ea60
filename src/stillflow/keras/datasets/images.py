"""Data sets of small pictures: MNIST, Fashion-MNIST, CIFAR."""

from __future__ import annotations

import gzip
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stillflow.graph.export import export
from stillflow.keras.backend.config import image_data_format
from stillflow.keras.utils.downloads import get_file
from stillflow.util import pickles

ORIGIN = "https://storage.googleapis.com/tensorflow/tf-keras-datasets/"
_CIFAR = "https://www.cs.toronto.edu/~kriz/"

Split = tuple[NDArray[Any], NDArray[Any]]


@export("keras.datasets.mnist.load_data")
def load_mnist(path: str = "mnist.npz") -> tuple[Split, Split]:
    """MNIST: handwritten digits, for training and for testing.

    Args:
      path: where it is kept, from ~/.keras/datasets on.
    """
    file_hash = "731c5ac602752760c8e48fbffcf8c3b850d9dc2a2aedcf2cc48468fc17b673d1"
    path = get_file(path, origin=ORIGIN + "mnist.npz", file_hash=file_hash)
    with np.load(path) as arrays:
        train = arrays["x_train"], arrays["y_train"]
        return train, (arrays["x_test"], arrays["y_test"])


@export("keras.datasets.fashion_mnist.load_data")
def load_fashion_mnist() -> tuple[Split, Split]:
    """Fashion-MNIST: pieces of clothing, for training and for testing."""

    def load(split: str) -> Split:
        labels = _read_gzip(f"{split}-labels-idx1-ubyte.gz", offset=8)
        images = _read_gzip(f"{split}-images-idx3-ubyte.gz", offset=16)
        return images.reshape(len(labels), 28, 28), labels

    return load("train"), load("t10k")


def _read_gzip(name: str, offset: int) -> NDArray[np.uint8]:
    folder = os.path.join("datasets", "fashion-mnist")
    with gzip.open(get_file(name, origin=ORIGIN + name, cache_subdir=folder), "rb") as file:
        return np.frombuffer(file.read(), np.uint8, offset=offset)


@export("keras.datasets.cifar10.load_data")
def load_cifar10() -> tuple[Split, Split]:
    """CIFAR-10: pictures in colour of ten kinds of things, for training and for testing."""
    path = get_file(
        "cifar-10-batches-py", origin=_CIFAR + "cifar-10-python.tar.gz", untar=True,
        file_hash="6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
    )  # fmt: skip
    batches = [_read_batch(os.path.join(path, f"data_batch_{n}"), "labels") for n in range(1, 6)]
    train = (np.concatenate([batch[n] for batch in batches]) for n in range(2))
    images, labels = train
    return (images, labels), _read_batch(os.path.join(path, "test_batch"), "labels")


@export("keras.datasets.cifar100.load_data")
def load_cifar100(label_mode: str = "fine") -> tuple[Split, Split]:
    """CIFAR-100: pictures in colour of a hundred kinds of things, for training and for testing.

    Args:
      label_mode: "fine", or "coarse" for the twenty groups of the kinds.

    Raises:
      ValueError: if it is neither.
    """
    if label_mode not in ("fine", "coarse"):
        raise ValueError('`label_mode` must be one of `"fine"`, `"coarse"`.')
    path = get_file(
        "cifar-100-python", origin=_CIFAR + "cifar-100-python.tar.gz", untar=True,
        file_hash="85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
    )  # fmt: skip
    train, test = (
        _read_batch(os.path.join(path, split), f"{label_mode}_labels")
        for split in ("train", "test")
    )
    return train, test


def _read_batch(path: str, label_key: str) -> Split:
    with open(path, "rb") as file:
        content = pickles.loads(file.read(), pickles.ARRAYS, "a data set", encoding="bytes")
    images = content[b"data"].reshape(-1, 3, 32, 32)
    if image_data_format() == "channels_last":
        images = images.transpose(0, 2, 3, 1)
    return images, np.array(content[label_key.encode()]).astype("uint8").reshape(-1, 1)
