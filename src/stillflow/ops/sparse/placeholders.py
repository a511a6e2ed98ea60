"""Placeholders for sparse tensors, and masks of slices."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.unique import list_diff_op
from stillflow.ops.constants import placeholder


@export("sparse.placeholder", "sparse_placeholder")
def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """Return a sparse tensor that must be fed when it is used, with a `SparseTensorValue`.

    Args:
      dtype: the type of its values.
      shape: its dense shape as a list or tensor; None, or sizes that are None, leave it open.
      name: prefix of the names of its parts.
    """

    def part(what: str) -> str | None:
        return None if name is None else f"{name}/{what}"

    rank: Any = None
    dense_shape: Any = None
    if shape is not None:
        rank = shape.get_shape()[0] if isinstance(shape, Tensor) else len(shape)
        if isinstance(shape, Tensor) or None not in shape:
            dense_shape = convert_to_tensor(shape, dtype=dtypes.int64, name=part("shape"))
    if dense_shape is None:
        dense_shape = placeholder(dtypes.int64, shape=[rank], name=part("shape"))
    values = placeholder(dtype, shape=[None], name=part("values"))
    indices = placeholder(dtypes.int64, shape=[None, rank], name=part("indices"))
    return SparseTensor(values=values, indices=indices, dense_shape=dense_shape)


@export("sparse.mask", "sparse_mask")
def sparse_mask(a: IndexedSlices, mask_indices: Any, name: str | None = None) -> IndexedSlices:
    """Return the slices of `a` whose indices are not among `mask_indices`.

    Args:
      a: an `IndexedSlices`.
      mask_indices: indices to leave out.
      name: of the operation.
    """
    with name_scope(name, "sparse_mask", [a, mask_indices]) as scope:
        kept, positions = list_diff_op(a.indices, mask_indices)
        return IndexedSlices(gather(a.values, positions, name=scope), kept, a.dense_shape)
