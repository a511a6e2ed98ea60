"""`tf.map_fn`: a function of every element."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stillflow import nest
from stillflow.functional.elements import (
    Structure,
    as_tensors,
    check_mapped,
    check_ranks,
    set_static_size,
    size_of,
    variables_cached_once,
)
from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.while_loop import while_loop
from stillflow.ops.tensor_array import tensor_array

if TYPE_CHECKING:
    from stillflow.ops.tensor_array.tensor_array import TensorArray


@export("map_fn")
def map_fn(
    fn: Callable[..., Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """Apply `fn` to each element of `elems`.

    Args:
      fn: of an element, of the structure of `elems`; gives (nested) tensors.
      elems: (nested) tensors, whose elements along the first dimension are taken.
      dtype: (nested) types that `fn` gives; by default the structure and types of `elems`.
      parallel_iterations: how many elements may be worked on at the same time, 10 by default.
      back_prop, swap_memory: as for `tf.while_loop`.
      infer_shape: whether all results must have the same shape.
      name: of the scope.

    Returns:
      The results, stacked along a new first dimension.

    Raises:
      TypeError: if `fn` is not callable or gives another structure than `dtype` says, or if
        `elems` is a SparseTensor.
      ValueError: if `elems` are scalars, or structures are of different lengths.

    Example:
      >>> print(tf.Session().run(tf.map_fn(lambda x: x * x, tf.constant([1, 2, 3]))))
      [1 4 9]
    """
    check_mapped(fn, elems)
    inputs = Structure(elems)
    outputs = inputs if dtype is None else Structure(dtype)
    flat = inputs.flatten(elems)
    with name_scope(name, "map", flat), variables_cached_once():
        tensors = as_tensors(flat)
        dtype = dtype or inputs.pack([tensor.dtype for tensor in tensors])
        check_ranks(tensors)
        n = size_of(tensors[0])
        arrays = [_array(tensor.dtype, n, True) for tensor in tensors]
        arrays = [array.unstack(tensor) for array, tensor in zip(arrays, tensors, strict=True)]
        start = constant(0)
        results = [_array(kind, n, infer_shape) for kind in outputs.flatten(dtype)]

        def step(i: Any, results: Any) -> tuple[Tensor, list[TensorArray]]:
            values = fn(inputs.pack([array.read(i) for array in arrays]))
            nest.assert_same_structure(dtype or elems, values)
            flat_values = outputs.flatten(values)
            written = [
                array.write(i, value) for array, value in zip(results, flat_values, strict=False)
            ]
            return i + 1, written

        _, arrays_out = while_loop(
            lambda i, _: i < n,
            step,
            (start, results),
            parallel_iterations=parallel_iterations or 10,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=n,
        )
        stacked = [array.stack() for array in arrays_out]
        set_static_size(stacked, tensors)
        return outputs.pack(stacked)


def _array(dtype: Any, size: Any, infer_shape: bool) -> TensorArray:
    return tensor_array.TensorArray(
        dtype=dtype, size=size, dynamic_size=False, infer_shape=infer_shape
    )
