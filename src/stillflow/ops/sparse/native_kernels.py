"""Loops in C over sparse tensors and rows picked from tables.

Each function returns None without a native loop for its arguments, or if they are invalid: the
caller has another implementation, with the same result, which raises the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from stillflow import native
from stillflow.graph.lazy import torch
from stillflow.ops import native_calls
from stillflow.ops.native_calls import int64s

MODES = {"sum": 0, "mean": 1, "sqrtn": 2}
_FEW = 1 << 14  # numbers that are copied in less time than it takes to go another way
_LARGEST_SUM = 1 << 18  # numbers: beyond that several threads are faster
_MOST_ROWS = 1 << 24  # of more, whether there is room has to be asked first


def _library(*tensors: Any) -> Any:
    """Return the loops, if they are there and reach all tensors."""
    return native.library() if native_calls.reach(*tensors) else None


def _are_integers(*tensors: Any) -> bool:
    return all(tensor.dtype in (torch.int64, torch.int32) for tensor in tensors)


def distinct(numbers: Any, place_type: Any) -> tuple[Any, Any] | None:
    """Return the distinct integers in order, and each one's index there, of `place_type`."""
    if not _are_integers(numbers) or (library := _library(numbers)) is None:
        return None
    found, places = torch.empty_like(numbers), torch.empty_like(numbers, dtype=place_type)
    count = library.find_distinct(
        numbers.data_ptr(), numbers.itemsize, numbers.shape[0], found.data_ptr(), places.data_ptr(),
        places.itemsize)
    return (found[:count], places) if count >= 0 else None


def distinct_rows(rows: Any) -> tuple[Any, Any] | None:
    """Return where each different row [count, columns] stands first, and each row's number."""
    if rows.is_floating_point():
        rows = rows + 0  # no zero with a sign
        if rows.isnan().any():
            return None
    if not rows.numel() or (library := _library(rows)) is None:
        return None
    firsts, places = (torch.empty(len(rows), dtype=torch.int64) for _ in range(2))
    count = library.find_distinct_rows(
        rows.data_ptr(), len(rows), rows.shape[1] * rows.itemsize, firsts.data_ptr(),
        places.data_ptr())
    return (firsts[:count], places) if count >= 0 else None


def unlike(numbers: Any, others: Any, place_type: Any) -> tuple[Any, Any] | None:
    """Return those integers of a vector that are not in another one, and where each stands.

    The vectors are int32 or int64, of one type; the second result is of `place_type`.
    """
    if not _are_integers(numbers) or (library := _library(numbers, others)) is None:
        return None
    found, places = torch.empty_like(numbers), torch.empty_like(numbers, dtype=place_type)
    count = library.find_unlike(
        numbers.data_ptr(), numbers.itemsize, numbers.shape[0], others.data_ptr(), others.shape[0],
        found.data_ptr(), places.data_ptr(), places.itemsize)
    return (found[:count], places[:count]) if count >= 0 else None


def take_tuples(params: Any, indices: Any) -> torch.Tensor | None:
    """Return elements or slices at the index tuples in the last dimension, of any type."""
    if params.numel() <= _FEW:
        params = params.contiguous()  # a part of a larger tensor, such as a step's of a sequence
    if not _are_integers(indices) or (library := _library(params)) is None:
        return None
    indices = indices.contiguous()  # those of torch.nonzero are not
    depth, shape = indices.shape[-1], params.shape
    inner = shape[depth:]
    result = torch.empty((*indices.shape[:-1], *inner), dtype=params.dtype)
    wrong = library.take_tuples(
        params.data_ptr(), prod(inner) * params.itemsize, int64s(shape[:depth]), depth,
        indices.data_ptr(), indices.itemsize, prod(indices.shape[:-1]), result.data_ptr())
    return None if wrong else result


def add_rows(data: Any, ids: Any, rows: int) -> Any:
    """Return sums, [rows, ...], of float32 rows with the same id; negative ids are left out."""
    if data.dtype is not torch.float32 or not _are_integers(ids):
        return None
    if (library := _library(data, ids)) is None:
        return None
    inner = data.shape[1:]
    result = torch.empty((rows, *inner))
    wrong = library.add_rows(
        data.data_ptr(), ids.shape[0], prod(inner), ids.data_ptr(), ids.itemsize, result.data_ptr(),
        rows)
    return None if wrong else result


def rows_unless(flags: Any, data: Any) -> torch.Tensor:
    """Return a copy of rows [rows, ...], with zeros instead of those with true flags [rows]."""
    if flags.shape != data.shape[:1] or (library := _library(flags)) is None or not data.is_cpu:
        return None
    data, stride = _rows_apart(data)
    result = torch.empty(data.shape, dtype=data.dtype)
    size = data.itemsize
    library.copy_rows_unless(
        data.data_ptr(), stride * size, flags.shape[0], prod(data.shape[1:]) * size,
        flags.data_ptr(), result.data_ptr())
    return result


