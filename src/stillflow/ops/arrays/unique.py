"""Distinct elements: Unique, UniqueWithCounts, ListDiff."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.constant_value import MAX_ELEMENTS
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.kernels import as_signed, ints, torch_type
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.ops.sparse import native_kernels
from stillflow.util.texts import FEW, Numbering, texts_of

_TYPES = "T: type\nout_idx: {int32, int64} = int32"
_AXIS_TYPES = "T: type\nTaxis: {int32, int64} = int64\nout_idx: {int32, int64} = int32"
unique_op = op("Unique(x: T) -> (y: T, idx: out_idx)\n" + _TYPES, reads_on_host=True)
unique_with_counts_op = op(
    "UniqueWithCounts(x: T) -> (y: T, idx: out_idx, count: out_idx)\n" + _TYPES, devices="host"
)
unique_v2_op = op(
    "UniqueV2(x: T, axis: Taxis) -> (y: T, idx: out_idx)\n" + _AXIS_TYPES, devices="host"
)
unique_with_counts_v2_op = op(
    "UniqueWithCountsV2(x: T, axis: Taxis) -> (y: T, idx: out_idx, count: out_idx)\n" + _AXIS_TYPES,
    devices="host",
)


def unique_shape(node: Node) -> Any:
    dims = node.dims(0)
    if len(node.inputs) == 1:
        if node.planning and dims is not None and len(dims) != 1:
            raise ValueError("unique expects a 1D vector.")
        if len(node.outputs) == 2:
            dims_lib.with_rank(dims, 1)
    elif node.planning and (dims is None or len(dims) != 1):
        # TF's graphs say that this is a vector, too, although rows may be compared.
        return [None, (None,), (None,)][: len(node.outputs)]
    return [(None,), dims, (None,)][: len(node.outputs)]


def _distinct_rows(rows: Any) -> tuple[Any, Any]:
    """Return the index of each distinct row, in order, and each row's number in that order."""
    if isinstance(rows, np.ndarray):
        texts = texts_of(rows) if rows.shape[1] == 1 and len(rows) > FEW else None
        if texts is not None:
            found = Numbering(texts)
            return torch.from_numpy(found.firsts), torch.from_numpy(found.numbers)
        first: dict[Any, int] = {}
        items = rows[:, 0].tolist() if rows.shape[1] == 1 else map(tuple, rows)
        numbers = np.array([first.setdefault(item, len(first)) for item in items], np.int64)
        places = np.flatnonzero(np.diff(np.maximum.accumulate(numbers), prepend=-1))  # new ones
        return torch.from_numpy(places), torch.from_numpy(numbers)
    if rows.is_complex():
        rows = torch.view_as_real(rows).flatten(1)
    if (native := native_kernels.distinct_rows(rows)) is not None:
        return native
    keys = rows[:, 0] if rows.shape[1] == 1 else rows
    if not rows.shape[1]:
        inverse = torch.zeros(len(rows), dtype=torch.int64, device=rows.device)
    elif keys.ndim == 1:
        _, inverse = torch.unique(keys, return_inverse=True)
    else:
        _, inverse = torch.unique(keys, dim=0, return_inverse=True)
    count = int(inverse.max()) + 1 if inverse.numel() else 0
    numbers = torch.arange(inverse.numel(), device=inverse.device)
    size = inverse.numel()
    places = torch.full((count,), size, device=inverse.device).scatter_reduce_(
        0, inverse, numbers, "amin"
    )
    order = torch.argsort(places)
    position = torch.empty_like(order)
    position[order] = torch.arange(count, device=order.device)
    return places[order], position[inverse]


def _unique(x: Any, axis: int, dtype: Any, with_counts: bool) -> list[torch.Tensor | Array]:
    strings = isinstance(x, np.ndarray)
    moved = x.swapaxes(0, axis) if axis else x
    places, inverse = _distinct_rows(moved.reshape(len(moved), prod(moved.shape[1:])))
    if strings:
        y = np.take(x, places.numpy(), axis)
    else:
        y = as_signed(x).index_select(axis, places.to(x.device)).view(x.dtype)
    result = [y, inverse.to(dtype)]
    if with_counts:
        result.append(_counted(inverse, places.numel(), dtype))
    return result


def _counted(places: Any, count: int, dtype: Any) -> torch.Tensor:
    """Return the count of each of the numbers below `count` in `places`."""
    return torch.bincount(places, minlength=count).to(dtype)


def unique_value(node: Node) -> list[Array] | None:
    x = node.value(0)
    if x is None or x.ndim != 1 or x.dtype == object or x.size > MAX_ELEMENTS:
        return None
    _, first, inverse = np.unique(x, return_index=True, return_inverse=True)
    order = np.argsort(first)
    position = np.empty_like(order)
    position[order] = np.arange(order.size)
    dtype = node.out_idx.as_numpy_dtype
    result = [x[first[order]], position[inverse].astype(dtype)]
    if len(node.outputs) == 3:
        result.append(np.bincount(position[inverse], minlength=order.size).astype(dtype))
    return result


