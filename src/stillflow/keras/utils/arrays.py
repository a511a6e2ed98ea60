"""Arrays of classes and of unit vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stillflow.graph.export import export


@export("keras.utils.to_categorical")
def to_categorical(
    y: ArrayLike, num_classes: int | None = None, dtype: str = "float32"
) -> NDArray[Any]:
    """Numbers of classes as vectors with a one at that place.

    Args:
      y: the numbers; a last axis of length one is left out.
      num_classes: how many there are; one more than the largest number by default.
      dtype: of the result.
    """
    classes = np.array(y, dtype="int")
    shape = classes.shape
    if len(shape) > 1 and shape[-1] == 1:
        shape = shape[:-1]
    classes = classes.ravel()
    count = num_classes or int(np.max(classes)) + 1
    categorical = np.zeros((len(classes), count), dtype=dtype)
    categorical[np.arange(len(classes)), classes] = 1
    return categorical.reshape((*shape, count))


@export("keras.utils.normalize")
def normalize(x: NDArray[Any], axis: int = -1, order: int = 2) -> NDArray[Any]:
    """Return an array divided by its norms along an axis.

    Args:
      x: the array.
      axis: along which the norms are taken.
      order: of the norms.
    """
    norms = np.atleast_1d(np.linalg.norm(x, order, axis))
    norms[norms == 0] = 1
    normalized: NDArray[Any] = x / np.expand_dims(norms, axis)
    return normalized


def slice_arrays(arrays: Any, start: Any = None, stop: int | None = None) -> Any:
    """Return rows of an array, or of each in a list, None for items without rows.

    `start` is the first row, `stop` the one after the last; or `start` has all numbers.
    """
    if arrays is None:
        return [None]
    if isinstance(start, list) and stop is not None:
        raise ValueError("The stop argument has to be None if the value of start is a list.")
    chosen = hasattr(start, "__len__")
    rows = (start.tolist() if hasattr(start, "shape") else start) if chosen else slice(start, stop)
    if not isinstance(arrays, list):
        return arrays[rows] if chosen or hasattr(start, "__getitem__") else [None]
    return [x[rows] if hasattr(x, "__getitem__") else None for x in arrays]
