"""Rows of numbers in arithmetic progression: RaggedRange."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import native
from stillflow.graph import dims, dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.kernels import torch_type
from stillflow.ops.math.cast import cast
from stillflow.ops.memory_limits import require_room
from stillflow.ops.samples import Bad, Sample, Samples

ragged_range_op = op(
    """
    RaggedRange(starts: T, limits: T, deltas: T) -> (rt_nested_splits: Tsplits, rt_dense_values: T)
    T: {bfloat16, float, double, int32, int64} = int32
    Tsplits: {int32, int64} = int64
""",
    differentiable=False,
    devices="host",
)
_MOST_STEPS = 2**62
_TOO_MANY = f"Requires ((limit - start) / delta) <= {_MOST_STEPS}"
_KINDS = [np.dtype(kind) for kind in ("i4", "i8", "f4", "f8")]  # in the order of native/ranges.c
# From narrow to wide: values of several types are converted to the widest.
_WIDENING = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)


@ragged_range_op.shape
def ragged_range_shape(node: Node) -> OutputDims:
    given = [dims.with_rank_at_most(node.dims(place), 1) for place in range(3)]
    if node.planning and len({size for size in given if size and size[0] is not None}) > 1:
        raise ValueError("starts, limits, and deltas must have the same shape")
    rows = None
    for size in given:
        if size:
            rows = dims.merge_dim(size[0], rows)
    if all(size == () for size in given):
        rows = 1
    return [(dims.add(rows, 1),), (None,)]


@ragged_range_op.kernel
def ragged_range_kernel(node: Node) -> Kernel:
    kind, device, dtype = torch_type(node.Tsplits), node.device, node.T

    def run(*inputs: Any) -> tuple[torch.Tensor, torch.Tensor]:
        given = np.broadcast_arrays(*(np.atleast_1d(x.cpu()) for x in inputs))
        starts, limits, deltas = map(np.ascontiguousarray, given)
        if not deltas.all():
            raise ValueError("Requires delta != 0")
        splits = np.zeros(len(starts) + 1, np.int64)
        which, loops, at = _KINDS.index(starts.dtype), native.library(), splits.ctypes.data
        first, last, step = (x.ctypes.data for x in (starts, limits, deltas))
        if loops is None:
            np.cumsum(_lengths(starts, limits, deltas), out=splits[1:])
        elif loops.find_range_splits(which, first, last, step, len(starts), at):
            raise ValueError(_TOO_MANY)
        require_room((int(splits[-1]),), dtype)
        if loops is not None:
            values = np.empty(splits[-1], starts.dtype)
            loops.fill_ranges(which, first, step, len(starts), at, values.ctypes.data)
        elif starts.dtype.kind == "f":
            values = _added_up(starts, deltas, np.diff(splits))
        else:
            values = _counted(starts, deltas, np.diff(splits), splits[:-1])
        return torch.from_numpy(splits).to(device, kind), torch.from_numpy(values).to(device)

    return run


def _lengths(starts: np.ndarray, limits: np.ndarray, deltas: np.ndarray) -> np.ndarray:
    """Return the number of steps of each row."""
    away = np.where(deltas > 0, limits < starts, limits > starts)
    with np.errstate(invalid="ignore", over="ignore"):
        spans = np.abs(limits - starts.astype(np.float64))
        steps = spans / np.abs(deltas.astype(np.float64))
    if not (steps[~away] < _MOST_STEPS).all():
        raise ValueError(_TOO_MANY)
    if starts.dtype.kind == "f":
        steps = np.ceil(np.abs((limits - starts) / deltas)).astype(np.int64)
    else:
        kind = np.int64 if (spans < _MOST_STEPS).all() else object
        size = np.abs(deltas.astype(kind))
        steps = (np.abs(limits.astype(kind) - starts) + size - 1) // size
    return np.where(away, 0, steps).astype(np.int64)


def _counted(
    starts: np.ndarray, deltas: np.ndarray, lengths: np.ndarray, begins: np.ndarray
) -> np.ndarray:
    """Rows of integers; `begins` says where each row begins in the result."""
    places = np.arange(lengths.sum())
    steps = deltas[:1] if (deltas == deltas[:1]).all() else np.repeat(deltas, lengths)
    before = begins * deltas  # the places of a row minus its steps
    return (np.repeat(starts - before, lengths) + places * steps).astype(starts.dtype)


def _added_up(starts: np.ndarray, deltas: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Rows made by adding the step again and again, with the rounding errors of that."""
    rows = [starts[:0]]
    for start, delta, length in zip(starts, deltas, lengths):
        row = np.full(length, delta, starts.dtype)
        row[:1] = start
        rows.append(np.add.accumulate(row, dtype=starts.dtype))
    return np.concatenate(rows)


@ragged_range_op.samples
def ragged_range_samples() -> Samples:
    starts, limits = np.array([0, 5, 8], np.int32), np.array([3, 4, 12], np.int32)
    step = np.int32(2)
    yield Sample(starts, limits, step)
    yield Sample(limits, starts, -step)
    yield Sample(np.float32(0.5), np.float32(2.0), np.float32(0.3))
    yield Bad(starts, limits, step - 2, match="Requires delta != 0")
    yield Bad(starts, limits[:2], step, match="must be equal|must have the same shape")


def range_parts(
    starts: Any, limits: Any, deltas: Any, dtype: Any, splits_dtype: Any, name: str | None
) -> tuple[Tensor, Tensor]:
    """Return the splits and the values of rows of numbers; see `tf.ragged.range`."""
    given = {"starts": starts, "limits": limits, "deltas": deltas}
    with name_scope(name, "RaggedRange", [starts, limits, deltas]) as scope:
        tensors = [convert_to_tensor(x, dtype=dtype, name=key) for key, x in given.items()]
        if dtype is None:
            if any(tensor.dtype not in _WIDENING for tensor in tensors):
                raise AssertionError(f"no range of {[tensor.dtype.name for tensor in tensors]}")
            widest = max((tensor.dtype for tensor in tensors), key=_WIDENING.index)
            tensors = [cast(tensor, widest) for tensor in tensors]
        splits, values = ragged_range_op(*tensors, Tsplits=splits_dtype, name=scope)
    return splits, values


def range_values(starts: Any, limits: Any, splits_dtype: Any = dtypes.int64) -> Tensor:
    """Return the numbers from each start to its limit, one row after the other, without splits."""
    return range_parts(starts, limits, 1, None, splits_dtype, None)[1]
