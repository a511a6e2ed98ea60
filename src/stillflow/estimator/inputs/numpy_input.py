"""tf.estimator.inputs.numpy_input_fn: batches of arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.estimator.inputs.feeding import enqueue_columns
from stillflow.graph.export import export

_DIRECT = "__direct_np_input__"
_TARGET = "__target_key__"


@export("estimator.inputs.numpy_input_fn")
def numpy_input_fn(
    x: Any, y: Any = None, batch_size: int = 128, num_epochs: int | None = 1,
    shuffle: bool | None = None, queue_capacity: int = 1000, num_threads: int = 1,
) -> Callable[[], Any]:  # fmt: skip
    """Return an input function over arrays in memory.

    Args:
      x: features, an array or {name: array}; the first dimension counts the examples.
      y: labels in the same way; None for none.
      batch_size: how many examples a batch has; the last one may have fewer.
      num_epochs: how often each example comes; without end if None.
      shuffle: whether they come in random order.
      queue_capacity: of the queue that is filled.
      num_threads: how many threads fill it.

    Returns:
      A function without arguments that gives features, or (features, labels).

    Raises:
      ValueError: if `shuffle` is not given; when the function is called, if arrays are empty, have
        names twice, or differ in length.
      TypeError: when the function is called, if `x` is of another kind.
    """
    if not isinstance(shuffle, bool):
        raise ValueError(
            "shuffle must be provided and explicitly set as boolean (it is recommended to set it "
            f"as True for training); got {shuffle}"
        )

    def input_fn() -> Any:
        features = _features(x)
        labels = _labels(y, features)
        columns = {**features, **labels}
        if len({array.shape[0] for array in columns.values()}) != 1:
            raise ValueError(_lengths_message(features, labels, y))
        queue = enqueue_columns(
            columns, None, queue_capacity, shuffle, batch_size, num_epochs, num_threads
        )
        take = queue.dequeue_many if num_epochs is None else queue.dequeue_up_to
        batch = dict(zip(columns, take(batch_size)[1:], strict=True))
        made = {name: batch[name] for name in features}
        result = made if isinstance(x, dict) else made[_DIRECT]
        if y is None:
            return result
        made = {name: batch[name] for name in labels}
        return result, (made if isinstance(y, dict) else next(iter(made.values())))

    return input_fn


def _features(x: Any) -> dict[Any, Any]:
    if isinstance(x, dict):
        if not x:
            raise ValueError("x cannot be an empty dict")
        return dict(sorted(x.items()))
    if not isinstance(x, np.ndarray):
        raise TypeError(f"x must be a dict or array; got {type(x).__name__}")
    if x.size == 0:
        raise ValueError("x cannot be an empty array")
    return {_DIRECT: x}


def _labels(y: Any, features: dict[Any, Any]) -> dict[Any, Any]:
    if y is None:
        return {}
    if not isinstance(y, dict):
        name = _TARGET
        while name in features:
            name += "_n"
        return {name: y}
    if not y:
        raise ValueError("y cannot be empty dict, use None instead.")
    twice = set(features) & set(y)
    if twice:
        raise ValueError(f"{len(twice)} duplicate keys are found in both x and y: {twice}")
    return dict(sorted(y.items()))


def _lengths_message(features: dict[Any, Any], labels: dict[Any, Any], y: Any) -> str:
    of_x = {name: array.shape for name, array in features.items()}
    of_y: Any = {name: array.shape for name, array in labels.items()} or None
    if y is not None and not isinstance(y, dict):
        of_y = y.shape
    return (
        "Length of tensors in x and y is mismatched. All elements in x and y must have the same "
        f"length.\nShapes in x: {of_x}\nShapes in y: {of_y}\n"
    )