def add_to_rows(table: Any, ids: Any, data: Any, factor: float) -> bool:
    """Add float32 rows [number, columns], times 1 or -1, to some of a table in order and in place.

    `ids` are int32 or int64 [number]. Returns False where no loop did it.
    """
    if not (table.dtype is data.dtype is torch.float32) or not _are_integers(ids):
        return False
    if data.numel() > _LARGEST_SUM or (library := _library(table, ids, data)) is None:
        return False
    wrong = library.add_to_rows(
        table.data_ptr(), *table.shape, ids.data_ptr(), ids.itemsize, ids.shape[0],
        data.data_ptr(), factor)
    return not wrong


def add_up(rows: Any, data: Any) -> tuple[Any, Any] | None:
    """Return the distinct row numbers in order of occurrence, and the sum of each row's data.

    Rows are int32 or int64 [number], the data float32 [number, ...].
    """
    if data.dtype is not torch.float32 or data.shape[:1] != rows.shape or _library(data) is None:
        return None
    found = distinct(rows, torch.int32)
    if found is None:
        return None
    different, places = found
    if different.shape[0] == rows.shape[0]:
        return different, data.clone()
    total = add_rows(data, places, different.shape[0])
    return None if total is None else (different, total)


def reduce_picked(
    table: Any, indices: Any, ids: Any, mode: str, segments: int, left_out: Any = None,
    names: Any = None,
) -> torch.Tensor | None:  # fmt: skip
    """Reduce rows picked from a table to one for each segment, by "sum", "mean" or "sqrtn".

    The table is float32 [rows, ...]; `indices` and ascending `ids`, int32 or int64 [number], are
    rows of it and their segments. There are `segments`, after the last id only if `left_out`, bool
    [segments], says where zeros are wanted. With `names`, `indices` are places of these, which are
    the rows.
    """
    others = [each for each in (left_out, names) if each is not None]
    if table.dtype is not torch.float32 or not _are_integers(indices, ids):
        return None
    if (library := _library(table, indices, ids, *others)) is None or segments < 0:
        return None
    inner = table.shape[1:]
    named = (None, 0, 0) if names is None else (names.data_ptr(), names.itemsize, names.shape[0])
    result = torch.empty((segments, *inner))
    wrong = library.reduce_picked(
        table.data_ptr(), table.shape[0], prod(inner), indices.data_ptr(), indices.itemsize, *named,
        ids.data_ptr(), ids.itemsize, ids.shape[0], MODES[mode],
        None if left_out is None else left_out.data_ptr(), result.data_ptr(), segments)
    return None if wrong else result


def spread_picked(
    grad: Any, indices: Any, ids: Any, mode: str, rows: int, left_out: Any = None
) -> torch.Tensor | None:
    """Return the gradient of `reduce_picked` for a table of `rows`, from float32 [segments, ...].

    `left_out`, bool [segments], says where `grad` is zeros.
    """
    if grad.dtype is not torch.float32 or rows < 0 or not _are_integers(indices, ids):
        return None
    grad, stride = _rows_apart(grad)
    others = [ids] if left_out is None else [ids, left_out]
    if (library := _library(indices, *others)) is None or not grad.is_cpu:
        return None
    inner = grad.shape[1:]
    result = torch.empty((rows, *inner))
    wrong = library.spread_picked(
        grad.data_ptr(), stride, grad.shape[0], prod(inner), indices.data_ptr(), indices.itemsize,
        ids.data_ptr(), ids.itemsize, ids.shape[0], MODES[mode],
        None if left_out is None else left_out.data_ptr(), result.data_ptr(), rows)
    return None if wrong else result


def _rows_apart(data: Any) -> tuple[Any, int]:
    """Return data with contiguous rows, and the distance of two rows in numbers."""
    if data.ndim == 2 and (data.stride(1) == 1 or data.shape[1] == 1):
        return data, data.stride(0)
    return data.contiguous(), prod(data.shape[1:])


def are_within(numbers: Any, least: int, most: int) -> bool | None:
    """Return True if no int32 or int64 is below `least` or above `most`; None without loops."""
    if not _are_integers(numbers) or (library := _library(numbers)) is None:
        return None
    found = library.are_within(
        numbers.data_ptr(), numbers.itemsize, numbers.numel(), least, most)
    return bool(found)


def reshape_indices(
    indices: Any, shape: Sequence[int], new_shape: Sequence[int]
) -> torch.Tensor | None:
    """Return the indices, int64 [number, dimensions], of the same elements in another shape."""
    if (library := _library()) is None or not indices.is_cpu:
        return None
    indices = indices.contiguous()
    result = torch.empty((indices.shape[0], len(new_shape)), dtype=torch.int64)
    library.reshape_indices(
        indices.data_ptr(), indices.shape[0], int64s(shape), len(shape), int64s(new_shape),
        len(new_shape), result.data_ptr())
    return result


def merged(first: Any, second: Any) -> torch.Tensor | None:
    """Return the places of two ascending int64 vectors among all distinct numbers of both.

    Those of the first come first, in one int64 vector; None if one does not ascend, too.
    """
    if not first.dtype is second.dtype is torch.int64:
        return None
    if (library := _library(first, second)) is None:
        return None
    places = torch.empty(first.shape[0] + second.shape[0], dtype=torch.int64)
    count = library.merge_numbers(
        first.data_ptr(), first.shape[0], second.data_ptr(), second.shape[0], places.data_ptr())
    return None if count < 0 else places


