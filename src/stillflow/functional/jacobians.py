"""`jacobian` and `batch_jacobian` of graphs: the gradients of one element after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import nest
from stillflow.functional.parallel_for import for_loop, pfor
from stillflow.graph.api import control_dependencies
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.shape import reshape, shape, size
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.debugging.comparisons import assert_equal
from stillflow.ops.gradients.gradients import gradients


def jacobian(
    output: Tensor, inputs: Any, use_pfor: bool = True, parallel_iterations: int | None = None
) -> Tensor | list[Tensor | None]:
    """Return the derivatives of every element of a tensor, None where nothing depends on it.

    Tensors in the structure of `inputs` have the shape of `output` and then that of the input.
    `use_pfor` makes iterations by `pfor`, which differentiates loops too.
    """
    flat = nest.flatten(inputs)
    known, dims = output.shape, shape(output)
    output = reshape(output, [-1])
    length = output.shape[0].value
    count = shape(output)[0] if length is None else length
    rows = _each(
        lambda i: gradients(gather(output, i), flat),
        [output.dtype] * len(flat), count, use_pfor, parallel_iterations,
    )  # fmt: skip
    for index, row in enumerate(rows):  # type: ignore[arg-type]
        if isinstance(row, Tensor):
            row = reshape(row, concat([dims, shape(row)[1:]], axis=0))
            row.set_shape(known.concatenate(flat[index].shape))
            rows[index] = row  # type: ignore[index]
    return nest.pack_sequence_as(inputs, rows)


def batch_jacobian(
    output: Tensor, inp: Tensor, use_pfor: bool = True, parallel_iterations: int | None = None
) -> Tensor | None:
    """Return the derivatives of each example of a batch by the same example of another.

    For shapes [b, y1, ...] and [b, x1, ...] it is [b, y1, ..., x1, ...], or None if nothing depends
    on `inp`. `use_pfor` makes iterations by `pfor`, which differentiates loops too.
    """
    dims: Any = output.shape
    if not dims[0].is_compatible_with(inp.shape[0]):
        raise ValueError(
            f"Need first dimension of output shape ({output.shape}) and inp shape ({inp.shape}) "
            "to match."
        )
    if dims.is_fully_defined():
        batch: Any = int(dims[0])
        width: Any = dims.num_elements() // batch
    else:
        dims = shape(output)
        batch = dims[0]
        width = size(output) // batch
    input_dims = shape(inp)
    with control_dependencies([assert_equal(batch, input_dims[0])]):
        output = reshape(output, [batch, width])
    columns = _each(
        lambda i: gradients(gather(output, i, axis=1), inp)[0],
        output.dtype, width, use_pfor, parallel_iterations,
    )  # fmt: skip
    if columns is None:
        return None
    columns = transpose(reshape(columns, [width, batch, -1]), [1, 0, 2])
    result: Tensor = reshape(columns, concat([dims, input_dims[1:]], axis=0))
    return result


def _each(
    function: Callable[[Any], Any], types: Any, count: Any, use_pfor: bool,
    parallel_iterations: int | None,
) -> Tensor | list[Tensor | None] | None:  # fmt: skip
    if use_pfor:
        return pfor(function, count, parallel_iterations)
    return for_loop(function, types, count, parallel_iterations)