def unique_kernel(node: Node) -> Callable[..., Any]:
    dtype, counts = torch_type(node.out_idx), len(node.outputs) == 3
    if len(node.inputs) == 1:

        def unique_of_vector(x: Any) -> list[torch.Tensor | Array] | tuple[torch.Tensor, ...]:
            if x.ndim != 1:
                raise ValueError("unique expects a 1D vector.")
            found = None if isinstance(x, np.ndarray) else native_kernels.distinct(x, dtype)
            if found is None:
                return _unique(x, 0, dtype, counts)
            return (*found, _counted(found[1], len(found[0]), dtype)) if counts else found

        return unique_of_vector

    def unique_along(x: Any, axis: Any) -> list[torch.Tensor | Array]:
        given = ints(axis)
        if axis.ndim != 1:
            raise ValueError("axis expects a 1D vector.")
        if len(given) > 1:
            raise ValueError("axis does not support input tensors larger than 1 elements")
        if not given and x.ndim != 1:
            raise ValueError("unique expects a 1D vector.")
        chosen = given[0] if given else 0
        if not -x.ndim <= chosen < x.ndim:
            raise ValueError(f"axis has to be between [0, {x.ndim})")
        return _unique(x, chosen % x.ndim, dtype, counts)

    return unique_along


def _vector_samples() -> Samples:
    yield Sample(np.array([3, 1, 3, 2], np.int64))
    yield Sample(np.array([2.0, 2.0, -1.0], np.float32), grad=False)
    yield Sample(np.array([b"b", b"a", b"b"], object), out_idx=dtypes.int64)
    yield Bad(np.zeros((2, 2), np.int32), match="rank 1|1D vector")


def _axis_samples() -> Samples:
    x = np.array([[1, 2], [3, 4], [1, 2]], np.int32)
    yield Sample(x, np.array([0]), fixed=(1,))
    yield Sample(x, np.array([1]), fixed=(1,))


for _card in (unique_op, unique_with_counts_op, unique_v2_op, unique_with_counts_v2_op):
    _card.shape(unique_shape)
    _card.kernel(unique_kernel)
    _card.samples(_axis_samples if _card.name.endswith("V2") else _vector_samples)
    if not _card.name.endswith("V2"):
        _card.value(unique_value)


@export("unique")
def unique(x: Any, out_idx: Any = dtypes.int32, name: str | None = None) -> Any:
    """Return the distinct elements of a vector, in the order of their first occurrence.

    Args:
      x: a vector.
      out_idx: the type of the indices.
      name: of the operation.

    Returns:
      A named tuple: the elements `y`, and `idx` with `x = y[idx]`.
    """
    return unique_op(x, out_idx=out_idx, name=name)


@export("unique_with_counts")
def unique_with_counts(x: Any, out_idx: Any = dtypes.int32, name: str | None = None) -> Any:
    """Return the results of `unique`, and `count`: the number of occurrences of each element."""
    return unique_with_counts_op(x, out_idx=out_idx, name=name)


# ---- ListDiff

list_diff_op = op("ListDiff(x: T, y: T) -> (out: T, idx: out_idx)\n" + _TYPES, devices="host")


@list_diff_op.shape
def list_diff_shape(node: Node) -> OutputDims:
    if not node.planning:  # the kernel has words of its own
        dims_lib.with_rank(node.dims(0), 1)
        dims_lib.with_rank(node.dims(1), 1)
    return [(None,), (None,)]


@list_diff_op.value
def list_diff_value(node: Node) -> list[Array] | None:
    x, y = node.value(0), node.value(1)
    if x is None or y is None or x.dtype == object or x.size > MAX_ELEMENTS:
        return None
    kept = np.flatnonzero(~np.isin(x, y))
    return [x[kept], kept.astype(node.out_idx.as_numpy_dtype)]


@list_diff_op.kernel
def list_diff_kernel(node: Node) -> Kernel:
    dtype = torch_type(node.out_idx)

    def difference(x: Any, y: Any) -> tuple[torch.Tensor | Array, torch.Tensor]:
        for name, value in (("x", x), ("y", y)):
            if value.ndim != 1:
                raise ValueError(f"{name} should be a 1D vector.")
        found = None if isinstance(x, np.ndarray) else native_kernels.unlike(x, y, dtype)
        if found is not None:
            return found
        known = set(y.tolist())
        kept = [index for index, item in enumerate(x.tolist()) if item not in known]
        chosen = torch.tensor(kept, dtype=torch.int64)
        if isinstance(x, np.ndarray):
            return x[chosen.numpy()], chosen.to(dtype)
        out = as_signed(x).index_select(0, chosen).view(x.dtype)
        return out, chosen.to(dtype)

    return difference


@list_diff_op.samples
def list_diff_samples() -> Samples:
    yield Sample(np.array([1, 2, 3, 1]), np.array([1, 5]))
    yield Sample(np.array([b"a", b"b"], object), np.array([b"a"], object))
    yield Bad(np.zeros((2, 2)), np.zeros(2), match="rank 1|1D vector")


def listdiff(x: Any, y: Any, out_idx: Any = None, name: str | None = None) -> Any:
    """Return the older name of `setdiff1d`."""
    return list_diff_op(x, y, out_idx=out_idx, name=name)


@export("setdiff1d")
def setdiff1d(x: Any, y: Any, index_dtype: Any = dtypes.int32, name: str | None = None) -> Any:
    """Return the elements of `x` that are not in `y`, in their order and as often as they occur.

    Args:
      x, y: vectors of one type.
      index_dtype: the type of the indices.
      name: of the operation.

    Returns:
      A named tuple: the elements `out`, and `idx` with `out = x[idx]`.
    """
    return list_diff_op(x, y, out_idx=index_dtype, name=name)
