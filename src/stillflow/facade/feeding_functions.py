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

    The data are an array, an `OrderedDict` of arrays, or a `DataFrame` of pandas; elements are the
    row's name, then the columns. `min_after_dequeue` rows stay behind to shuffle, a quarter if
    None; `enqueue_size` go in at a time, each `num_epochs` times, or without end. Generators,
    padding, and seeds are not supported.
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
