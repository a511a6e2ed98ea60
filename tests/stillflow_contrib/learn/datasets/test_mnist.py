"""tf.contrib.learn.datasets.mnist, which programs know as input_data."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

import stillflow as tf
from stillflow_contrib.learn.datasets import base, load_dataset, mnist


def digits(count):
    images = np.arange(count * 6, dtype=np.uint8).reshape(count, 2, 3)
    return images, (np.arange(count) % 10).astype(np.uint8)


@pytest.fixture
def folder(tmp_path):
    for part, count in (("train", 20), ("t10k", 7)):
        images, labels = digits(count)
        with gzip.open(tmp_path / f"{part}-images-idx3-ubyte.gz", "wb") as file:
            file.write(struct.pack(">4I", 2051, count, 2, 3) + images.tobytes())
        with gzip.open(tmp_path / f"{part}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(struct.pack(">2I", 2049, count) + labels.tobytes())
    return str(tmp_path)


def read(folder, **options):
    return mnist.read_data_sets(folder, **{"validation_size": 4, **options})


def test_parts_are_cut_from_the_files(folder):
    data = read(folder)
    assert [part.num_examples for part in data] == [16, 4, 7]
    images, labels = digits(20)
    assert np.array_equal(data.validation.labels, labels[:4])
    assert data.train.images.dtype == np.float32 and data.train.images.shape == (16, 6)
    assert np.array_equal(
        data.train.images, np.multiply(images[4:].reshape(16, 6).astype(np.float32), 1 / 255)
    )
    whole = read(folder, reshape=False, dtype=tf.uint8, one_hot=True)
    assert whole.test.images.shape == (7, 2, 3, 1) and whole.test.images.dtype == np.uint8
    assert whole.test.labels.tolist() == np.eye(10)[:7].tolist()


def test_batches_go_around_and_shuffle_by_seed(folder):
    data = read(folder, seed=5).train
    np.random.seed(5)
    orders = [np.arange(16), np.arange(16)]
    for order in orders:
        np.random.shuffle(order)
    first, second = orders[0], orders[0][orders[1]]
    labels = digits(20)[1][4:]
    np.random.seed(5)
    assert np.array_equal(data.next_batch(10)[1], labels[first[:10]])
    assert data.epochs_completed == 0
    images, found = data.next_batch(10)
    assert np.array_equal(found, np.r_[labels[first[10:]], labels[second[:4]]])
    assert images.shape == (10, 6) and data.epochs_completed == 1
    straight = read(folder).test
    assert straight.next_batch(3, shuffle=False)[1].tolist() == [0, 1, 2]
    assert straight.next_batch(5, shuffle=False)[1].tolist() == [3, 4, 5, 6, 0]


def test_graph_seed_counts(folder):
    with tf.Graph().as_default():
        tf.set_random_seed(11)
        read(folder)
        once = np.random.rand()
    np.random.seed(11)
    assert once == np.random.rand()


def test_fake_data():
    data = mnist.read_data_sets("nowhere", fake_data=True, one_hot=True)
    images, labels = data.train.next_batch(2, fake_data=True)
    assert (len(images), len(images[0]), labels) == (2, 784, [[1] + [0] * 9] * 2)


@pytest.mark.parametrize(
    "name, data, message",
    [
        (
            "train-images-idx3-ubyte.gz",
            struct.pack(">4I", 2049, 1, 1, 1),
            "Invalid magic number 2049",
        ),
        (
            "train-images-idx3-ubyte.gz",
            struct.pack(">4I", 2051, 9, 9, 9),
            "ends after 0 of 729 bytes",
        ),
        ("t10k-labels-idx1-ubyte.gz", b"", "Invalid magic number 0 in MNIST label file"),
    ],
)
def test_wrong_files_are_named(folder, name, data, message):
    with gzip.open(f"{folder}/{name}", "wb") as file:
        file.write(data)
    with pytest.raises(ValueError, match=message):
        read(folder)


def test_wrong_arguments(folder):
    with pytest.raises(ValueError, match=r"between 0 and 20\. Received: 21"):
        read(folder, validation_size=21)
    with pytest.raises(TypeError, match="expected uint8 or float32"):
        read(folder, dtype=tf.int32)


def test_files_are_fetched_once(tmp_path):
    source = tmp_path / "source.bin"
    source.write_bytes(b"data")
    for _ in range(2):
        path = base.maybe_download("file", str(tmp_path / "to"), source.as_uri())
        source.unlink(missing_ok=True)
    assert Path(path).read_bytes() == b"data"
    with pytest.raises(OSError, match=r"put the file at .*other, or source.bin into a folder"):
        base.maybe_download("other", str(tmp_path / "to"), source.as_uri())
    assert [item.name for item in (tmp_path / "to").iterdir()] == ["file"]


def test_csv_files(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("2,3,a,b\n1,2,3,0\n4,5,6,1\n")
    data, target = base.load_csv_with_header(str(path), int, float)
    assert data.tolist() == [[1, 2, 3], [4, 5, 6]] and target.tolist() == [0, 1]
    assert base.load_iris(str(path)).target.tolist() == [0, 1]
    path.write_text("0,1,2\n1,3,4\n")
    data, target = base.load_csv_without_header(str(path), int, float, target_column=0)
    assert data.tolist() == [[1, 2], [3, 4]] and target.tolist() == [0, 1]
    base.shrink_csv(str(path), 2)
    assert (tmp_path / "data_small.csv").read_text().split() == ["0,1,2"]


def test_data_that_is_not_there_is_said_so():
    with pytest.raises(ValueError, match="no copy of the Boston housing data"):
        load_dataset("boston")
    with pytest.raises(ValueError, match="Name of dataset is not found: other"):
        load_dataset("other")
