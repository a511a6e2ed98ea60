"""Arrays as the input of an estimator: placeholders, and their feeds at each step."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.operation import Tensor
from stillflow.ops.constants import placeholder
from stillflow.platform import tf_logging as logging
from stillflow.util.deprecation import deprecated
from stillflow_contrib.learn.io.arrays import extract_pandas_data, extract_pandas_labels

_INSTEAD = "Please use tensorflow/transform or tf.data."
_SEED = 42  # every feeder shuffles alike


@deprecated(None, _INSTEAD)
def setup_train_data_feeder(
    x: Any, y: Any, batch_size: int | None = None, shuffle: bool = True, epochs: int | None = None
) -> DataFeeder | StreamingDataFeeder:
    """Return a feeder of arrays, data frames, or iterators.

    Raises:
      ValueError: if `x` is an iterator and `y` is not, or the batch size is not positive.
    """
    if hasattr(x, "__next__"):
        if y is not None and not hasattr(y, "__next__"):
            raise ValueError("Both x and y should be iterators for streaming learning to work.")
        return StreamingDataFeeder(x, y, batch_size)
    return DataFeeder(x, y, batch_size, shuffle=shuffle, epochs=epochs)


class DataFeeder:
    """Feeds batches of arrays.

    Args:
      x: features [n, ...], or {name: features}.
      y: labels [n, ...], {name: labels}, or None.
      batch_size: how many examples a step gets; all if None.
      shuffle: whether each epoch has an order of its own.
      epochs: how often all examples are fed; for ever if None.

    Raises:
      ValueError: if the batch size is not positive.
    """

    @deprecated(None, _INSTEAD)
    def __init__(
        self, x: Any, y: Any, batch_size: int | None = None, shuffle: bool = True,
        epochs: int | None = None,
    ) -> None:  # fmt: skip
        self._x = _arrays(extract_pandas_data(x))
        self._y = _arrays(extract_pandas_labels(y))
        self._length = len(next(iter(self._x.values())) if isinstance(x, dict) else self._x)
        if batch_size is not None and batch_size <= 0:
            raise ValueError(f"Invalid batch_size {batch_size}.")
        self._batch_size = self._length if batch_size is None else batch_size
        self._shuffle = shuffle
        self._random_state = np.random.RandomState(_SEED)
        self._max_epochs = epochs
        self._indices = self._order()
        self._offset = self._epoch = 0

    def _order(self) -> np.ndarray[Any, Any]:
        if self._shuffle:
            return self._random_state.permutation(self._length)
        return np.arange(self._length)

    def input_builder(self) -> tuple[Any, Any]:
        """Make the placeholders: of features, and of labels (None if there are none)."""
        self._input = _by_name(_feature_placeholder, self._x, "input")
        self._output = _by_name(_label_placeholder, self._y, "output")
        return self._input, self._output

    def get_feed_dict_fn(self) -> Callable[[], dict[str, Any]]:
        """Return a function that gives the next batch, {name of placeholder: values}.

        It raises StopIteration when all epochs are done.
        """

        def feed_dict() -> dict[str, Any]:
            if self._max_epochs is not None and self._epoch >= self._max_epochs:
                raise StopIteration
            batch = self._indices[self._offset : self._offset + self._batch_size]
            feeds = dict(_feeds(self._input, self._x, batch))
            feeds.update(_feeds(self._output, self._y, batch))
            self._offset += self._batch_size
            if self._offset >= self._length:
                self._indices = self._order()
                self._offset = 0
                self._epoch += 1
            return feeds

        return feed_dict


class StreamingDataFeeder:
    """Feeder of batches from iterators, example by example, until they end.

    Args:
      x: iterator of features [...], or {name: features}.
      y: iterator of labels [...], {name: labels}, or None.
      batch_size: how many examples a step gets; one if None.

    Raises:
      StopIteration: if there is no example.
      ValueError: if the batch size is not positive.
    """

    def __init__(self, x: Any, y: Any, batch_size: int | None = None) -> None:
        first = next(x)
        self._x = itertools.chain([first], x)
        self._first = _stacked([first]), None
        self._y = None
        if y is not None:
            label = next(y)
            self._y = itertools.chain([label], y)
            self._first = self._first[0], _stacked([label])
        if batch_size is not None and batch_size <= 0:
            raise ValueError(f"Invalid batch_size {batch_size}.")
        self._batch_size = batch_size or 1

    def input_builder(self) -> tuple[Any, Any]:
        """Make the placeholders: of features, and of labels (None if there are none)."""
        x, y = self._first
        self._input = _by_name(_feature_placeholder, _arrays(x), "input")
        self._output = _by_name(_label_placeholder, y, "output")
        return self._input, self._output

    def get_feed_dict_fn(self) -> Callable[[], dict[str, Any]]:
        """Return a function that gives the next batch, {name of placeholder: values}.

        The last one may be smaller; then it raises StopIteration.
        """

        def feed_dict() -> dict[str, Any]:
            examples = list(itertools.islice(self._x, self._batch_size))
            if not examples:
                raise StopIteration
            rows = np.arange(len(examples))
            feeds = dict(_feeds(self._input, _stacked(examples), rows))
            if self._y is not None:
                feeds.update(_feeds(self._output, _stacked([next(self._y) for _ in rows]), rows))
            return feeds

        return feed_dict


def _stacked(examples: Sequence[Any]) -> Any:
    """Return a batch of examples, each an array or {name: array}."""
    if isinstance(examples[0], dict):
        return {name: _stacked([each[name] for each in examples]) for name in examples[0]}
    return np.stack([np.asarray(example) for example in examples])


def _arrays(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _arrays(values) for name, values in data.items()}
    if data is None:
        return None
    array = np.asarray(data)
    if array.dtype == np.float64:
        logging.warn("float64 is not supported by many models, consider casting to float32.")
    return array


def _by_name(make: Callable[[Any, str], Any], data: Any, name: str) -> Any:
    if isinstance(data, dict):
        return {key: make(values, f"{name}_{key}") for key, values in data.items()}
    return None if data is None else make(data, name)


def _feature_placeholder(values: Any, name: str) -> Tensor:
    shape = values.shape[1:] or (1,)
    return placeholder(dtypes.as_dtype(values.dtype), [None, *shape], name=name)


def _label_placeholder(values: Any, name: str) -> Tensor:
    shape = values.shape[1:]
    if shape[:1] == (1,):
        shape = shape[1:]
    return placeholder(dtypes.as_dtype(values.dtype), [None, *shape], name=name)


def _feeds(tensors: Any, data: Any, batch: Any) -> list[tuple[str, Any]]:
    if data is None:
        return []
    if isinstance(data, dict):
        return [_feeds(tensors[name], values, batch)[0] for name, values in data.items()]
    return [(tensors.name, data[batch].reshape(len(batch), *tensors.shape.as_list()[1:]))]
