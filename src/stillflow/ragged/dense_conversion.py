"""Dense tensors from tensors that may be ragged, and back."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import as_shape
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.constants import constant
from stillflow.ops.math.cast import cast
from stillflow.ops.ragged.to_dense import ragged_tensor_to_tensor_op
from stillflow.ragged.conversion import is_ragged
from stillflow.ragged.segments import INDEX_TYPES
from stillflow.ragged.tensor import RaggedTensor


def from_tensor(
    tensor: Any,
    lengths: Any = None,
    padding: Any = None,
    ragged_rank: int = 1,
    row_splits_dtype: Any = dtypes.int64,
    name: str | None = None,
) -> Any:
    """`tensor` if it is ragged, else `RaggedTensor.from_tensor` of it."""
    if is_ragged(tensor):
        return tensor
    return RaggedTensor.from_tensor(
        tensor,
        lengths=lengths,
        padding=padding,
        ragged_rank=ragged_rank,
        row_splits_dtype=row_splits_dtype,
        name=name,
    )


def to_tensor(rt_input: Any, default_value: Any = None, name: str | None = None) -> Any:
    """Return the dense form of a ragged tensor; any other tensor itself."""
    return rt_input.to_tensor(default_value, name) if is_ragged(rt_input) else rt_input


def to_sparse(rt_input: Any, name: str | None = None) -> Any:
    """See `RaggedTensor.to_sparse`."""
    return rt_input.to_sparse(name)


def from_sparse(st_input: Any, name: str | None = None) -> RaggedTensor:
    """See `RaggedTensor.from_sparse`."""
    return RaggedTensor.from_sparse(st_input, name)


def ragged_to_dense(rt_input: Any, default_value: Any = None, shape: Any = None) -> Tensor:
    """Return the dense form of a ragged tensor, by a single operation.

    Rows are filled up with the default, or zero, to `shape`, or as wide as the longest row; longer
    ones are cut.
    """
    partitions = list(_partitions(rt_input))
    values = rt_input.flat_values
    default = zeros((), values.dtype) if default_value is None else default_value
    return ragged_tensor_to_tensor_op(
        _shape_tensor(shape, partitions[0][1].dtype),
        values,
        default,
        [tensor for _, tensor in partitions],
        row_partition_types=[kind for kind, _ in partitions],
    )


def _partitions(x: RaggedTensor) -> list[tuple[str, Tensor]]:
    """Return the available form of each ragged dimension's row partition."""
    outer, *inner = x._levels()
    rest = [
        ("ROW_SPLITS", level.row_splits) if level._cached_value_rowids is None
        else ("VALUE_ROWIDS", level.value_rowids())
        for level in inner
    ]  # fmt: skip
    if outer._cached_value_rowids is None:
        return [("ROW_SPLITS", outer.row_splits), *rest]
    return [("FIRST_DIM_SIZE", outer.nrows()), ("VALUE_ROWIDS", outer.value_rowids()), *rest]


def _shape_tensor(shape: Any, kind: Any) -> Tensor:
    if kind not in INDEX_TYPES:
        raise ValueError(f"Expected int64 or int32 for dtype: got {kind}")
    if isinstance(shape, Tensor):
        return shape if shape.dtype in INDEX_TYPES else cast(shape, kind)
    given = as_shape(shape)
    if not given:
        return constant(-1, dtype=kind)
    return constant([-1 if size is None else size for size in given.as_list()], dtype=kind)