def are_in_order(indices: Any, shape: Sequence[int]) -> bool:
    """Return True if a native loop found int64 indices inside a shape, in order and distinct."""
    if indices.dtype is not torch.int64 or not indices.is_cpu:
        return False
    if (library := _library()) is None or indices.shape[1:] != (len(shape),):
        return False
    indices = indices.contiguous()
    return bool(library.are_in_order(
        indices.data_ptr(), indices.shape[0], len(shape), int64s(shape)))


def fill_empty_rows(
    indices: Any, values: Any, rows: int, default: Any
) -> tuple[Any, Any, Any, Any] | None:
    """Put a value into the empty rows of a sparse tensor that has at least one element.

    Returns the indices, by rows; the values; whether each row was empty; where each value went.
    """
    if not isinstance(values, torch.Tensor):
        return None
    if (library := _library(values, default)) is None:
        return None
    indices = indices.contiguous()
    number, rank = indices.shape
    ends, empty = torch.empty(rows, dtype=torch.int64), torch.empty(rows, dtype=torch.bool)
    more = library.find_empty_rows(
        indices.data_ptr(), number, rank, rows, ends.data_ptr(), empty.data_ptr())
    if more < 0:
        return None
    new_indices = torch.empty((number + more, rank), dtype=torch.int64)
    new_values = torch.empty(number + more, dtype=values.dtype)
    places = torch.empty(number, dtype=torch.int64)
    library.fill_empty_rows(
        indices.data_ptr(), values.data_ptr(), values.itemsize, number, rank, rows,
        default.data_ptr(), ends.data_ptr(), empty.data_ptr(), new_indices.data_ptr(),
        new_values.data_ptr(), places.data_ptr())
    return new_indices, new_values, empty, places


def elements_unlike(tensor: Any, ignored: int) -> tuple[Any, Any] | None:
    """Return the indices and values of the elements, int32 or int64, that differ from a number."""
    if not _are_integers(tensor) or (library := _library(tensor)) is None:
        return None
    rank = tensor.ndim
    indices = torch.empty((tensor.numel(), rank), dtype=torch.int64)
    values = torch.empty(tensor.numel(), dtype=tensor.dtype)
    found = library.find_elements(
        tensor.data_ptr(), tensor.itemsize, ignored, int64s(tensor.shape), rank,
        indices.data_ptr(), values.data_ptr())
    return indices[:found], values[:found]


def lookups(indices: Any, ids: Any, rows: int, default: int) -> tuple[Any, Any, Any, Any] | None:
    """Return the arguments of an embedding lookup of sparse ids, without the negative ones.

    `indices` are int64 [number, dimensions], the row first; `default` is the id of rows without
    any. Returns whether each row had no id; of all ids, by rows, int32, the row; the different ids;
    and, int32, which of these each id is.
    """
    fits = ids.dtype is torch.int64 and indices.shape[:1] == ids.shape and indices.ndim == 2
    if not (fits and indices.shape[1] and 0 <= rows <= _MOST_ROWS):
        return None
    if (library := _library(ids)) is None:
        return None
    indices = indices.contiguous()
    number = ids.shape[0]
    most = number + rows
    empty, places = torch.empty(rows, dtype=torch.bool), torch.empty(most, dtype=torch.int32)
    segments, different = torch.empty_like(places), torch.empty(most, dtype=torch.int64)
    room, counts = torch.empty(2 * most, dtype=torch.int64), int64s((0, 0))
    wrong = library.find_lookups(
        indices.data_ptr(), indices.shape[1], ids.data_ptr(), number, rows, default,
        empty.data_ptr(), segments.data_ptr(), different.data_ptr(), places.data_ptr(),
        room.data_ptr(), counts)
    if wrong:
        return None
    total, found = counts
    return empty, segments[:total], different[:found], places[:total]


# ---- products

# The product of a sparse matrix and a dense one by the loop in C.

def product(
    indices: Any, values: Any, rows: int, dense: Any, transposed: bool
) -> torch.Tensor | None:
    """Return the product, added up in the order of the values; None without a native loop.

    The same holds if an index is out of range: the caller names it. The sparse matrix has float32
    values at int64 [count, 2], and is transposed if so asked; `rows` are the result's.
    """
    if not native_calls.take(values) or dense.dtype is not torch.float32 or not dense.is_cpu:
        return None
    library: Any = native.library()
    indices, dense = indices.contiguous(), dense.contiguous()
    inner, columns = dense.shape
    result = torch.empty((rows, columns), dtype=torch.float32)
    if library.multiply_sparse(
        indices.data_ptr(), values.data_ptr(), len(values), transposed, dense.data_ptr(), inner,
        columns, result.data_ptr(), rows, torch.get_num_threads(),
    ):  # fmt: skip
        return None
    return result
