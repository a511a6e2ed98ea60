"""`tf.meshgrid`: coordinates of the points of a grid."""

from __future__ import annotations

from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.ops.arrays.fill import ones
from stillflow.ops.arrays.shape import reshape, size
from stillflow.ops.arrays.stack import stack


@export("meshgrid")
def meshgrid(*args: Any, **kwargs: Any) -> list[Any]:
    """Coordinates of the points of a grid, one tensor for each of its axes.

    Args:
      *args: vectors, the axes' coordinates.
      indexing: "xy" (the first two axes are swapped, as in pictures) or "ij".
      name: of the operations.

    Raises:
      TypeError: if an unknown keyword argument is given.
      ValueError: if `indexing` is neither.
    """
    indexing, name = kwargs.pop("indexing", "xy"), kwargs.pop("name", "meshgrid")
    for key in kwargs:
        raise TypeError(f"'{key}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError("indexing parameter must be either 'xy' or 'ij'")
    with name_scope(name, "meshgrid", args):
        count = len(args)
        flat = (1,) * count
        output = [reshape(stack(x), flat[:i] + (-1,) + flat[i + 1 :]) for i, x in enumerate(args)]
        sizes: list[Any] = [size(x) for x in args]
        dtype = convert_to_tensor(args[0]).dtype.base_dtype
        if indexing == "xy" and count > 1:
            output[0] = reshape(output[0], (1, -1) + (1,) * (count - 2))
            output[1] = reshape(output[1], (-1, 1) + (1,) * (count - 2))
            sizes[0], sizes[1] = sizes[1], sizes[0]
        factor: Any = ones(sizes, dtype)
        return [x * factor for x in output]
