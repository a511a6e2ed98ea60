"""`tf.contrib.framework.py_func`: Python functions of, and to, nested arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.graph.export import export
from stillflow.graph.tensor_shape import as_shape


@export("contrib.framework.py_func")
def py_func(
    func: Callable[..., Any], args: Any = (), kwargs: Any = None, output_types: Any = None,
    output_shapes: Any = None, stateful: bool = True, name: str | None = None,
) -> Any:  # fmt: skip
    """`tf.py_func` with arguments by keyword, and with nested arguments and results.

    Args:
      func: called with arrays of the structure of `args` and `kwargs`.
      args: a list or tuple of (nested) tensors.
      kwargs: {keyword: (nested) tensors}.
      output_types: (nested) types of its results, or a function of the arguments that gives them.
      output_shapes: (nested) shapes of them, or such a function.
      stateful: whether it may give something else for the same arguments.
      name: of the operation.

    Raises:
      TypeError: if `args` is no list or tuple, or `kwargs` no dict.
    """
    kwargs = {} if kwargs is None else kwargs
    if not isinstance(args, (list, tuple)):
        raise TypeError(f"args must be list and not {type(args)}. args: {args}")
    if not isinstance(kwargs, dict):
        raise TypeError(f"kwargs must be dict and not {type(kwargs)}. args: {kwargs}")
    types = output_types(*args, **kwargs) if callable(output_types) else output_types
    shapes = output_shapes(*args, **kwargs) if callable(output_shapes) else output_shapes
    given = (args, kwargs)

    def call(*arrays: Any) -> list[Any]:
        positional, by_keyword = nest.pack_sequence_as(given, arrays)
        result = func(*positional, **by_keyword)
        nest.assert_shallow_structure(types, result)
        flat: list[Any] = nest.flatten(result)
        return flat

    results = tf.py_func(call, nest.flatten(given), nest.flatten(types), stateful, name)
    if shapes is not None:
        shapes = nest.map_structure_up_to(types, as_shape, shapes)
        for result, shape in zip(results, nest.flatten(shapes), strict=True):
            result.set_shape(shape)
    return nest.pack_sequence_as(types, results)
