"""`tf.vectorized_map`: a function of every element, which is called but once (see `pfor`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import nest
from stillflow.functional.parallel_for import pfor
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.tensor_shape import dimension_value
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.shape import shape


@export("vectorized_map")
def vectorized_map(fn: Callable[[Any], Any], elems: Any) -> Any:
    """Apply `fn` to each element of `elems`; elements must not depend on one another.

    Args:
      fn: of an element, of the structure of `elems`; gives (nested) tensors of shapes that do not
        depend on the element. It is called once.
      elems: (nested) tensors, whose elements along the first dimension are taken.

    Returns:
      (nested) tensors with a first dimension more.

    Raises:
      ValueError: if there is a `tf.cond` in `fn`.
    """
    first = convert_to_tensor(nest.flatten(elems)[0])
    count = shape(first)[0]
    known = dimension_value(first.shape[0])
    return pfor(
        lambda i: fn(nest.map_structure(lambda x: gather(x, i), elems)),
        count if known is None else known,
    )
