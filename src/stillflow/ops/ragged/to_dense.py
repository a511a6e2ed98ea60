"""Ragged tensors padded to dense ones: RaggedTensorToTensor."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from stillflow.errors import internal
from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.kernels import is_object, moving
from stillflow.ops.memory_limits import require_room
from stillflow.ops.ragged.rows import row_numbers
from stillflow.ops.samples import Bad, Sample, Samples

ragged_tensor_to_tensor_op = op(
    """
    RaggedTensorToTensor(shape: Tshape, values: T, default_value: T,
                         row_partition_tensors: num_row_partition_tensors*Tindex) -> result: T
    T: type
    Tindex: {int64, int32}
    Tshape: {int64, int32}
    num_row_partition_tensors: int >= 1
    row_partition_types: list(string)
""",
    devices="host",
)

_FIRST, _ROWIDS, _SPLITS = b"FIRST_DIM_SIZE", b"VALUE_ROWIDS", b"ROW_SPLITS"
_KNOWN = (_FIRST, _ROWIDS, b"ROW_LENGTHS", _SPLITS, b"ROW_LIMITS", b"ROW_STARTS")


def _kinds(node: Node) -> list[bytes]:
    """Return the kind of each row partition, checked."""
    kinds = list(node.row_partition_types)
    for kind in kinds:
        if kind not in _KNOWN:
            raise ValueError(f"Unknown string for partition info type: {kind.decode()}")
    for kind in kinds:
        if kind not in (_FIRST, _ROWIDS, _SPLITS):
            raise ValueError(f"Unsupported partition type: {kind.decode()}")
    if not kinds:
        raise ValueError("Partition info types should not be empty")
    if _FIRST in kinds[1:]:
        raise ValueError("FIRST_DIM_SIZE must be first")
    if kinds[0] == _FIRST and kinds[1:2] != [_ROWIDS]:
        raise ValueError("FIRST_DIM_SIZE must be followed by VALUE_ROWIDS")
    if kinds[0] == _ROWIDS:
        raise ValueError("VALUE_ROWIDS cannot be first")
    if node.num_row_partition_tensors != len(kinds):
        raise ValueError(
            f"Number of row partition tensors ({node.num_row_partition_tensors}) does not equal "
            f"the number of row partition types({len(kinds)})."
        )
    return kinds


@ragged_tensor_to_tensor_op.shape
def ragged_tensor_to_tensor_shape(node: Node) -> OutputDims:
    kinds = _kinds(node)
    if node.dims(0) == () and not node.planning:
        _check_scalar_shape(node.value(0), node.Tshape.name)
    given = None if node.dims(0) in ((), None) else node.shape_value(0)
    for place, kind in enumerate(kinds, 3):
        partition = node.dims(place)
        if partition is not None and len(partition) != (kind != _FIRST):
            wanted = "a scalar" if kind == _FIRST else "a vector"
            subject = "FIRST_DIM_SIZE" if kind == _FIRST else "Row partition"
            raise ValueError(f"{subject} must be {wanted}.")
    values = node.dims(1)
    _check_default(node.dims(2), values)
    return _combined(len(kinds) - (kinds[0] == _FIRST), given, values)


def _check_scalar_shape(value: Any, kind: str) -> None:
    """Raise an error for a scalar shape other than -1; TF's message does not name the op."""
    if value is None:
        raise dims_lib.InvalidSize(
            "Received a shape scalar with unknown static value.  A static value of '-1' is "
            "required to represent an unknown shape."
        )
    if value != -1:
        raise dims_lib.InvalidSize(
            "Received an invalid shape scalar with a static value that is not '-1': "
            f"Tensor<type: {kind} shape: [] values: {value}>"
        )


def _check_default(default: Any, values: Any) -> None:
    if default is None or values is None:
        return
    if len(default) > len(values):
        raise ValueError(
            "default_value_shape must have no more dimensions than the value. "
            f"default_value_shape: {_proto_text(default)} default_value_shape.dim_size(): "
            f"{len(default)} value_shape: {_proto_text(values)} value_shape.dim_size(): "
            f"{len(values)}"
        )
    for place, (mine, its) in enumerate(zip(default, values[1:])):
        if None not in (mine, its) and mine not in (1, its):
            raise ValueError(
                f"default_value_shape and value_shape do not match on dimension {place}"
            )


def _proto_text(size: Any) -> str:
    return "".join(f"dim {{\n  size: {-1 if n is None else n}\n}}\n" for n in size)


def _combined(rank: int, given: Any, values: Any) -> tuple[int | None, ...] | None:
    """Return the shape of the result from the one asked for and that of the values."""
    if values is None:
        return given
    if given is None:
        given = (None,) * (rank + len(values))
    if len(given) != rank + len(values):
        raise ValueError(
            f"Value shape ({_proto_text(values)}), ragged_rank({rank}) and "
            f"shape({_proto_text(given)}) do not have a consistent number of dimensions"
        )
    inner = values[1:]
    asked = given[len(given) - len(inner) :]
    if any(None not in (x, y) and x != y for x, y in zip(inner, asked)):
        raise ValueError("Value and shape dimension are inconsistent.")
    merged = [y if x is None else x for x, y in zip(inner, asked)]
    return (*given[: rank + 1], *merged)


