"""`tf.foldl` and `tf.foldr`: one value out of many, taking them in one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import nest
from stillflow.functional.elements import as_tensors, size_of, variables_cached_once
from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.while_loop import while_loop
from stillflow.ops.tensor_array.tensor_array import TensorArray


@export("foldl")
def foldl(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Tensor:
    """Combine the elements of `elems`, from first to last.

    Args:
      fn: of the value so far and an element; gives the next value.
      elems: (nested) tensors, whose elements along the first dimension are taken.
      initializer: (nested) value to start with; by default the first element.
      parallel_iterations, back_prop, swap_memory: as for `tf.while_loop`.
      name: of the scope.

    Returns:
      The last value.

    Raises:
      TypeError: if `fn` is not callable.
    """
    if not callable(fn):
        raise TypeError("fn must be callable.")
    with name_scope(name, "foldl", [elems]), variables_cached_once():
        n, arrays = _unstacked(elems)
        if initializer is None:
            start, first = nest.map_structure(lambda array: array.read(0), arrays), constant(1)
        else:
            start, first = initializer, constant(0)

        def step(i: Any, value: Any) -> list[Any]:
            element = nest.map_structure(lambda array: array.read(i), arrays)
            value = fn(value, element)
            return [i + 1, value]

        return while_loop(
            lambda i, value: i < n,
            step,
            [first, start],
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=n,
        )[1]


@export("foldr")
def foldr(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
) -> Tensor:
    """Combine the elements of `elems`, from last to first; the arguments are those of `foldl`.

    Raises:
      TypeError: if `fn` is not callable.
    """
    if not callable(fn):
        raise TypeError("fn must be callable.")
    with name_scope(name, "foldr", [elems]), variables_cached_once():
        n, arrays = _unstacked(elems)
        if initializer is None:
            last = n - 1
            start = nest.map_structure(lambda array: array.read(last), arrays)
        else:
            last, start = n, initializer

        def step(i: Any, value: Any) -> list[Any]:
            i -= 1
            element = nest.map_structure(lambda array: array.read(i), arrays)
            return [i, fn(value, element)]

        return while_loop(
            lambda i, value: i > 0,
            step,
            [last, start],
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=n,
        )[1]


def _unstacked(elems: Any) -> tuple[Any, Any]:
    """Return the number of elements, and the elements as TensorArrays."""
    n = size_of(as_tensors(nest.flatten(elems))[0])

    def unstack(elem: Any) -> Any:
        array = TensorArray(dtype=elem.dtype, size=n, dynamic_size=False, infer_shape=True)
        return array.unstack(elem)

    return n, nest.map_structure(unstack, elems)
