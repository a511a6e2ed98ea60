"""Sparse tensors on their way through a queue: they wait in the session, numbers go through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.graph.tensor_shape import Dimension
from stillflow.layers.utils import smart_cond
from stillflow.ops.arrays.fill import ones
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.shape import expand_dims, shape, squeeze
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.ops.sparse.rearranging import sparse_retain
from stillflow.ops.sparse.tensor_maps import (
    add_many_sparse_to_tensors_map,
    add_sparse_to_tensors_map,
    take_many_sparse_from_tensors_map,
)

_STORES = ("AddSparseToTensorsMap", "AddManySparseToTensorsMap")


class SparseMetaData:
    """Storage of one component: sparse or not, its op, and its rank without the batch.

    Args:
      sparse: whether it is sparse.
      map_op: the operation that stores it, or None.
      rank: its rank, or None.
    """

    def __init__(self, sparse: bool, map_op: Any, rank: Any) -> None:
        self.sparse = sparse
        self.map_op = map_op
        self.rank = Dimension(rank)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseMetaData) or self.sparse != other.sparse:
            return False
        if not self.sparse:
            return True
        same_store = self.map_op == other.map_op
        return same_store and self.rank.is_compatible_with(other.rank)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        name = None if self.map_op is None else self.map_op.name
        return f"[SparseMetaData({self.sparse}, {name}, {self.rank})]"

    def merge_with(self, other: SparseMetaData) -> SparseMetaData:
        """Return this, if it is compatible with `other`.

        Raises:
          ValueError: if it does not.
        """
        if self != other:
            raise ValueError(f"SparseMetaData objects are incompatible: {self} vs. {other}")
        if self.sparse:
            self.rank.merge_with(other.rank)
        return self


def _store_one(value: SparseTensor, store_name: str | None, keep: Any) -> Tensor:
    return smart_cond(
        keep,
        lambda: add_sparse_to_tensors_map(value, shared_name=store_name),
        lambda: constant(-1, dtypes.int64),
    )


def _store_rows(value: SparseTensor, store_name: str | None, keep: Any) -> Tensor:
    stored = smart_cond(
        keep,
        lambda: add_many_sparse_to_tensors_map(value, shared_name=store_name),
        lambda: -1 * ones(shape(value)[0:1], dtypes.int64),
    )
    stored.set_shape([None])
    return stored


def _store(value: Any, shared: Any, enqueue_many: bool, keep: Any) -> Tensor:
    if not isinstance(value, SparseTensor):
        return value
    name = shared.name if shared else None
    if keep.shape.ndims == 1:
        kept = sparse_retain(value, gather(keep, value.indices[:, 0]))
        return add_many_sparse_to_tensors_map(kept, shared_name=name)
    return (_store_rows if enqueue_many else _store_one)(value, name, keep)


def _storing_op(stored: Any) -> Operation:
    """Return the op that stores a tensor: if that depends on `keep_input`, an input of a Merge."""
    for tensor in stored.op.inputs:
        if tensor.op.type in _STORES:
            return tensor.op
    return stored.op


def store_sparse(
    tensors: Sequence[Any], enqueue_many: bool, keep: Any, shared: Sequence[Any] | None = None
) -> tuple[list[Any], list[SparseMetaData]]:
    """Put sparse ones among some tensors into the session.

    The tensors are components of an element, or of a batch if `enqueue_many`. `keep` says whether
    to store at all: a scalar, or a bool for each row. `shared` are operations to share stores with,
    None for dense components. Returns the tensors, numbers [..., 1] instead of sparse ones, and the
    storage of each.
    """
    shared = shared or [None] * len(tensors)
    pairs = list(zip(tensors, shared, strict=True))
    stored = [_store(value, share, enqueue_many, keep) for value, share in pairs]
    infos = []
    for (value, share), number in zip(pairs, stored, strict=True):
        storing = _storing_op(number)
        if not isinstance(value, SparseTensor):
            infos.append(SparseMetaData(False, None, None))
            continue
        rank = value.dense_shape.shape.with_rank(1).dims[0]
        infos.append(SparseMetaData(True, share or storing, rank - 1 if enqueue_many else rank))
    made = [
        expand_dims(number, [-1]) if info.sparse else number
        for number, info in zip(stored, infos, strict=True)
    ]
    return made, infos


def store_sparse_join(
    lists: Sequence[Sequence[Any]], enqueue_many: bool, keep: Any
) -> tuple[list[list[Any]], list[SparseMetaData]]:
    """`store_sparse` of several lists of components, sparse alike, that go into one queue."""
    stored: list[list[Any]] = []
    infos: list[SparseMetaData] = []
    for tensors in lists:
        made, found = store_sparse(tensors, enqueue_many, keep, [info.map_op for info in infos])
        if stored and infos != found:
            raise ValueError(f"Inconsistent SparseTensors list: {lists[0]} vs. {tensors}")
        pairs = zip(infos or found, found, strict=True)
        infos = [info.merge_with(other) for info, other in pairs]
        stored.append(made)
    return stored, infos


def restore_sparse(taken: Any, infos: Sequence[SparseMetaData]) -> Any:
    """Return dequeued components with sparse tensors instead of their numbers."""
    is_list = isinstance(taken, (list, tuple))
    tensors = [
        _take(value, info) if info.sparse else value
        for value, info in zip(taken if is_list else (taken,), infos, strict=True)
    ]
    if any(isinstance(value, SparseTensor) for value in tensors):
        # Numbers can be used only once: a use of one component uses all of them.
        needed = [v.values if isinstance(v, SparseTensor) else v for v in tensors]
        tensors = [_after(needed, value) for value in tensors]
    return tensors if is_list else tensors[0]


def _take(value: Any, info: SparseMetaData) -> SparseTensor:
    rank = (info.rank + 1).value
    return take_many_sparse_from_tensors_map(info.map_op, squeeze(value, [1]), rank=rank)


def _after(needed: list[Any], value: Any) -> Tensor | SparseTensor:
    if not isinstance(value, SparseTensor):
        return with_dependencies(needed, value)
    parts = (value.indices, value.values, value.dense_shape)
    return SparseTensor(*[with_dependencies(needed, part) for part in parts])
