"""The MNIST digits as programs read them: `input_data.read_data_sets(folder)`."""

from __future__ import annotations

import gzip
from typing import IO, Any

import numpy as np

from stillflow._export import export, export_value
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.random_seed import get_seed
from stillflow_contrib.learn.datasets import base

DEFAULT_SOURCE_URL = export_value(
    "contrib.learn.datasets.mnist.DEFAULT_SOURCE_URL",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)

_IMAGES, _LABELS = 2051, 2049  # the magic numbers of the files


@export("contrib.learn.datasets.mnist.extract_images")
def extract_images(f: IO[bytes]) -> np.ndarray:
    """Read a gzipped file of images.

    Args:
      f: the file, opened in binary mode.

    Returns:
      uint8 [images, rows, columns, 1].

    Raises:
      ValueError: it is not a file of images, or it ends too early.
    """
    print("Extracting", f.name)
    with gzip.GzipFile(fileobj=f) as stream:
        count, rows, columns = _header(stream, _IMAGES, 3, f.name, "image")
        return _pixels(stream, count * rows * columns, f.name).reshape(count, rows, columns, 1)


@export("contrib.learn.datasets.mnist.extract_labels")
def extract_labels(f: IO[bytes], one_hot: bool = False, num_classes: int = 10) -> np.ndarray:
    """Read a gzipped file of labels.

    Args:
      f: the file, opened in binary mode.
      one_hot: whether to return a row of zeros and a one for each label.
      num_classes: the length of such a row.

    Returns:
      uint8 [labels], or float64 [labels, num_classes].

    Raises:
      ValueError: it is not a file of labels, or it ends too early.
    """
    print("Extracting", f.name)
    with gzip.GzipFile(fileobj=f) as stream:
        (count,) = _header(stream, _LABELS, 1, f.name, "label")
        labels = _pixels(stream, count, f.name)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


def _header(stream: Any, magic: int, sizes: int, name: str, kind: str) -> list[int]:
    header = np.frombuffer(stream.read(4 + 4 * sizes), ">u4").tolist()
    if len(header) != 1 + sizes or header[0] != magic:
        found = header[0] if header else 0
        raise ValueError(f"Invalid magic number {found} in MNIST {kind} file: {name}")
    return header[1:]


def _pixels(stream: Any, size: int, name: str) -> np.ndarray:
    data = np.frombuffer(stream.read(size), np.uint8)
    if data.size != size:
        raise ValueError(f"{name} ends after {data.size} of {size} bytes of data")
    return data


@export("contrib.learn.datasets.mnist.dense_to_one_hot")
def dense_to_one_hot(labels_dense: np.ndarray, num_classes: int) -> np.ndarray:
    """Return labels [n] as float64 [n, num_classes], a one in each row."""
    one_hot = np.zeros((labels_dense.shape[0], num_classes))
    one_hot[np.arange(labels_dense.shape[0]), labels_dense.ravel()] = 1
    return one_hot


