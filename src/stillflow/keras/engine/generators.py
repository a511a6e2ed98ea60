"""Python's generators and sequences of batches as inputs of a model."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from stillflow import nest
from stillflow.keras.utils.sequences import (
    GeneratorEnqueuer,
    OrderedEnqueuer,
    Sequence,
    iterate_forever,
)


def is_generator(x: Any) -> bool:
    """Whether data are a generator or a `Sequence`."""
    return inspect.isgenerator(x) or isinstance(x, Sequence) or _is_plain_iterator(x)


def _is_plain_iterator(x: Any) -> bool:
    return hasattr(x, "__next__") and not hasattr(x, "get_next")


def refuse_other_data(y: Any, sample_weight: Any, validation_split: float = 0.0) -> None:
    """Refuses targets and weights beside a generator, which has its own.

    Raises:
      ValueError: if there are some.
    """
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

    def __getitem__(self, index: int) -> Any:
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
        """(inputs, targets, weights), as far as given; None after the last batch.

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
        """Ends the threads or processes."""
        if self._enqueuer is not None:
            self._enqueuer.stop()
