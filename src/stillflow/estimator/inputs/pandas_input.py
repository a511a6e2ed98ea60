"""tf.estimator.inputs.pandas_input_fn: batches of data frames."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.estimator.inputs.feeding import enqueue_columns
from stillflow.graph.export import export


@export("estimator.inputs.pandas_input_fn")
def pandas_input_fn(
    x: Any, y: Any = None, batch_size: int = 128, num_epochs: int | None = 1,
    shuffle: bool | None = None, queue_capacity: int | None = 1000, num_threads: int = 1,
    target_column: str = "target",
) -> Callable[[], Any]:  # fmt: skip
    """Return an input function over a `DataFrame` of pandas.

    Args:
      x: features, a `DataFrame`.
      y: labels, a `Series` or `DataFrame` of the same index; None for none.
      batch_size: how many examples a batch has; the last one may have fewer.
      num_epochs: how often each example comes; without end if None.
      shuffle: whether they come in random order.
      queue_capacity: of the queue that is filled; by the length of `x` if None.
      num_threads: how many threads fill it.
      target_column: a name for the labels that no feature has.

    Returns:
      A function without arguments that gives {column: tensor}, or these and the labels.

    Raises:
      TypeError: if pandas is not installed, or `target_column` is no string.
      ValueError: if `shuffle` is not given, or `x` and `y` do not go together.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise TypeError("pandas_input_fn should not be called without pandas installed") from error
    if not isinstance(shuffle, bool):
        raise ValueError(
            "shuffle must be provided and explicitly set as boolean (it is recommended to set it "
            f"as True for training); got {shuffle}"
        )
    if not isinstance(target_column, str):
        raise TypeError("target_column must be a string type")
    frame = x.copy()
    targets: dict[str, str | None] = {}
    if y is not None:
        _check_labels(x, y, target_column)
        many = isinstance(y, pd.DataFrame)
        targets = {_free_name(x, name): name for name in y} if many else {target_column: None}
        frame[list(targets) if many else target_column] = y
    capacity = queue_capacity or len(frame) * (4 if shuffle else 1)

    def input_fn() -> dict[Any, Any] | tuple[dict[Any, Any], Any]:
        columns = {name: frame[name].to_numpy() for name in frame}
        queue = enqueue_columns(
            columns, frame.index.to_numpy(), capacity, shuffle, batch_size, num_epochs,
            num_threads, min_after_dequeue=max(capacity / 4, 1),
        )  # fmt: skip
        take = queue.dequeue_many if num_epochs is None else queue.dequeue_up_to
        features = dict(zip(columns, take(batch_size)[1:], strict=True))
        labels = {targets[name]: features.pop(name) for name in targets}
        if not labels:
            return features
        return features, (labels.pop(None) if None in labels else labels)

    return input_fn


def _check_labels(x: Any, y: Any, target_column: str) -> None:
    if target_column in x:
        raise ValueError(
            f"Cannot use name {target_column} for target column: DataFrame already has a column "
            f"with that name: {x.columns}"
        )
    if not np.array_equal(x.index, y.index):
        raise ValueError(
            f"Index for x and y are mismatched.\nIndex for x: {x.index}\nIndex for y: {y.index}\n"
        )


def _free_name(frame: Any, name: Any) -> str:
    return f"{name}_{uuid.uuid4()}" if name in frame else name