@export("contrib.learn.datasets.mnist.DataSet")
class DataSet:
    """Images with their labels, handed out in batches.

    Args:
      images: uint8 [n, rows, columns, 1].
      labels: [n] or [n, classes].
      fake_data: whether to hand out made-up examples instead.
      one_hot: whether the labels of these are one-hot.
      dtype: uint8 to leave pixels in [0, 255], float32 to scale them to [0, 1].
      reshape: whether to flatten images to [n, rows * columns].
      seed: seed of the order; by default the graph's.

    Raises:
      TypeError: another dtype.
    """

    # The number of examples that are made up.
    _num_examples = 10000
    _epochs_completed = 0
    _index_in_epoch = 0

    def __init__(
        self,
        images: Any,
        labels: Any,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: Any = dtypes.float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        graph_seed, op_seed = get_seed(seed)
        np.random.seed(graph_seed if seed is None else op_seed)
        dtype = dtypes.as_dtype(dtype).base_dtype
        if dtype not in (dtypes.uint8, dtypes.float32):
            raise TypeError(f"Invalid image dtype {dtype!r}, expected uint8 or float32")
        self._images, self._labels = images, labels
        if fake_data:
            self.one_hot = one_hot
            return
        self._num_examples = count = images.shape[0]
        assert count == labels.shape[0], (
            f"images.shape: {images.shape} labels.shape: {labels.shape}"
        )
        if reshape:
            assert images.shape[3] == 1
            self._images = images = images.reshape(count, np.prod(images.shape[1:3]))
        if dtype == dtypes.float32:
            self._images = np.multiply(images.astype(np.float32), 1.0 / 255.0)

    @property
    def images(self) -> Array:
        """All images, in the order of this epoch."""
        return self._images

    @property
    def labels(self) -> Array:
        """All labels, in the order of this epoch."""
        return self._labels

    @property
    def num_examples(self) -> int:
        """The number of examples."""
        return self._num_examples

    @property
    def epochs_completed(self) -> int:
        """The number of completed epochs."""
        return self._epochs_completed

    def next_batch(
        self, batch_size: int, fake_data: bool = False, shuffle: bool = True
    ) -> tuple[Any, Any]:
        """Return the next images and labels.

        Args:
          batch_size: how many.
          fake_data: whether to return made-up ones.
          shuffle: whether each epoch has an order of its own.
        """
        if fake_data:
            label: Any = [1] + [0] * 9 if self.one_hot else 0
            return [[1] * 784 for _ in range(batch_size)], [label for _ in range(batch_size)]
        start = self._index_in_epoch
        if self._epochs_completed == 0 and start == 0 and shuffle:
            self._shuffle()
        end = start + batch_size
        if end <= self._num_examples:
            self._index_in_epoch = end
            return self._images[start:end], self._labels[start:end]
        self._epochs_completed += 1
        rest = self._images[start:], self._labels[start:]
        if shuffle:
            self._shuffle()
        self._index_in_epoch = end = end - self._num_examples
        return (
            np.concatenate((rest[0], self._images[:end]), axis=0),
            np.concatenate((rest[1], self._labels[:end]), axis=0),
        )

    def _shuffle(self) -> None:
        order = np.arange(self._num_examples)
        np.random.shuffle(order)
        self._images = self._images[order]
        self._labels = self._labels[order]


@export("contrib.learn.datasets.mnist.read_data_sets")
def read_data_sets(
    train_dir: str,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = dtypes.float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = DEFAULT_SOURCE_URL,
) -> Any:
    """Read MNIST from the four files in a folder, fetching those that are not there.

    Args:
      train_dir: the folder.
      fake_data: whether to make examples up instead.
      one_hot: whether labels are rows of zeros with a one.
      dtype: see `DataSet`.
      reshape: see `DataSet`.
      validation_size: how many of the training examples are for validation.
      seed: see `DataSet`.
      source_url: where to fetch files from.

    Returns:
      A tuple of the `DataSet`s train, validation and test.

    Raises:
      ValueError: a file is not what its name says, or `validation_size` is too large.
      OSError: a file can be neither found nor fetched.
    """
    if fake_data:
        made_up = {"fake_data": True, "one_hot": one_hot, "dtype": dtype, "seed": seed}
        return base.Datasets(*(DataSet([], [], **made_up) for _ in range(3)))
    source_url = source_url or DEFAULT_SOURCE_URL

    def read(part: str) -> tuple[np.ndarray, np.ndarray]:
        images, labels = f"{part}-images-idx3-ubyte.gz", f"{part}-labels-idx1-ubyte.gz"
        with open(base.maybe_download(images, train_dir, source_url + images), "rb") as file:
            pixels = extract_images(file)
        with open(base.maybe_download(labels, train_dir, source_url + labels), "rb") as file:
            return pixels, extract_labels(file, one_hot=one_hot)

    images, labels = read("train")
    test_images, test_labels = read("t10k")
    if not 0 <= validation_size <= len(images):
        raise ValueError(
            f"Validation size should be between 0 and {len(images)}. Received: {validation_size}."
        )
    cut = validation_size
    parts = ((images[cut:], labels[cut:]), (images[:cut], labels[:cut]), (test_images, test_labels))
    options = {"dtype": dtype, "reshape": reshape, "seed": seed}
    return base.Datasets(*(DataSet(*part, **options) for part in parts))


@export("contrib.learn.datasets.mnist.load_mnist")
def load_mnist(train_dir: str = "MNIST-data") -> Any:
    """Read MNIST from a folder; see `read_data_sets`."""
    return read_data_sets(train_dir)
