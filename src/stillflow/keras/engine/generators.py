"""Python's generators and sequences of batches as inputs of a model."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

import stillflow as tf
from stillflow import nest
from stillflow.data.dataset import DatasetV2
from stillflow.data.dataset_v1 import make_one_shot_iterator
from stillflow.data.iterator import IteratorV2
from stillflow.graph.arrays import Array
from stillflow.keras.utils.sequences import (
    GeneratorEnqueuer,
    OrderedEnqueuer,
    Sequence,
    iterate_forever,
)


def is_generator(x: Any) -> bool:
    """Return True if data are a generator or a `Sequence`."""
    return inspect.isgenerator(x) or isinstance(x, Sequence) or _is_plain_iterator(x)


def _is_plain_iterator(x: Any) -> bool:
    return hasattr(x, "__next__") and not hasattr(x, "get_next")


def refuse_other_data(y: Any, sample_weight: Any, validation_split: float = 0.0) -> None:
    """Raise ValueError for targets and weights in addition to a generator, which has its own."""
    if y is not None:
        raise ValueError(
            "`y` argument is not supported when data isa generator or Sequence instance. Instead "
            "pass targets as the second element of the generator."
        )
    if sample_weight is not None:
        raise ValueError(
            "`sample_weight` argument is not supported when data isa generator or Sequence "
            "instance. Instead pass sample weights as the third element of the generator."
        )
    if validation_split:
        raise ValueError(
            "If your data is in the form of a Python generator, you cannot use `validation_split`."
        )


def batches_of(
    data: Any,
    batch_size: int | None = None,
    steps_per_epoch: int | None = None,
    epochs: int = 1,
    shuffle: bool = False,
) -> tuple[Any, int | None]:
    """Return an iterator over batches of any data, and how many an epoch has, None if unknown.

    A generator, `Sequence`, dataset or iterator stays what it is or is iterated over; arrays and
    tensors with values are (inputs, targets, weights) as far as given, and need a size of batches.
    """
    if isinstance(data, tuple):
        data = tuple(part for part in data if any(x is not None for x in nest.flatten(part)))
    if isinstance(data, Sequence):
        return data, len(data) if steps_per_epoch is None else steps_per_epoch
    if is_generator(data) or isinstance(data, IteratorV2):
        return data, steps_per_epoch
    if isinstance(data, DatasetV2):
        return make_one_shot_iterator(data), steps_per_epoch
    if batch_size is None:
        raise ValueError(
            "When passing input data as arrays, do not specify `steps_per_epoch`/`steps` argument. "
            "Please use `batch_size` instead."
        )
    count = int(nest.flatten(data)[0].shape[0])
    return _cut(data, count, batch_size, epochs, shuffle), math.ceil(count / batch_size)


def _cut(data: Any, count: int, batch_size: int, epochs: int, shuffle: bool) -> Iterator[Any]:
    """Arrays in batches, the examples of each epoch in another order if they are shuffled."""
    order = np.arange(count)
    for _ in range(epochs):
        if shuffle:
            np.random.shuffle(order)
        for start in range(0, count, batch_size):
            end = min(start + batch_size, count)
            places = order[start:end] if shuffle else slice(start, end)
            yield nest.map_structure(lambda x, places=places: _rows(x, places), data)


def _rows(x: Any, places: Any) -> Array:
    """Return the rows of an array or tensor at some places, or of a range."""
    by_number = tf.is_tensor(x) and not isinstance(places, slice)
    return tf.gather(x, places) if by_number else x[places]


class ArrayBatches(Sequence):
    """Arrays cut into batches, in their order.

    Args:
      data: (inputs, targets, weights), as far as given; each an array or a structure of them.
      batch_size: of all batches but the last.
    """

    def __init__(self, data: Any, batch_size: int) -> None:
        given = [part for part in data if any(x is not None for x in nest.flatten(part))]
        self._data, self._batch_size = tuple(given), batch_size
        self._count = int(nest.flatten(self._data)[0].shape[0])

    def __len__(self) -> int:
        return -(-self._count // self._batch_size)

    def __getitem__(self, index: int) -> tuple[Array, ...]:
        start = index * self._batch_size
        return nest.map_structure(lambda x: x[start : start + self._batch_size], self._data)


class Batches:
    """The batches of a generator or `Sequence`, made by other threads or processes.

    Args:
      data: the generator or sequence.
      workers: how many make batches; 0 for the calling thread.
      max_queue_size: how many batches may wait.
      use_multiprocessing: whether they are processes.
      shuffle: whether a sequence comes in random order.
    """

    def __init__(
        self,
        data: Any,
        workers: int = 1,
        max_queue_size: int = 10,
        use_multiprocessing: bool = False,
        shuffle: bool = False,
    ) -> None:
        self._enqueuer: Any = None
        if workers > 0:
            if isinstance(data, Sequence):
                self._enqueuer = OrderedEnqueuer(data, use_multiprocessing, shuffle=shuffle)
            else:
                self._enqueuer = GeneratorEnqueuer(data, use_multiprocessing)
            self._enqueuer.start(workers=workers, max_queue_size=max_queue_size)
            self._iterator: Iterator[Any] = self._enqueuer.get()
        else:
            self._iterator = iterate_forever(data) if isinstance(data, Sequence) else data

    def next(self) -> Any:
        """Return (inputs, targets, weights), as far as given; None after the last batch.

        Raises:
          ValueError: if a batch is something else.
        """
        try:
            batch = next(self._iterator)
        except StopIteration:
            return None
        batch = batch if isinstance(batch, tuple) else (batch,)
        if len(batch) not in (1, 2, 3):
            raise ValueError(
                "Output of generator should be a tuple of 1 or 2 or 3 elements: (input,) or "
                f"(input, target) or (input, target, sample_weights). Received {batch}"
            )
        return batch

    def stop(self) -> None:
        """Stop the threads or processes."""
        if self._enqueuer is not None:
            self._enqueuer.stop()