@ragged_tensor_to_tensor_op.kernel
def ragged_tensor_to_tensor_kernel(node: Node) -> Kernel:
    kinds, dtype = _kinds(node), node.T
    has_size = kinds[0] == _FIRST
    spread: Any = _spread_strings if is_object(node, 1) else moving(node.T, _spread, 2)

    def run(shape: Any, values: Any, default: Any, *partitions: Any) -> torch.Tensor | Array:
        if not partitions[0].numel():
            raise ValueError("Invalid first partition input. Tensor requires at least one element.")
        rows = int(partitions[0]) if has_size else len(partitions[0]) - 1
        if rows < 0:
            raise ValueError(f"FIRST_DIM_SIZE must not be negative, but is {rows}")
        levels = [
            _rows_and_columns(partition, kind)
            for partition, kind in zip(partitions[has_size:], kinds[has_size:])
        ]
        if not shape.ndim and int(shape) != -1:
            raise ValueError(
                "The only valid scalar shape tensor is the fully unknown shape specified as -1."
            )
        asked = [None if n < 0 else n for n in shape.tolist()] if shape.ndim else None
        size = list(_combined(len(levels), asked, tuple(values.shape)) or ())
        size[0] = rows if size[0] is None else size[0]
        for axis, (_, columns) in enumerate(levels, 1):
            if size[axis] is None:
                size[axis] = int(columns.max()) + 1 if len(columns) else 0
        sizes = [each for each in size if each is not None]  # all of them
        require_room(sizes, dtype)
        _check_default(tuple(default.shape), tuple(values.shape))
        place = _places(rows, levels, sizes)
        if len(place) != len(values):
            raise internal("Values and indices must be equal")
        return spread(values, default, place, sizes)

    return run


def _rows_and_columns(partition: Any, kind: bytes) -> tuple[Any, Any]:
    """Return the row and the column of every value below a partition."""
    if kind == _SPLITS:
        if len(partition) and (partition[0] != 0 or bool((partition.diff() < 0).any())):
            raise ValueError("Invalid row split size.")
        rows = row_numbers(partition)
        return rows, torch.arange(len(rows), device=rows.device) - partition[rows]
    if not len(partition):
        return partition, partition
    is_first = torch.ones_like(partition, dtype=torch.bool)
    is_first[1:] = partition[1:] != partition[:-1]
    numbers = torch.arange(len(partition), device=partition.device)
    first = torch.where(is_first, numbers, 0).cummax(0).values
    return partition, numbers - first


def _places(rows: int, levels: Sequence[tuple[Any, Any]], size: Sequence[int]) -> torch.Tensor:
    """Return each value's place in the result, in rows of inner values; -1 for none."""
    device = levels[0][0].device
    place = torch.arange(rows, device=device)
    place = torch.where(place < size[0], place, -1)
    for (row, column), width in zip(levels, size[1:]):
        if len(row) and (int(row.max()) >= len(place) or int(row.min()) < 0):
            raise ValueError(
                f"Got next_value_rowid={int(row.max())} which is not less than {len(place)}"
            )
        parent = place[row]
        place = torch.where((parent < 0) | (column >= width), -1, parent * width + column)
    return place


def _spread(values: Any, default: Any, place: Any, size: Sequence[int]) -> torch.Tensor:
    result = default.expand(size).clone(memory_format=torch.contiguous_format)
    kept = place >= 0
    inner = prod(values.shape[1:])
    if inner and len(values):
        flat = result.view(-1, inner)
        flat[place[kept]] = values.reshape(-1, inner)[kept]
    return result


def _spread_strings(values: Any, default: Any, place: Any, size: Sequence[int]) -> Array:
    result = np.broadcast_to(default, size).copy()
    kept = (place >= 0).numpy()
    result.reshape(-1, *values.shape[1:])[place.numpy()[kept]] = values[kept]
    return result


@ragged_tensor_to_tensor_op.samples
def ragged_tensor_to_tensor_samples() -> Samples:
    splits, rowids = np.array([0, 2, 2, 3]), np.array([0, 1, 1, 2])
    values = np.array([1.5, 2.0, 3.0, 4.0], np.float32)
    zero, any_shape = np.float32(0), np.array(-1)
    two: dict[str, Any] = {"row_partition_types": ["ROW_SPLITS", "VALUE_ROWIDS"]}
    one: dict[str, Any] = {"row_partition_types": ["ROW_SPLITS"]}
    yield Sample(any_shape, values, zero, [splits, rowids], grad=False, fixed=(0,), **two)
    yield Sample(np.array([2, 2, -1, 2]), values.reshape(4, 1).repeat(2, 1), zero,
                 [splits, rowids], grad=False, fixed=(0,), **two)  # fmt: skip
    yield Sample(
        any_shape, np.array([b"a", b"b", b"c"], object), np.array(b"-", object), [splits],
        fixed=(0,), **one,
    )  # fmt: skip
    yield Bad(any_shape + 3, values, zero, [splits], match="that is not '-1'", **one)
    yield Bad(any_shape, values, zero, [splits], row_partition_types=["VALUE_ROWIDS"],
              match="VALUE_ROWIDS cannot be first")  # fmt: skip
