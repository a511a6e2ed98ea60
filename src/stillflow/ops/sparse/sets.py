"""Sets in the last dimension of tensors: `tf.sets`."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from stillflow import native
from stillflow.graph import dims, dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.sparse_tensor import SparseTensor, convert_to_tensor_or_sparse_tensor
from stillflow.ops.memory_limits import require_room
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.ops.sparse.rows import check_rows

_ELEMENTS = {
    dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64,
    dtypes.uint8, dtypes.uint16, dtypes.string,
}  # fmt: skip
_T = "T: {int8, int16, int32, int64, uint8, uint16, string}"
_RESULT = "-> (result_indices: int64, result_values: T, result_shape: int64)"
_ATTRS = f"""
    set_operation: string
    validate_indices: bool = true
    {_T}
"""
set_size_op = op(
    f"""
    SetSize(set_indices: int64, set_values: T, set_shape: int64) -> size: int32
    validate_indices: bool = true
    {_T}
    """,
    differentiable=False,
    devices="host",
)
dense_to_dense_set_operation_op = op(
    f"DenseToDenseSetOperation(set1: T, set2: T) {_RESULT}{_ATTRS}",
    differentiable=False,
    devices="host",
)
dense_to_sparse_set_operation_op = op(
    "DenseToSparseSetOperation(set1: T, set2_indices: int64, set2_values: T, set2_shape: int64) "
    + _RESULT
    + _ATTRS,
    differentiable=False,
    devices="host",
)
sparse_to_sparse_set_operation_op = op(
    "SparseToSparseSetOperation(set1_indices: int64, set1_values: T, set1_shape: int64, "
    "set2_indices: int64, set2_values: T, set2_shape: int64) " + _RESULT + _ATTRS,
    differentiable=False,
    devices="host",
)

# Of two ascending arrays without repetitions; in the order of native/sets.c.
_COMBINE: dict[bytes, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    b"a-b": lambda a, b: np.setdiff1d(a, b, assume_unique=True),
    b"b-a": lambda a, b: np.setdiff1d(b, a, assume_unique=True),
    b"intersection": lambda a, b: np.intersect1d(a, b, assume_unique=True),
    b"union": np.union1d,
}


class _Sets(NamedTuple):
    """Sets in one array, along the dimensions `groups`.

    `places` has the set of each of `items`, some of which may stand there more than once.
    """

    groups: tuple[int, ...]
    places: np.ndarray
    items: np.ndarray


def _array(value: Any) -> np.ndarray:
    return value if isinstance(value, np.ndarray) else value.cpu().numpy()


def _require_groups(shape: tuple[int, ...]) -> tuple[int, ...]:
    if len(shape) < 2:
        raise ValueError(f"Invalid input_shape {list(shape)}: a set operation needs rank >= 2")
    return shape[:-1]


def _dense_sets(value: Any) -> _Sets:
    array = _array(value)
    groups = _require_groups(array.shape)
    return _Sets(groups, np.arange(prod(groups)).repeat(array.shape[-1]), array.reshape(-1))


def _sparse_sets(indices: Any, values: Any, shape: Any) -> _Sets:
    rows, items = _array(indices), _array(values)
    size = tuple(shape.tolist())
    groups = _require_groups(size)
    if rows.size:
        check_rows(indices, size)
    if len(rows) != len(items):
        raise ValueError(f"{len(rows)} rows of indices do not go with {len(items)} values")
    strides = np.cumprod([1, *groups[:0:-1]], dtype=np.int64)[::-1]
    return _Sets(groups, rows[:, :-1] @ strides, items)


def _as_sparse(groups: tuple[int, ...], places: np.ndarray, items: Any) -> tuple[Any, Any, Any]:
    """Return a sparse tensor of sets, whose elements stand in ascending order."""
    starts = np.searchsorted(places, places)  # of the set of each element
    positions = np.arange(len(places)) - starts
    columns = [*np.unravel_index(places, groups), positions] if len(places) else []
    indices = np.stack(columns, 1) if columns else np.empty((0, len(groups) + 1), np.int64)
    longest = int(positions.max()) + 1 if len(places) else 0
    values = items if items.dtype == object else torch.from_numpy(items)
    return torch.from_numpy(indices), values, torch.tensor([*groups, longest])


def _combined(node: Node, split: int) -> Callable[..., Any]:
    """Read a set of sets from the inputs before and after `split`, and combines them."""
    name = node.set_operation.lower()
    combine, how = _COMBINE.get(name), [*_COMBINE, name].index(name)
    if combine is None:
        raise ValueError(f"Invalid set_operation {node.set_operation.decode()}.")

    def run(*inputs: Any) -> tuple[torch.Tensor, torch.Tensor | Array, torch.Tensor]:
        first, second = (
            _dense_sets(*part) if len(part) == 1 else _sparse_sets(*part)
            for part in (inputs[:split], inputs[split:])
        )
        if first.groups != second.groups:
            texts = [",".join(map(str, sets.groups)) for sets in (first, second)]
            raise ValueError(f"Mismatched shapes [{texts[0]}] vs [{texts[1]}]")
        found = _in_loop(how, first, second)
        if found is None:
            # A number for each element: of its set, and of its place among all that there are.
            items = np.concatenate([first.items, second.items])
            kinds, ranks = np.unique(items, return_inverse=True)
            size, at = max(1, len(kinds)), len(first.items)
            codes = np.concatenate([first.places, second.places]) * size + ranks
            places, ranks = np.divmod(combine(np.unique(codes[:at]), np.unique(codes[at:])), size)
            found = places, kinds[ranks]
        return _as_sparse(first.groups, *found)

    return run


def _in_loop(how: int, first: _Sets, second: _Sets) -> tuple[Any, Any] | None:
    """Return the places and items of combined sets of integers; None without a native loop."""
    library, kind = native.library(), first.items.dtype
    if library is None or kind.hasobject:
        return None
    given = [np.ascontiguousarray(each, np.int64) for each in (*first[1:], *second[1:])]
    places, items = np.empty((2, len(given[1]) + len(given[3])), np.int64)
    at = [each.ctypes.data for each in (*given, places, items)]
    found = library.combine_sets(how, *at[:2], len(given[1]), *at[2:4], len(given[3]), *at[4:])
    if found < 0:
        raise MemoryError("combine_sets: no memory for a set")
    return places[:found], items[:found].astype(kind)


def _result_shape(rank: int | None) -> list[Any]:
    return [(None, rank), (None,), (rank,)]


@set_size_op.shape
def set_size_shape(node: Node) -> OutputDims:
    return None


@dense_to_dense_set_operation_op.shape
def dense_to_dense_shape(node: Node) -> OutputDims:
    first, second = (dims.with_rank_at_least(node.dims(i), 2) for i in range(2))
    known = first if first is not None else second
    if first is not None and second is not None:
        dims.merge(first[:-1], dims.with_rank(second, len(first))[:-1])
    return _result_shape(None if known is None else len(known))


@dense_to_sparse_set_operation_op.shape
def dense_to_sparse_shape(node: Node) -> OutputDims:
    dense = dims.with_rank_at_least(node.dims(0), 2)
    if dense is not None:
        return _result_shape(len(dense))
    shape = node.dims(3)
    return _result_shape(shape[0] if shape else None)


@sparse_to_sparse_set_operation_op.shape
def sparse_to_sparse_shape(node: Node) -> OutputDims:
    ranks = [shape[0] for shape in (node.dims(2), node.dims(5)) if shape]
    return _result_shape(next((rank for rank in ranks if rank is not None), None))


@set_size_op.kernel
def set_size_kernel(node: Node) -> Kernel:
    def run(indices: Any, values: Any, shape: Any) -> torch.Tensor:
        groups, places, items = _sparse_sets(indices, values, shape)
        require_room(groups, dtypes.int32)
        kinds, ranks = np.unique(items, return_inverse=True)
        different = np.unique(places * max(1, len(kinds)) + ranks) // max(1, len(kinds))
        sizes = np.bincount(different, minlength=prod(groups)).astype(np.int32)
        return torch.from_numpy(sizes.reshape(groups))

    return run


@dense_to_dense_set_operation_op.kernel
def dense_to_dense_kernel(node: Node) -> Kernel:
    return _combined(node, split=1)


@dense_to_sparse_set_operation_op.kernel
def dense_to_sparse_kernel(node: Node) -> Kernel:
    return _combined(node, split=1)


@sparse_to_sparse_set_operation_op.kernel
def sparse_to_sparse_kernel(node: Node) -> Kernel:
    return _combined(node, split=3)


@dense_to_dense_set_operation_op.samples
def dense_to_dense_samples() -> Samples:
    first, second = np.array([[1, 2, 2], [3, 4, 5]]), np.array([[2, 9], [5, 3]])
    for which in ("a-b", "b-a", "intersection", "union"):
        yield Sample(first, second, set_operation=which)
    yield Bad(first, np.array([[1]]), set_operation="union", match="(?i)dimension|mismatched")


def _operands(a: Any, b: Any) -> tuple[Any, Any, bool]:
    """Both as tensors, the dense one first; whether they changed places."""
    first = convert_to_tensor_or_sparse_tensor(a, name="a")
    kind = first.dtype.base_dtype
    if kind not in _ELEMENTS:
        raise TypeError(f"'a' invalid dtype {first.dtype}.")
    second = convert_to_tensor_or_sparse_tensor(b, name="b")
    if second.dtype.base_dtype != kind:
        raise TypeError(f"Types don't match, {first.dtype} vs {second.dtype}.")
    swapped = isinstance(first, SparseTensor) > isinstance(second, SparseTensor)
    return (second, first, True) if swapped else (first, second, False)


def _parts(value: Any) -> tuple[Any, ...]:
    if isinstance(value, SparseTensor):
        return value.indices, value.values, value.dense_shape
    return (value,)


def _operate(a: Any, b: Any, which: str, validate_indices: bool) -> SparseTensor:
    sparse = isinstance(a, SparseTensor), isinstance(b, SparseTensor)
    card = {
        (False, False): dense_to_dense_set_operation_op,
        (False, True): dense_to_sparse_set_operation_op,
        (True, True): sparse_to_sparse_set_operation_op,
    }[sparse]
    result = card(*_parts(a), *_parts(b), set_operation=which, validate_indices=validate_indices)
    return SparseTensor(*result)


@export("sets.set_size", "sets.size")
def set_size(a: Any, validate_indices: bool = True) -> Tensor:
    """Return the number of distinct elements of each set.

    Args:
      a: sparse, of rank >= 2; its last dimension holds the sets.
      validate_indices: whether the order of the indices is checked.

    Returns:
      int32, of the shape of `a` without its last dimension.

    Raises:
      TypeError: if `a` is not sparse or of a type without sets.
    """
    sets = convert_to_tensor_or_sparse_tensor(a, name="a")
    if not isinstance(sets, SparseTensor):
        raise TypeError(f"Expected `SparseTensor`, got {sets}.")
    kind = sets.values.dtype
    if kind.base_dtype in _ELEMENTS:
        result: Tensor = set_size_op(*_parts(sets), validate_indices=validate_indices)
        return result
    raise TypeError(f"Invalid dtype {kind}.")


@export("sets.set_intersection", "sets.intersection")
def set_intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """Return the elements that are in both sets, for each set in the last dimension.

    Args:
      a, b: dense or sparse, equal in all but the last dimension.
      validate_indices: whether the order of sparse indices is checked.

    Returns:
      A sparse tensor with the elements in ascending order.
    """
    a, b, _ = _operands(a, b)
    return _operate(a, b, "intersection", validate_indices)


@export("sets.set_difference", "sets.difference")
def set_difference(
    a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True
) -> SparseTensor:
    """Return the elements of one set that are not in the other.

    Args:
      a, b: dense or sparse, equal in all but the last dimension.
      aminusb: whether `b` is taken from `a`; else `a` from `b`.
      validate_indices: whether the order of sparse indices is checked.

    Returns:
      A sparse tensor with the elements in ascending order.
    """
    a, b, swapped = _operands(a, b)
    return _operate(a, b, "a-b" if aminusb != swapped else "b-a", validate_indices)


@export("sets.set_union", "sets.union")
def set_union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """Return the elements that are in either set, for each set in the last dimension.

    Args:
      a, b: dense or sparse, equal in all but the last dimension.
      validate_indices: whether the order of sparse indices is checked.

    Returns:
      A sparse tensor with the elements in ascending order.
    """
    a, b, _ = _operands(a, b)
    return _operate(a, b, "union", validate_indices)
