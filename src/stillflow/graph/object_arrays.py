"""Arrays of tensor objects: NumPy 1's arrays of lists of tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.operation import Tensor


def object_array(nested: list[Any] | tuple[Any, ...]) -> np.ndarray:
    """Return a list as an array of objects, in which symbolic tensors are elements.

    NumPy of today asks each tensor for its values, which a symbolic one does not have.
    """
    tensors: list[Tensor] = []
    result: Any = np.array(_hidden(nested, tensors), dtype=object)
    for place in np.ndindex(result.shape):
        if isinstance(result[place], _Place):
            result[place] = tensors[result[place].number]
    return result


class _Place:
    """Placeholder for a tensor, opaque to NumPy."""

    def __init__(self, number: int) -> None:
        self.number = number


def _hidden(part: Any, tensors: list[Tensor]) -> Any:
    if isinstance(part, (list, tuple)):
        return [_hidden(item, tensors) for item in part]
    if not isinstance(part, Tensor):
        return part
    tensors.append(part)
    return _Place(len(tensors) - 1)
