"""Additional operations of forests: numbers for strings, sums at places of a variable."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.boosted_trees.resources import refused, tensor
from stillflow.ops.samples import Sample, Samples
from stillflow.util.string_hashes import murmur64s

_SEED = 0xC70F6907  # of the hashes of strings in the C++ library

reinterpret_string_to_float_op = op("""
    ReinterpretStringToFloat(input_data: string) -> output_data: float
""")
scatter_add_ndim_op = op(
    """
    ScatterAddNdim(input: &float, indices: int32, deltas: float)
""",
    writes=(0,),
    apple="no int64",
    numbers=("indices",),
    handle="variable",
)


@reinterpret_string_to_float_op.shape
def reinterpret_string_to_float_shape(node: Node) -> OutputDims:
    return node.dims(0)


@reinterpret_string_to_float_op.kernel
def reinterpret_string_to_float_kernel(node: Node) -> Kernel:
    def convert(strings: Any) -> torch.Tensor:
        hashes = murmur64s(strings.reshape(-1).tolist(), _SEED)
        return tensor(hashes.astype(np.float32).reshape(strings.shape), np.float32)

    return convert


@reinterpret_string_to_float_op.samples
def reinterpret_string_to_float_samples() -> Samples:
    yield Sample(np.array([[b"", b"a"], [b"abcdefgh", b"twelve bytes"]], object), grad=False)


@export("contrib.tensor_forest.tensor_forest_ops.reinterpret_string_to_float")
def reinterpret_string_to_float(input_data: Any, name: str | None = None) -> Tensor:
    """Numbers that mean nothing, but are equal for equal strings.

    Args:
      input_data: strings.
      name: of the operation.

    Returns:
      A float32 tensor of the same shape.
    """
    return reinterpret_string_to_float_op(input_data, name=name)


@scatter_add_ndim_op.kernel
def scatter_add_ndim_kernel(node: Node) -> Kernel:
    def add(variable: Any, indices: Any, deltas: Any) -> None:
        with variable.lock:
            target = variable.read()
            if len(indices):
                _check_places(target.shape, indices, deltas)
                rest = tuple(target.shape[indices.shape[1] :])
                places = tuple(indices.long().unbind(1))
                added = deltas.reshape(len(indices), *rest)
                target.index_put_(places, added, accumulate=True)

    return add


def _check_places(shape: Any, indices: Any, deltas: Any) -> None:
    """Raise InvalidArgumentError for shapes that do not fit."""
    if indices.ndim != 2:
        raise refused("indices should be two-dimensional")
    if indices.shape[1] + deltas.ndim != len(shape) + 1:
        raise refused("Number of indices dimensions should be the same as input rank.")
    if len(indices) != len(deltas):
        raise refused("Number of updates should be same as number of indices.")
    for places, size in zip(indices.unbind(1), shape, strict=False):
        if int(places.min()) < 0 or int(places.max()) >= size:
            raise refused(f"Indices of a dimension of size {size} must be in [0, {size})")


@export("contrib.tensor_forest.tensor_forest_ops.scatter_add_ndim")
def scatter_add_ndim(input: Any, indices: Any, deltas: Any, name: str | None = None) -> Operation:
    """Add to elements, or to slices, of a variable.

    Args:
      input: the variable, float32.
      indices: where, int32 [n, dimensions]; fewer dimensions than the variable has mean slices.
      deltas: what is added there, float32 with n rows.
      name: of the operation.

    Raises:
      InvalidArgumentError: when run with other shapes or indices.
    """
    return scatter_add_ndim_op(input, indices, deltas, name=name)
