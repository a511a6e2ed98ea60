"""Sparse tensors kept in the session under numbers: how batches of examples pass through queues."""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from stillflow.graph import dims
from stillflow.graph.api import colocate_with
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.ops.sparse.conversion import as_sparse, parts
from stillflow.ops.sparse.pieces import check_parts, cut, joined, stacked_indices
from stillflow.ops.sparse.serialization import check_ranks

_STORE = """
    T: type
    container: string = ""
    shared_name: string = ""
    flags: stateful
"""
_PARTS = "sparse_indices: int64, sparse_values: T, sparse_shape: int64"
add_sparse_to_tensors_map_op = op(
    f"AddSparseToTensorsMap({_PARTS}) -> sparse_handle: int64{_STORE}", keeps=(0, 1)
)
add_many_sparse_to_tensors_map_op = op(
    f"AddManySparseToTensorsMap({_PARTS}) -> sparse_handles: int64{_STORE}"
)
take_many_sparse_from_tensors_map_op = op(
    """
    TakeManySparseFromTensorsMap(sparse_handles: int64)
        -> (sparse_indices: int64, sparse_values: dtype, sparse_shape: int64)
    dtype: type
    container: string = ""
    shared_name: string = ""
    flags: stateful
""",
    devices="host",
)


class _Stored(NamedTuple):
    indices: Any
    values: Any
    shape: list[int]
    dtype: Any


class TensorsMap:
    """Sparse tensors by number; each is given out once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lock = threading.Lock()
        self._count = 0
        self._tensors: dict[int, _Stored] = {}

    def add(self, tensors: list[_Stored]) -> list[int]:
        """Keep tensors and return their numbers."""
        with self._lock:
            numbers = list(range(self._count, self._count + len(tensors)))
            self._count += len(tensors)
            self._tensors.update(zip(numbers, tensors))
            return numbers

    def take(self, numbers: list[int]) -> list[_Stored]:
        """Remove and return tensors.

        Raises:
          ValueError: a number is not known (any more).
        """
        with self._lock:
            taken = []
            for number in numbers:
                if number not in self._tensors:
                    raise ValueError(f"Unable to find SparseTensor: {number} in map: {self.name}")
                taken.append(self._tensors.pop(number))
            return taken


def _map_of(node: Node) -> TensorsMap:
    name = node.op.attrs.get("shared_name", b"").decode() or node.name
    found: TensorsMap = node.resource(lambda: TensorsMap(name), kind="sparse tensors map")
    return found


@add_sparse_to_tensors_map_op.shape
def add_sparse_to_tensors_map_shape(node: Node) -> OutputDims:
    check_ranks(node)
    return ()


@add_sparse_to_tensors_map_op.kernel
def add_sparse_to_tensors_map_kernel(node: Node) -> Kernel:
    store, dtype = _map_of(node), node.T

    def add(indices: Any, values: Any, shape: Any) -> Any:
        check_parts(indices, values, shape)
        number = store.add([_Stored(indices, values, shape.tolist(), dtype)])[0]
        return torch.tensor(number)

    return add


@add_many_sparse_to_tensors_map_op.shape
def add_many_sparse_to_tensors_map_shape(node: Node) -> OutputDims:
    check_ranks(node)
    return (None,)


@add_many_sparse_to_tensors_map_op.kernel
def add_many_sparse_to_tensors_map_kernel(node: Node) -> Kernel:
    store, dtype = _map_of(node), node.T

    def add(indices: Any, values: Any, shape: Any) -> Any:
        check_parts(indices, values, shape)
        size = shape.tolist()
        pieces = [_Stored(*piece, size[1:], dtype) for piece in cut(indices, values, size)]
        return torch.tensor(store.add(pieces), dtype=torch.int64)

    return add


@take_many_sparse_from_tensors_map_op.shape
def take_many_sparse_from_tensors_map_shape(node: Node) -> OutputDims:
    dims.with_rank(node.dims(0), 1)
    return [(None, None), (None,), (None,)]


@take_many_sparse_from_tensors_map_op.kernel
def take_many_sparse_from_tensors_map_kernel(node: Node) -> Kernel:
    store, dtype = _map_of(node), node.op.attrs["dtype"]

    def take(handles: Any) -> tuple[torch.Tensor, torch.Tensor | Array, torch.Tensor]:
        if not len(handles):
            raise ValueError(
                "Must have at least 1 serialized SparseTensor, but input matrix has 0 rows"
            )
        tensors = store.take(handles.tolist())
        _check_taken(tensors, dtype)
        sizes = np.max([tensor.shape for tensor in tensors], axis=0, initial=0)
        shape = torch.tensor([len(tensors), *sizes.tolist()], dtype=torch.int64)
        rows = stacked_indices([tensor.indices for tensor in tensors])
        return rows, joined([tensor.values for tensor in tensors]), shape

    return take


def _check_taken(tensors: list[_Stored], dtype: Any) -> None:
    for place, tensor in enumerate(tensors):
        if tensor.dtype != dtype:
            raise ValueError(
                f"Requested SparseTensor of type {dtype.name} but "
                f"SparseTensor[{place}].values.dtype() == {tensor.dtype.name}"
            )
        if len(tensor.shape) != len(tensors[0].shape):
            raise ValueError(
                "Inconsistent rank across SparseTensors: rank prior to "
                f"SparseTensor[{place}] was: {len(tensors[0].shape) + 1} but rank of "
                f"SparseTensor[{place}] is: {len(tensor.shape) + 1}"
            )


# ---- Functions: internal in TF too, used by its input pipelines.


def add_sparse_to_tensors_map(
    sp_input: Any, container: str | None = None, shared_name: str | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Keep a sparse tensor in the session; return its number, an int64 scalar."""
    return add_sparse_to_tensors_map_op(
        *parts(as_sparse(sp_input)), container=container, shared_name=shared_name, name=name
    )


def add_many_sparse_to_tensors_map(
    sp_input: Any, container: str | None = None, shared_name: str | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Keep each part of a sparse tensor along its first dimension; return numbers, int64 [N]."""
    return add_many_sparse_to_tensors_map_op(
        *parts(as_sparse(sp_input)), container=container, shared_name=shared_name, name=name
    )


def take_many_sparse_from_tensors_map(
    sparse_map_op: Operation, sparse_handles: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """Return sparse tensors of `sparse_map_op` by number, stacked along a new first dimension."""
    if not isinstance(sparse_map_op, Operation):
        raise TypeError("sparse_map_op be an Operation")
    if sparse_map_op.type not in ("AddSparseToTensorsMap", "AddManySparseToTensorsMap"):
        raise TypeError(
            "sparse_map_op must be one of AddSparseToTensorsMap or AddSparseToTensorsMap. "
            f"Instead, found `{sparse_map_op.type}`."
        )
    with colocate_with(sparse_map_op):
        indices, values, shape = take_many_sparse_from_tensors_map_op(
            sparse_handles,
            dtype=sparse_map_op.get_attr("T"),
            container=sparse_map_op.get_attr("container"),
            shared_name=sparse_map_op.get_attr("shared_name") or sparse_map_op.name,
            name=name,
        )
    indices.set_shape([None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)
