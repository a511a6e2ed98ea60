"""`_enqueue_data`: a queue of the rows of an array, of several, or of a table."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from stillflow.estimator.inputs.feeding import enqueue_columns


def _columns(data: Any) -> tuple[dict[Any, Any], Any]:
    """Return the columns of the data, and its index; None for row numbers."""
    if isinstance(data, np.ndarray):
        return {"rows": data}, None
    if isinstance(data, OrderedDict):
        return dict(data), None
    if type(data).__name__ == "DataFrame":
        return {name: data[name].to_numpy() for name in data.columns}, data.index.to_numpy()
    raise TypeError(
        "data must be either a numpy array or pandas DataFrame if pandas is installed; got "
        f"{type(data).__name__}"
    )


def enqueue_data(
    data: Any,
    capacity: int,
    shuffle: bool = False,
    min_after_dequeue: float | None = None,
    num_threads: int = 1,
    seed: int | None = None,
    name: str = "enqueue_input",
    enqueue_size: int = 1,
    num_epochs: int | None = None,
    pad_value: Any = None,
) -> Any:
    """Return a queue of rows, and threads that fill it once a session runs.

    Args:
      data: an array, an `OrderedDict` of arrays, or a `DataFrame` of pandas.
      capacity: of the queue.
      shuffle: whether rows come in random order.
      min_after_dequeue: how many rows stay behind to shuffle; a quarter if None.
      num_threads: how many threads fill it.
      name: of the scope.
      enqueue_size: how many rows a thread puts in at a time.
      num_epochs: how often a thread puts in each row; without end if None.

    Returns:
      The queue; its elements are the row's name, then the columns.

    Raises:
      TypeError: data of another kind.
      NotImplementedError: generators, padding, and seeds are not supported.
    """
    if callable(data) or pad_value is not None or seed is not None:
        raise NotImplementedError(
            "_enqueue_data of generators, with padding or with a seed is not supported by "
            "Stillflow yet"
        )
    columns, index = _columns(data)
    return enqueue_columns(
        columns, index, capacity, shuffle, enqueue_size, num_epochs, num_threads,
        min_after_dequeue, name,
    )  # fmt: skip
