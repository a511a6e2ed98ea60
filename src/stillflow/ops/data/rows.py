"""A function of the rows of tensors: MapDefun."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.constant_value import Dims
from stillflow.graph.dims import shape_text
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.data.pipeline import invalid
from stillflow.ops.io.stored import from_stored
from stillflow.ops.queues.elements import Stacked, stacked

map_defun_op = op(
    """
    MapDefun(arguments: [Targuments], captured_inputs: [Tcaptured]) -> output: [output_types]
    Targuments: list(type) >= 1
    Tcaptured: list(type) >= 0 = []
    output_types: list(type) >= 1
    output_shapes: list(shape) >= 1
    f: func
    max_intra_op_parallelism: int = 1
    """,
    effect="state",
)


@map_defun_op.shape
def map_defun_shape(node: Node) -> OutputDims:
    stated = node.op.attrs["output_shapes"]
    if len(stated) != len(node.outputs):
        raise ValueError(
            "`output_shapes` must be the same length as `output_types` "
            f"({len(stated)} vs. {len(node.outputs)})"
        )
    rows: Any = None
    for number in range(len(node.op.attrs["Targuments"])):
        dims = node.dims(number)
        if dims == () and not node.planning:
            raise ValueError(f"Arguments must have rank at least 1. Input {number} has rank of 0.")
        if dims and dims[0] is not None:
            if rows not in (None, dims[0]) and not node.planning:
                raise ValueError("Arguments must have the same dimension 0.")
            rows = dims[0]
    return [dims_lib.concat((rows,), shape._dims) for shape in stated]


def _row_count(arguments: Sequence[Any]) -> int:
    """Return the common number of rows of tensors; InvalidArgumentError if there is none."""
    count = arguments[0].shape[0] if arguments[0].shape else -1
    for number, argument in enumerate(arguments):
        if not argument.shape:
            raise invalid(f"All inputs must have rank at least 1. Input {number} has a rank of 0.")
        if argument.shape[0] != count:
            raise invalid(
                f"All inputs must have the same dimension 0. Input {number} has leading dimension "
                f"{argument.shape[0]}, while all previous inputs have leading dimension {count}"
            )
    return int(count)


def _check_shapes(rows: Sequence[Sequence[Any]], stated: Sequence[Dims]) -> None:
    """Raise InvalidArgumentError where results, by rows, are not of the stated shapes."""
    expected = list(stated)
    for row in rows:
        if len(row) != len(expected):
            raise invalid("Mismatch in number of function outputs.")
        for number, dims in enumerate(map(tuple, row)):
            if not dims_lib.is_compatible(expected[number], dims):
                raise invalid(
                    f"Mismatch in function retval shape, {shape_text(dims)}, and expected output "
                    f"shape, {shape_text(expected[number])}."
                )
            expected[number] = dims


def _check_types(found: Sequence[Any], stated: Sequence[Any]) -> None:
    for number, (mine, theirs) in enumerate(zip(found, stated, strict=False)):
        if mine.base_dtype != theirs.base_dtype:
            raise invalid(
                f"Mismatch in function return type and expected output type for output: {number}"
            )


def _nothing(types: Sequence[Any], shapes: Sequence[Any]) -> list[Any]:
    """Return results of no rows; InternalError where their shape is not stated."""
    for number, dims in enumerate(shapes):
        if not dims_lib.is_known(dims):
            raise errors.internal(f"Missing {number}-th output from node MapDefun")
    return [
        from_stored(np.empty((0, *dims), dtype.as_numpy_dtype), dtype, "cpu")
        for dtype, dims in zip(types, shapes, strict=True)
    ]


@map_defun_op.kernel
def map_defun_kernel(node: Any) -> Kernel:
    attrs = node.op.attrs
    function, count = node.function(attrs["f"], on_host=True), len(attrs["Targuments"])
    types = list(attrs["output_types"])
    shapes = [shape._dims for shape in attrs["output_shapes"]]

    def run(*values: Any) -> list[torch.Tensor] | tuple[torch.Tensor | Array, ...]:
        _check_types(function.output_types, types)
        arguments, captured = Stacked(values[:count]), values[count:]
        if not _row_count(arguments.components):
            return _nothing(types, shapes)
        results = function.on_rows(arguments, captured) if function.pure else None
        if results is None:
            results = [tuple(function(*row, *captured)) for row in arguments]
        if isinstance(results, Stacked):
            _check_shapes([[value.shape[1:] for value in results.components]], shapes)
        else:
            _check_shapes([[value.shape for value in row] for row in results], shapes)
        return stacked(results)

    if len(node.outputs) == 1:
        return lambda *values: run(*values)[0]
    return run
