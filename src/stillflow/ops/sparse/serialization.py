"""Sparse tensors in a vector of three strings or variants: how they pass through datasets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.card import op
from stillflow.graph.dims import shape_text
from stillflow.graph.dtypes import cpp_name
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.ops.io.variants import from_message, to_message
from stillflow.ops.kernels import index_tensor
from stillflow.ops.sparse.conversion import as_sparse, parts
from stillflow.ops.sparse.pieces import check_parts, cut, joined, stacked_indices

_SERIALIZE = """
    {}(sparse_indices: int64, sparse_values: T, sparse_shape: int64)
        -> serialized_sparse: out_type
    T: type
    out_type: {{string, variant}} = string
"""
_DESERIALIZE = "-> (sparse_indices: int64, sparse_values: dtype, sparse_shape: int64)\ndtype: type"
serialize_sparse_op = op(
    _SERIALIZE.format("SerializeSparse"), differentiable=False, keeps=(0, 1, 2), effect="state"
)
serialize_many_sparse_op = op(
    _SERIALIZE.format("SerializeManySparse"), differentiable=False, effect="state"
)
deserialize_sparse_op = op(
    f"DeserializeSparse(serialized_sparse: Tserialized) {_DESERIALIZE}"
    "\nTserialized: {string, variant} = string",
    differentiable=False, view=True, effect="state",
)  # fmt: skip
deserialize_many_sparse_op = op(
    f"DeserializeManySparse(serialized_sparse: string) {_DESERIALIZE}", differentiable=False
)


def check_ranks(node: Node) -> None:
    """Raise an error for inputs known not to be the parts of a sparse tensor."""
    for place, rank in enumerate((2, 1, 1)):
        dims.with_rank(node.dims(place), rank)


@serialize_sparse_op.shape
def serialize_sparse_shape(node: Node) -> OutputDims:
    check_ranks(node)
    return (3,)


@serialize_many_sparse_op.shape
def serialize_many_sparse_shape(node: Node) -> OutputDims:
    check_ranks(node)
    return (None, 3)


def _packing(node: Any) -> Callable[..., Any]:
    """Return a function from one part of a sparse tensor to an element of the result."""
    if node.out_type == dtypes.variant:
        return lambda value, dtype: value
    return lambda value, dtype: to_message(value, dtype, packed=True).SerializeToString()


def _fill(row: np.ndarray, pack: Any, dtype: Any, pieces: tuple[Any, Any, Any]) -> None:
    for place, (piece, kind) in enumerate(
        zip(pieces, (dtypes.int64, dtype, dtypes.int64), strict=True)
    ):
        row[place] = pack(piece, kind)


@serialize_sparse_op.kernel
def serialize_sparse_kernel(node: Any) -> Kernel:
    pack, dtype = _packing(node), node.T

    def serialize(indices: Any, values: Any, shape: Any) -> np.ndarray:
        check_parts(indices, values, shape)
        result = np.empty(3, object)
        _fill(result, pack, dtype, (indices, values, shape))
        return result

    return serialize


@serialize_many_sparse_op.kernel
def serialize_many_sparse_kernel(node: Any) -> Kernel:
    pack, dtype = _packing(node), node.T

    def serialize(indices: Any, values: Any, shape: Any) -> np.ndarray:
        check_parts(indices, values, shape)
        pieces = list(cut(indices, values, shape.tolist()))
        result, inner = np.empty((len(pieces), 3), object), shape[1:]
        for row, piece in zip(result, pieces, strict=True):
            _fill(row, pack, dtype, (*piece, inner))
        return result

    return serialize


# ---- and back

_RESULTS = [(None, None), (None,), (None,)]


@deserialize_sparse_op.shape
def deserialize_sparse_shape(node: Node) -> OutputDims:
    found = dims.with_rank_at_least(node.dims(0), 1)
    if found is not None:
        dims.with_value(found[-1], 3)
    return list(_RESULTS)


@deserialize_many_sparse_op.shape
def deserialize_many_sparse_shape(node: Node) -> OutputDims:
    dims.with_value(dims.with_rank(node.dims(0), 2)[1], 3)
    return list(_RESULTS)


def _unpacked(item: Any) -> Any:
    if not isinstance(item, bytes):
        return item
    from stillflow.protos import TensorProto

    try:
        return from_message(TensorProto.FromString(item))
    except Exception:
        raise ValueError("Could not parse serialized proto") from None


def _deserialize_kernel(node: Any) -> Callable[..., Any]:
    dtype = node.op.attrs["dtype"]
    wanted = _run_time_type(dtype)

    def deserialize(serialized: np.ndarray) -> Any:
        batch = serialized.shape[:-1]
        rows = serialized.reshape(-1, 3).tolist()
        if rows and isinstance(rows[0][0], bytes):
            rows = [[_unpacked(item) for item in row] for row in rows]
        if not rows:
            raise ValueError(
                "Serialized sparse should have at least 1 serialized tensor, but has a zero "
                f"dimension {shape_text(serialized.shape)}"
            )
        indices, values, shapes = zip(*rows, strict=True)
        if not _are_alike(indices, values, shapes, wanted):
            for place, row in enumerate(rows):
                _check_row(place, row, len(shapes[0]), dtype)
        if not batch:
            return tuple(rows[0])
        is_same = len({*map(id, shapes)}) == 1 or not len(shapes[0])  # as those of one tensor
        size = shapes[0] if is_same else torch.stack(shapes).amax(0)
        found = stacked_indices(indices)
        if len(batch) > 1:
            places = np.unravel_index(found[:, 0].numpy(), batch)
            found = torch.cat([torch.from_numpy(np.stack(places, 1)), found[:, 1:]], 1)
        return found, joined(values), torch.cat([index_tensor(batch, dtypes.int64), size])

    return deserialize


def _run_time_type(dtype: Any) -> Any:
    return np.dtype(object) if dtype.torch_name is None else getattr(torch, dtype.torch_name)


def _are_alike(
    indices: Sequence[Any], values: Sequence[Any], shapes: Sequence[Any], wanted: Any
) -> bool:
    """Return True if all rows pass `_check_row`: one look at each part, as batches have many."""
    rank = shapes[0].shape
    return (
        {part.ndim for part in indices} == {2}
        and {(part.ndim, part.dtype) for part in values} == {(1, wanted)}
        and len(rank) == 1
        and {part.shape for part in {id(shape): shape for shape in shapes}.values()} == {rank}
    )


def _check_row(place: int, row: list[Any], rank: int, dtype: Any) -> None:
    indices, values, shape = row
    if len(indices.shape) != 2:
        raise ValueError(
            f"Expected serialized_sparse[{place}, 0] to represent an index matrix but received "
            f"shape {shape_text(indices.shape)}"
        )
    if len(values.shape) != 1:
        raise ValueError(
            f"Expected serialized_sparse[{place}, 1] to represent a values vector but received "
            f"shape {shape_text(values.shape)}"
        )
    if len(shape) != rank:
        raise ValueError(
            f"Inconsistent shape across SparseTensors: rank prior to SparseTensor[{place}] was: "
            f"{rank} but rank of SparseTensor[{place}] is: {len(shape)}"
        )
    if values.dtype != _run_time_type(dtype):
        found = "string" if isinstance(values, np.ndarray) else str(values.dtype)
        raise ValueError(
            f"Requested SparseTensor of type {cpp_name(dtype)} but SparseTensor[{place}]"
            f".values.dtype() == {found.removeprefix('torch.')}"
        )


deserialize_sparse_op.kernel(_deserialize_kernel)
deserialize_many_sparse_op.kernel(_deserialize_kernel)


@export("io.serialize_sparse", "serialize_sparse")
def serialize_sparse(
    sp_input: Any, name: str | None = None, out_type: Any = dtypes.string
) -> Tensor:
    """Return a sparse tensor as a vector of three strings or variants.

    Args:
      sp_input: the sparse tensor.
      name: of the operation.
      out_type: `tf.string` or `tf.variant`.

    Raises:
      TypeError: if `sp_input` is no sparse tensor.
    """
    return serialize_sparse_op(*parts(as_sparse(sp_input)), out_type=out_type, name=name)


@export("io.serialize_many_sparse", "serialize_many_sparse")
def serialize_many_sparse(
    sp_input: Any, name: str | None = None, out_type: Any = dtypes.string
) -> Tensor:
    """Return the parts of a sparse tensor along its first dimension, each `serialize_sparse`d.

    Args:
      sp_input: a sparse tensor of rank 2 at least.
      name: of the operation.
      out_type: `tf.string` or `tf.variant`.

    Returns:
      A matrix [N, 3].

    Raises:
      TypeError: if `sp_input` is no sparse tensor.
    """
    return serialize_many_sparse_op(*parts(as_sparse(sp_input)), out_type=out_type, name=name)


def _as_tensor(found: Any, rank: int | None) -> SparseTensor:
    found[0].set_shape([None, rank])
    found[2].set_shape([rank])
    return SparseTensor(*found)


@export("io.deserialize_many_sparse", "deserialize_many_sparse")
def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Sparse tensors that were serialized, stacked along a new first dimension.

    Args:
      serialized_sparse: strings [N, 3].
      dtype: of the values.
      rank: of the result, where it is known.
      name: of the operation.
    """
    return _as_tensor(deserialize_many_sparse_op(serialized_sparse, dtype=dtype, name=name), rank)


def deserialize_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Return serialized sparse tensors [..., 3], stacked along new first dimensions of `rank`."""
    return _as_tensor(deserialize_sparse_op(serialized_sparse, dtype=dtype, name=name), rank)
