"""The input of an estimator: a function, or arrays."""

from __future__ import annotations

from typing import Any

from stillflow.graph.tensor_like import is_tensor
from stillflow_contrib.learn.data_feeder import setup_train_data_feeder


def verify_input_args(x: Any, y: Any, input_fn: Any, feed_fn: Any, batch_size: Any) -> None:
    """Raise an error for input that is given twice or not at all.

    Raises:
      ValueError: if it is.
    """
    if input_fn is not None:
        problems = {
            "Can not provide both input_fn and x or y.": x is not None or y is not None,
            "Can not provide both input_fn and batch_size.": batch_size is not None,
        }
    else:
        problems = {
            "Either x or input_fn must be provided.": x is None,
            "Inputs cannot be tensors. Please provide input_fn.": is_tensor(x) or is_tensor(y),
            "Can not provide both feed_fn and x or y.": feed_fn is not None,
        }
    for message, occurs in problems.items():
        if occurs:
            raise ValueError(message)


def array_input(
    x: Any, y: Any, batch_size: int | None, shuffle: bool = False, epochs: int | None = 1
) -> tuple[Any, Any]:
    """Return an input function and a feed function of placeholders, from arrays or iterators.

    Raises:
      ValueError: if `x` is None or a tensor, or it is an iterator and `y` is not.
    """
    verify_input_args(x, y, None, None, batch_size)
    feeder = setup_train_data_feeder(x, y, batch_size, shuffle, epochs)
    return feeder.input_builder, feeder.get_feed_dict_fn()
