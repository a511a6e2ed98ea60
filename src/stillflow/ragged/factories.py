"""Ragged tensors from nested lists, and ones to be fed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops import constants
from stillflow.ragged.conversion import is_ragged
from stillflow.ragged.tensor import RaggedTensor
from stillflow.ragged.value import RaggedTensorValue


@export("ragged.constant")
def constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = dtypes.int64,
) -> Any:
    """Return a ragged tensor with the elements of nested lists.

    Args:
      pylist: (nested) lists, tuples or arrays; all scalars in them equally deep.
      dtype: of the elements, by default as `tf.constant` takes them.
      ragged_rank: how many dimensions are ragged, by default all but the outermost and those
        of `inner_shape`.
      inner_shape: the shape of a value, by default that of a scalar, or what the lists have below
        `ragged_rank`.
      name: of the scope.
      row_splits_dtype: of the splits, `tf.int32` or `tf.int64`.

    Returns:
      A `RaggedTensor`, or a `Tensor` if no dimension is ragged.

    Raises:
      TypeError: if `pylist` is ragged already.
      ValueError: if scalars are not equally deep, or the rank or shape asked for does not fit.
    """

    def in_rows(values: Any, splits: list[int]) -> RaggedTensor:
        row_splits = constants.constant_v2(splits, dtype=row_splits_dtype)
        return RaggedTensor.from_row_splits(values, row_splits, validate=False)

    with name_scope(name, "RaggedConstant"):
        return _from_lists(in_rows, constants.constant_v2, pylist, dtype, ragged_rank, inner_shape)


@export("ragged.constant_value")
def constant_value(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    row_splits_dtype: Any = "int64",
) -> Any:
    """Return the `RaggedTensorValue` (or array) with the elements of nested lists.

    See `constant`.
    """
    if isinstance(dtype, dtypes.DType):
        dtype = dtype.as_numpy_dtype
    kind = dtypes.as_dtype(row_splits_dtype).as_numpy_dtype

    def in_rows(values: Any, splits: list[int]) -> RaggedTensorValue:
        return RaggedTensorValue(values, np.array(splits, dtype=kind))

    def flat(items: Any, dtype: Any, shape: Any, name: str | None = None) -> np.ndarray:
        array = np.array(items, dtype=dtype)
        return array if shape is None else array.reshape(shape)

    return _from_lists(in_rows, flat, pylist, dtype, ragged_rank, inner_shape)


@export("ragged.placeholder")
def placeholder(
    dtype: Any, ragged_rank: int, value_shape: Any = None, name: str | None = None
) -> Tensor | RaggedTensor:
    """Return a ragged tensor to be fed.

    Args:
      dtype: of the values.
      ragged_rank: how many dimensions are ragged; a `Tensor` is returned if it is 0.
      value_shape: the shape of one of the innermost values.
      name: of the scope.
    """
    if not ragged_rank:
        return constants.placeholder(dtype, value_shape, name)
    with name_scope(name, "RaggedPlaceholder", []):
        shape = TensorShape([None]).concatenate(value_shape)
        result: Tensor | RaggedTensor = constants.placeholder(dtype, shape, "flat_values")
        for level in range(ragged_rank - 1, -1, -1):
            splits = constants.placeholder(dtypes.int64, [None], f"row_splits_{level}")
            result = RaggedTensor(result, splits, internal=True)
        return result


# ---- Nested lists


def _from_lists(
    in_rows: Callable[..., Any],
    flat: Callable[..., Any],
    pylist: Any,
    dtype: Any,
    ragged_rank: int | None,
    inner_shape: Any,
) -> Any:
    """Convert lists to splits and values, and build a result of these by two functions."""
    if is_ragged(pylist):
        raise TypeError("pylist may not be a RaggedTensor or RaggedTensorValue.")
    if not _is_nested(pylist):
        _check_scalar(pylist, ragged_rank, inner_shape)
        return flat(pylist, dtype, ())
    if ragged_rank is not None and ragged_rank < 0:
        raise ValueError(f"Invalid ragged_rank={ragged_rank!r}: must be nonnegative")
    try:
        scalar_depth, depth = depths(pylist)
    except RecursionError:
        raise ValueError("pylist is nested too deeply") from None
    _check_depths(pylist, scalar_depth, depth, ragged_rank, inner_shape)
    if ragged_rank == 0 or (ragged_rank is None and depth - len(inner_shape or ()) < 2):
        return flat(pylist, dtype, inner_shape)
    if ragged_rank is None:
        inner_shape = () if inner_shape is None else inner_shape
        known = depth if scalar_depth is None else scalar_depth - len(inner_shape)
        ragged_rank = max(1, known - 1)
    elif inner_shape is None:
        inner_shape = default_inner_shape(pylist, ragged_rank)
    nested_splits = []
    items = pylist
    for _ in range(ragged_rank):
        nested_splits.append([0, *np.cumsum([len(row) for row in items], dtype=int).tolist()])
        items = [item for row in items for item in row]
    result = flat(items, dtype=dtype, shape=(len(items), *inner_shape), name="values")
    for splits in reversed(nested_splits):
        result = in_rows(result, splits)
    return result


def _is_nested(item: Any) -> bool:
    return isinstance(item, (list, tuple)) or np.ndim(item) != 0


def _check_scalar(pylist: Any, ragged_rank: int | None, inner_shape: Any) -> None:
    if ragged_rank is not None and ragged_rank != 0:
        raise ValueError(f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank}")
    if inner_shape is not None and inner_shape:
        raise ValueError(
            f"Invalid pylist={pylist!r}: incompatible with dim(inner_shape)={len(inner_shape)}"
        )


def _check_depths(
    pylist: Any, scalar_depth: int | None, depth: int, ragged_rank: int | None, inner_shape: Any
) -> None:
    if scalar_depth is not None and depth > scalar_depth:
        raise ValueError(
            f"Invalid pylist={pylist!r}: empty list nesting is greater than scalar value nesting"
        )
    if inner_shape is None or ragged_rank is None:
        return
    expected = ragged_rank + len(inner_shape) + 1
    if expected < depth if scalar_depth is None else expected != scalar_depth:
        raise ValueError(
            f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank} and "
            f"dim(inner_shape)={len(inner_shape)}"
        )


def depths(pylist: Any) -> tuple[int | None, int]:
    """Return the depth of scalars in nested lists (None without any), and the maximum depth."""
    if not _is_nested(pylist):
        return 0, 0
    scalar_depth: int | None = None
    depth = 1
    for child in pylist:
        child_scalar_depth, child_depth = depths(child)
        if child_scalar_depth is not None:
            if scalar_depth not in (None, child_scalar_depth + 1):
                raise ValueError("all scalar values must have the same nesting depth")
            scalar_depth = child_scalar_depth + 1
        depth = max(depth, child_depth + 1)
    return scalar_depth, depth


def default_inner_shape(pylist: Any, ragged_rank: int) -> tuple[int, ...]:
    """Return the shape that all values below `ragged_rank` have in nested lists."""
    items = pylist
    for level in range(ragged_rank):
        if not all(map(_is_nested, items)):
            raise ValueError(
                f"pylist has scalar values depth {level + 1}, but ragged_rank={ragged_rank} "
                f"requires scalar value depth greater than {ragged_rank}"
            )
        items = [item for row in items for item in row]
    shape = _first_shape(items)
    _check_shape(items, shape)
    return shape[1:]


def _first_shape(item: Any) -> tuple[int, ...]:
    if not _is_nested(item):
        return ()
    return (len(item), *_first_shape(item[0])) if len(item) else (0,)


def _check_shape(item: Any, shape: tuple[int, ...]) -> None:
    if _is_nested(item) != bool(shape) or (shape and shape[0] != len(item)):
        raise ValueError("inner values have inconsistent shape")
    for child in item if shape else ():
        _check_shape(child, shape[1:])
