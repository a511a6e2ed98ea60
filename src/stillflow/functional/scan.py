"""`tf.scan`: every value on the way from the first element to the last."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stillflow import nest
from stillflow.functional.elements import (
    Structure,
    as_tensors,
    set_static_size,
    variables_cached_once,
)
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import dimension_value
from stillflow.ops.arrays.shape import shape
from stillflow.ops.control_flow.while_loop import while_loop
from stillflow.ops.tensor_array import tensor_array

if TYPE_CHECKING:
    from stillflow.ops.tensor_array.tensor_array import TensorArray


@export("scan")
def scan(
    fn: Callable[..., Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Combine the elements of `elems` one after another, and return every intermediate value.

    Args:
      fn: of the value so far and an element; gives the next value.
      elems: (nested) tensors, whose elements along the first dimension are taken.
      initializer: (nested) value to start with; by default the first element.
      parallel_iterations, back_prop, swap_memory: as for `tf.while_loop`.
      infer_shape: whether all values must have the same shape.
      reverse: whether to go from last to first.
      name: of the scope.

    Returns:
      The values, stacked along a new first dimension, in the order of the elements.

    Raises:
      TypeError: if `fn` is not callable or gives another structure than the value has.
      ValueError: if structures are of different lengths.
    """
    if not callable(fn):
        raise TypeError("fn must be callable.")
    inputs = Structure(elems)
    values = inputs if initializer is None else Structure(initializer)
    flat = inputs.flatten(elems)
    with name_scope(name, "scan", flat), variables_cached_once():
        tensors = as_tensors(flat)
        n = dimension_value(tensors[0].shape[0])
        if n is None:
            n = shape(tensors[0])[0]
        arrays = _unstacked(tensors, n)
        if initializer is None:
            start, done = [array.read(n - 1 if reverse else 0) for array in arrays], 1
        else:
            start, done = [convert_to_tensor(v) for v in values.flatten(initializer)], 0
        results = _result_arrays(start, n, infer_shape)
        if initializer is None:
            written = zip(results, start, strict=True)
            results = [array.write(n - 1 if reverse else 0, value) for array, value in written]

        def step(
            i: Any, value: Any, results: Any
        ) -> tuple[Tensor | int, list[Tensor], list[TensorArray]]:
            element = inputs.pack([array.read(i) for array in arrays])
            following = fn(values.pack(value), element)
            nest.assert_same_structure(elems if initializer is None else initializer, following)
            flat_value = values.flatten(following)
            results = [
                array.write(i, part) for array, part in zip(results, flat_value, strict=False)
            ]
            return (i - 1 if reverse else i + 1), flat_value, results

        _, _, results = while_loop(
            (lambda i, _, results: i >= 0) if reverse else (lambda i, _, results: i < n),
            step,
            (n - 1 - done if reverse else done, start, results),
            parallel_iterations=parallel_iterations,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=n,
        )
        stacked = [array.stack() for array in results]
        set_static_size(stacked, tensors)
        return values.pack(stacked)


def _unstacked(tensors: list[Any], n: Any) -> list[Any]:
    arrays = [
        tensor_array.TensorArray(
            dtype=tensor.dtype,
            size=n,
            dynamic_size=False,
            element_shape=tensor.shape[1:],
            infer_shape=True,
        )
        for tensor in tensors
    ]
    return [array.unstack(tensor) for array, tensor in zip(arrays, tensors, strict=True)]


def _result_arrays(values: list[Any], n: Any, infer_shape: bool) -> list[Any]:
    return [
        tensor_array.TensorArray(
            dtype=value.dtype,
            size=n,
            element_shape=value.shape if infer_shape else None,
            dynamic_size=False,
            infer_shape=infer_shape,
        )
        for value in values
    ]
