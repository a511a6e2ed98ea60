"""Sources of an epoch's batches: arrays, tensors and datasets, or generators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from stillflow import nest
from stillflow.keras.engine import composites, datasets
from stillflow.keras.engine.generators import Batches


class Batch(NamedTuple):
    """A batch.

    Attributes:
      size: the value for callbacks.
      start, end: which examples it has.
      run: runs the step.
    """

    size: int
    start: int
    end: int
    run: Callable[[], Any]


class StepResults(list):
    """The results of a step that knows how many examples it had.

    Attributes:
      size: how many.
    """

    size: int


def sized(results: list[Any], inputs: list[Any]) -> StepResults:
    """Return the results of a step on inputs whose number of examples is known only now."""
    made = StepResults(results)
    made.size = int(nest.flatten(inputs, expand_composites=True)[0].shape[0])
    return made


class Source:
    """Batches of each epoch.

    Attributes:
      steps: how many batches an epoch has; None for as many as there are, or for examples.
      count: the number of examples or steps that is shown.
      by_examples: whether results of steps weigh by their examples.
      unit: what progress is counted in: "samples" or "steps".
      ends_by_itself: whether an epoch ends when the batches run out.
    """

    steps: int | None = None
    count: int | None = None
    by_examples = False
    unit = "steps"
    ends_by_itself = False

    def batches(self) -> Iterator[Batch]:
        """Return the batches of an epoch."""
        raise NotImplementedError

    def restart(self) -> None:
        """Prepare the next epoch."""

    def close(self) -> None:
        """Release resources at the end."""


class ArraySource(Source):
    """Examples in arrays, cut into batches.

    Args:
      feeds: the arrays; a last item that is True is fed as it is.
      batch_size: of all batches but the last.
      shuffle: True for random order, "batch" to keep batches together.
      run: runs a step on the feeds.
      shuffled_epochs: for how many epochs the orders are drawn at once; None for each when it
        begins.
    """

    by_examples = True
    unit = "samples"

    def __init__(
        self,
        feeds: list[Any],
        batch_size: int,
        shuffle: Any,
        run: Callable[[Any], Any],
        shuffled_epochs: int | None = None,
    ) -> None:
        self._feeds, self._batch_size, self._shuffle, self._run = feeds, batch_size, shuffle, run
        self.count = composites.number_of_rows(feeds[0])
        self._orders: list[Any] | None = None
        if shuffled_epochs is not None:
            self._orders = [self._order() for _ in range(shuffled_epochs)]

    def _order(self) -> np.ndarray:
        order = np.arange(self.count)
        if self._shuffle == "batch":
            return _shuffle_batches(order, self._batch_size)
        if self._shuffle:
            np.random.shuffle(order)
        return order

    def batches(self) -> Iterator[Batch]:
        """Yield the batches of an epoch."""
        count, size = self.count or 0, self._batch_size
        if self._orders is None:
            order = self._order()
        else:
            order = self._orders.pop(0) if self._orders else np.arange(count)
        starts = range(0, count, size)
        for start in starts:
            end = min(start + size, count)
            fed = self._feeds if len(starts) == 1 else self._rows(order[start:end])
            yield Batch(end - start, start, end, partial(self._run, fed))

    def _rows(self, places: Any) -> list[Any]:
        """Return the rows of all arrays at places."""
        return [
            x if isinstance(x, int) or x is None else composites.rows(x, places)
            for x in self._feeds
        ]


def _shuffle_batches(order: np.ndarray, size: int) -> np.ndarray:
    whole = len(order) // size * size
    batches = order[:whole].reshape(-1, size)
    np.random.shuffle(batches)
    return np.append(batches.flatten(), order[whole:])


class TensorSource(Source):
    """Source of tensors that give another batch at each step, including those of a dataset.

    Args:
      feeds: the feeds of each step.
      steps: how many steps an epoch has; None for as many as the dataset has.
      iterator: of the dataset, if there is one.
      by_itself: True if the number of steps was not given, so that each epoch restarts.
      run: runs a step on the feeds.
    """

    def __init__(
        self,
        feeds: list[Any],
        steps: int | None,
        run: Callable[[Any], Any],
        iterator: Any = None,
        by_itself: bool = False,
    ) -> None:
        self._feeds, self.steps, self._run, self._iterator = feeds, steps, run, iterator
        self.count, self._by_itself = steps, by_itself
        self.ends_by_itself = iterator is not None

    def batches(self) -> Iterator[Batch]:
        """Yield the same feeds again and again."""
        while True:
            yield Batch(1, 0, 1, lambda: self._run(self._feeds))

    def restart(self) -> None:
        """Restart the dataset."""
        if self._by_itself:
            self.begin_anew()

    def begin_anew(self) -> None:
        """Restart the dataset before its end."""
        datasets.restart(self._iterator)


class GeneratorSource(Source):
    """A generator or `Sequence` of batches.

    Args:
      data: the batches.
      steps: how many steps an epoch has; the length of a sequence by default.
      run: runs a step with a batch.
      unit: what progress is counted in.
      **options: see `Batches`.

    Attributes:
      last_size: the number of examples of the last batch.
    """

    last_size = 0

    def __init__(
        self,
        data: Any,
        steps: int | None,
        run: Callable[..., Any],
        unit: str = "steps",
        **options: Any,
    ) -> None:
        self.unit = unit
        self.steps = self.count = len(data) if steps is None else steps
        self._run = run
        self._batches = Batches(data, **options)

    def batches(self) -> Iterator[Batch]:
        """Yield the next batches."""
        while (batch := self._batches.next()) is not None:
            size = self.last_size = _size_of(batch)
            yield Batch(size, 0, size, partial(self._run, *batch))

    def close(self) -> None:
        """Stop the threads or processes."""
        self._batches.stop()


def _size_of(batch: Any) -> int:
    first = batch[0]
    while isinstance(first, (list, tuple, dict)):
        first = next(iter(first.values())) if isinstance(first, dict) else first[0]
    return int(first.shape[0])
