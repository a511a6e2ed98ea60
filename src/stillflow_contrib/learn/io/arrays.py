"""Arrays and data frames as the input of models."""

from __future__ import annotations

import sys
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.util.deprecation import deprecated

_OF_FRAMES = deprecated(None, "Please access pandas data directly.")


@export("contrib.learn.io.numpy_input_fn")
def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool = True,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> Any:
    """Return an input function over arrays: see `tf.estimator.inputs.numpy_input_fn`."""
    return tf.estimator.inputs.numpy_input_fn(
        x, y, batch_size, num_epochs, shuffle, queue_capacity, num_threads
    )


@export("contrib.learn.io.pandas_input_fn")
def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool = True,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    target_column: str = "target",
) -> Any:
    """Return an input function over a data frame: see `tf.estimator.inputs.pandas_input_fn`."""
    return tf.estimator.inputs.pandas_input_fn(
        x, y, batch_size, num_epochs, shuffle, queue_capacity, num_threads, target_column
    )


def _is_frame(data: Any) -> bool:
    # A program with a data frame has imported pandas.
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(data, pandas.DataFrame)


def _no_numbers(frame: Any) -> list[tuple[Any, str]]:
    """Return the columns that hold no numbers, and their types."""
    types = [(column, frame[column].dtype) for column in frame]
    return [
        (column, kind.name)
        for column, kind in types
        if kind.kind not in "iufb" or kind.itemsize > 8
    ]


@export("contrib.learn.extract_pandas_data")
@_OF_FRAMES
def extract_pandas_data(data: Any) -> Any:
    """Return the numbers of a data frame as an array of floats; other objects unchanged.

    Raises:
      ValueError: if a column holds no numbers.
    """
    if not _is_frame(data):
        return data
    bad = [f"'{column}' type='{kind}'" for column, kind in _no_numbers(data)]
    if bad:
        raise ValueError(
            "Data types for extracting pandas data must be int, float, or bool. "
            f"Found: {', '.join(bad)}"
        )
    return data.values.astype("float")


@export("contrib.learn.extract_pandas_matrix")
@_OF_FRAMES
def extract_pandas_matrix(data: Any) -> Any:
    """Return the values of a data frame as an array; other objects unchanged."""
    return data.values if _is_frame(data) else data


@export("contrib.learn.extract_pandas_labels")
@_OF_FRAMES
def extract_pandas_labels(labels: Any) -> Any:
    """Return the values of a data frame of one column; other objects unchanged.

    Raises:
      ValueError: if there are more columns, or it holds no numbers.
    """
    if not _is_frame(labels):
        return labels
    if len(labels.columns) > 1:
        raise ValueError("Only one column for labels is allowed.")
    bad = [f"'{column}' type={kind}" for column, kind in _no_numbers(labels)]
    if bad:
        raise ValueError(
            f"Data types for extracting labels must be int, float, or bool. Found: {', '.join(bad)}"
        )
    return labels.values
