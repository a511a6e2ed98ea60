"""Sums, means and extremes of rows with the same segment number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph.dims import to_string
from stillflow.graph.dtypes import DType
from stillflow.graph.lazy import torch
from stillflow.ops.arrays.native_kernels import change_rows
from stillflow.ops.kernels import as_signed, torch_type, type_of
from stillflow.ops.math.kernels import NUMPY_TYPES, invalid, through_numpy
from stillflow.ops.memory_limits import require_room
from stillflow.ops.sparse import native_kernels

# f(data, ids, rows): combines `data[i]` into row `ids[i]` of a tensor with that many rows.
Combine = Callable[[Any, Any, int], Any]


def scatter_sum(data: Any, ids: Any, rows: int) -> torch.Tensor:
    """Return sums of the rows that have the same id."""
    found = native_kernels.add_rows(data, ids, rows)
    if found is not None:
        return found
    out = torch.zeros((rows, *data.shape[1:]), dtype=data.dtype, device=data.device)
    return out.index_add_(0, ids, data)


def _by_numpy(update: Any, start: Any, dtype: DType) -> Combine:
    def combine(data: Any, ids: Any, rows: int) -> torch.Tensor:
        def on_arrays(values: np.ndarray, numbers: np.ndarray) -> np.ndarray:
            out = np.full((rows, *values.shape[1:]), start, values.dtype)
            update.at(out, numbers, values)
            return out

        return through_numpy(on_arrays, dtype)(data, ids)

    return combine


def _by_scatter(reduce: str, start: Any) -> Combine:
    how = {"prod": "mul", "amin": "min", "amax": "max"}[reduce]

    def combine(data: Any, ids: Any, rows: int) -> torch.Tensor:
        shape = (rows, *data.shape[1:])
        out = torch.full(shape, start, dtype=data.dtype, device=data.device)
        if out.numel() and data.numel() and change_rows(
            out.view(rows, -1), ids, data.reshape(len(data), -1), how
        ):  # fmt: skip
            return out
        index = ids.long().reshape(-1, *[1] * (data.dim() - 1)).expand(data.shape)
        return out.scatter_reduce_(0, index, data, reduce)

    return combine


def sums(dtype: DType) -> Combine:
    """Return the combination by sums; rows without data are 0."""
    return _by_numpy(np.add, 0, dtype) if dtype in NUMPY_TYPES else scatter_sum


def products(dtype: DType) -> Combine:
    """Return the combination by products; rows without data are 1."""
    return _by_numpy(np.multiply, 1, dtype) if dtype in NUMPY_TYPES else _by_scatter("prod", 1)


def extremes(dtype: DType, largest: bool, infinite: bool = False) -> Combine:
    """Return the combination by maximum or minimum; rows without data are the type's other extreme.

    That extreme is infinity if `infinite` and the type has it.
    """
    start = dtype.min if largest else dtype.max
    start = float(start) if dtype.is_floating else int(start)
    if infinite and dtype.is_floating:
        start = -np.inf if largest else np.inf
    if dtype in NUMPY_TYPES:
        return _by_numpy(np.maximum if largest else np.minimum, start, dtype)
    reduce = "amax" if largest else "amin"
    found = _by_scatter(reduce, start)
    return _with_nan(found, reduce) if dtype.is_floating else found


def _with_nan(found: Combine, reduce: str) -> Combine:
    """TF compares row by row: what follows a NaN takes its place, only the last one stays."""
    worst = -np.inf if reduce == "amax" else np.inf
    rest = _by_scatter(reduce, worst)

    def combine(data: Any, ids: Any, rows: int) -> torch.Tensor:
        out = found(data, ids, rows)
        if not torch.any(out.isnan()):
            return out
        places = _as_column(torch.arange(len(data), device=data.device), data).expand(data.shape)
        latest = _by_scatter("amax", -1)
        last_nan = latest(torch.where(data.isnan(), places, -1), ids, rows)
        last = latest(places, ids, rows)
        after = rest(torch.where(places > last_nan[ids.long()], data, worst), ids, rows)
        return torch.where(last_nan < 0, out, torch.where(last > last_nan, after, torch.nan))

    return combine


def sorted_extremes(dtype: DType, largest: bool) -> Combine:
    """Return the combination by maximum or minimum of sorted segments; rows without data are 0.

    Where there are several rows, TF passes over those that are NaN.
    """
    if not dtype.is_floating:
        return zero_where_empty(extremes(dtype, largest))
    worst = -np.inf if largest else np.inf
    found = zero_where_empty(_by_scatter("amax" if largest else "amin", worst))

    def combine(data: Any, ids: Any, rows: int) -> torch.Tensor:
        out = found(data, ids, rows)
        if not torch.any(out.isnan()):
            return out
        is_alone = _as_column((_counts(ids, rows) == 1)[ids.long()], data)
        return found(torch.where(data.isnan() & ~is_alone, worst, data), ids, rows)

    return combine


def _counts(ids: Any, rows: int) -> torch.Tensor:
    return torch.bincount(ids.long(), minlength=rows)


def _as_column(counts: Any, data: Any) -> torch.Tensor:
    return counts.reshape(-1, *[1] * (data.dim() - 1))


def means(dtype: DType) -> Combine:
    """Return the combination by means; rows without data are 0."""
    total = sums(dtype)

    def combine(data: Any, ids: Any, rows: int) -> torch.Tensor:
        counts = _as_column(_counts(ids, rows).clamp_(min=1), data)
        summed = total(data, ids, rows)
        if dtype in NUMPY_TYPES:
            return through_numpy(lambda s, n: s // n.astype(s.dtype), dtype)(summed, counts)
        if dtype.is_integer:
            return torch.div(summed, counts.to(summed.dtype), rounding_mode="trunc")
        return summed / counts.to(summed.dtype)

    return combine


def zero_where_empty(combine: Combine) -> Combine:
    """Return the same combination, but with 0 in rows without data."""

    def combined(data: Any, ids: Any, rows: int) -> torch.Tensor:
        out = combine(data, ids, rows)
        empty = _counts(ids, rows) == 0
        signed = as_signed(out)  # torch 2.11 has no such kernel for unsigned integers
        return signed.masked_fill(_as_column(empty, out), 0).view(out.dtype)

    return combined


# ---- sorted segments


def number_of(ids: Any) -> int:
    """Return the number of segments of sorted ids.

    InvalidArgumentError for more than their type counts, which for TF are less than 0.
    """
    count = int(ids[-1]) + 1
    if count > torch.iinfo(ids.dtype).max:
        raise invalid("segment ids must be >= 0")
    return count


def check_sorted(ids: Any, rows: int | None = None) -> int:
    """Return the number of segments of sorted ids (or `rows`, which must be enough).

    InvalidArgumentError if ids are not sorted, or negative.
    """
    if ids.numel() == 0:
        return rows or 0
    last = int(ids[-1]) + 1
    if rows is None:
        rows = number_of(ids)
    elif rows < last <= torch.iinfo(ids.dtype).max:
        raise invalid("segment ids must be < num_segments")
    if rows <= 0:
        raise invalid("segment ids must be >= 0")
    if ids[0] < 0 or last > rows or torch.any(ids[1:] < ids[:-1]):
        _check_sorted(ids.tolist(), rows)
    return rows


def _check_sorted(ids: list[int], rows: int) -> None:
    """Raise TF's error for the first unsorted segment."""
    for current, following in zip(ids, [*ids[1:], None]):
        if following == current:
            continue
        if following is not None and following < current:
            raise invalid("segment ids are not increasing")
        if not 0 <= current < rows:
            raise invalid(
                f"Segment id {current} out of range [0, {rows}), possibly because 'segment_ids' "
                "input is not sorted."
            )


def sorted_segments(combine: Combine) -> Callable[[Any, Any], Any]:
    """Return the kernel over data and sorted ids."""

    def run(data: Any, ids: Any) -> torch.Tensor:
        if ids.dim() != 1:
            raise invalid("segment_ids should be a vector.")
        if ids.shape[0] != data.shape[0]:
            raise invalid("segment_ids should be the same size as dimension 0 of input.")
        rows = check_sorted(ids)
        require_room((rows, *data.shape[1:]), type_of(data))
        return combine(data, ids.to(data.device), rows)

    return run


# ---- segments in any order


def unsorted_segments(combine: Combine) -> Callable[[Any, Any, Any], Any]:
    """Return the kernel over data, ids (a prefix of its shape) and the number of segments."""

    def run(data: Any, ids: Any, count: Any) -> torch.Tensor:
        if data.shape[: ids.dim()] != ids.shape:
            raise invalid(
                f"data.shape = {to_string(tuple(data.shape))} does not start with "
                f"segment_ids.shape = {to_string(tuple(ids.shape))}"
            )
        rows = int(count)
        if rows < 0:
            raise invalid(f"Input num_segments == {rows} must not be negative.")
        suffix = data.shape[ids.dim() :]
        flat = ids.reshape(-1)
        require_room((rows, *suffix), type_of(data))
        data = data.reshape(-1, *suffix) if ids.dim() != 1 else data
        if combine is scatter_sum:
            found = native_kernels.add_rows(data, flat, rows)
            if found is not None:
                return found
        if (
            not flat.is_cpu
        ):  # rows with ids that are none go into one that is dropped; nothing waits
            none = (flat < 0) | (flat >= rows)
            return combine(data, flat.masked_fill(none, rows), rows + 1)[:rows]
        if flat.numel():
            low, high = torch.aminmax(flat)
            if high >= rows:
                _refuse(ids, rows)
            if low < 0:  # rows with negative ids go into one that is dropped
                return combine(data, flat.masked_fill(flat < 0, rows), rows + 1)[:rows]
        return combine(data, flat, rows)

    return run


def _refuse(ids: Any, rows: int) -> None:
    position = torch.nonzero(ids >= rows)[0].tolist()
    where = "[" + ",".join(str(i) for i in position) + "]" if position else ""
    raise invalid(f"segment_ids{where} = {int(ids[tuple(position)])} is out of range [0, {rows})")


# ---- sorted segments of rows picked from a table


def _check_picked(indices: Any, ids: Any) -> None:
    if indices.dim() != 1:
        raise invalid("indices should be a vector.")
    if ids.dim() != 1:
        raise invalid("segment_ids should be a vector.")
    if indices.shape != ids.shape:
        raise invalid("segment_ids and indices should have same size.")


def _check_indices(indices: Any, size: int) -> None:
    if indices.numel() == 0:
        return
    wrong = (indices < 0) | (indices >= size)
    if torch.any(wrong):
        at = int(torch.nonzero(wrong)[0])
        raise invalid(f"Bad: indices[{at}] == {int(indices[at])} out of range [0, {size})")


def picked_segments(mode: str, dtype: DType) -> Callable[..., Any]:
    """Return the kernel over a table, row indices, sorted ids and perhaps the number of segments.

    `mode` is "sum", "mean" or "sqrtn", the sum over the square root of the number of rows.
    """

    def run(table: Any, indices: Any, ids: Any, count: Any = None) -> torch.Tensor:
        _check_picked(indices, ids)
        rows = None if count is None else int(count)
        if rows is not None and rows < 0:
            raise invalid("segment ids must be >= 0")
        if ids.numel():
            segments = number_of(ids) if rows is None else rows
            require_room((max(segments, 0), *table.shape[1:]), dtype)
            found = native_kernels.reduce_picked(table, indices, ids, mode, segments)
            if found is not None:
                return found
        rows = check_sorted(ids, rows)
        _check_indices(indices, table.shape[0])
        indices, ids = indices.to(table.device), ids.to(table.device)
        if dtype.is_floating and table.dim() == 2 and table.numel():
            return _bags(table, indices, ids, rows, mode)
        summed = sums(dtype)(table[indices.long()], ids, rows)
        if mode == "sum":
            return summed
        return summed * _as_column(_weights(ids, rows, mode, summed.dtype), summed)

    return run


def _bags(table: Any, indices: Any, ids: Any, rows: int, mode: str) -> torch.Tensor:
    """Segments as bags of embeddings, which are summed without a copy of the rows."""
    numbers = torch.arange(rows, dtype=ids.dtype, device=ids.device)
    offsets = torch.searchsorted(ids, numbers)
    how = {"sum": 0, "sqrtn": 0, "mean": 1}[mode]
    result = torch.embedding_bag(table, indices.long(), offsets, False, how)[0]
    if mode == "sqrtn":
        result = result * _as_column(_weights(ids, rows, mode, table.dtype), result)
    return result


def _weights(ids: Any, rows: int, mode: str, dtype: Any) -> torch.Tensor:
    counts = _counts(ids, rows).clamp_(min=1).double()
    return (1 / (torch.sqrt(counts) if mode == "sqrtn" else counts)).to(dtype)


def picked_gradient(mode: str, dtype: DType) -> Callable[..., Any]:
    """Return the kernel that spreads gradients of segments over the rows of the table."""
    kind = torch_type(dtype)

    def run(grad: Any, indices: Any, ids: Any, size: Any) -> torch.Tensor:
        _check_picked(indices, ids)
        rows, segments = int(size), grad.shape[0]
        if ids.numel() and rows > 0:
            require_room((rows, *grad.shape[1:]), dtype)
            found = native_kernels.spread_picked(grad, indices, ids, mode, rows)
            if found is not None:
                return found
        if rows == 0 or ids.numel() == 0:
            return torch.zeros((rows, *grad.shape[1:]), dtype=kind, device=grad.device)
        if int(ids[-1]) >= segments:
            raise invalid("Invalid number of segments")
        for numbers, limit, what in ((ids, segments, "Segment id"), (indices, rows, "Index")):
            wrong = (numbers < 0) | (numbers >= limit)
            if torch.any(wrong):
                raise invalid(f"{what} {int(numbers[wrong][0])} out of range [0, {limit}).")
        indices, ids = indices.to(grad.device), ids.to(grad.device)
        weights = _weights(ids, segments, mode, kind)
        scaled = grad * _as_column(weights, grad)
        return scatter_sum(scaled[ids.long()], indices, rows)

    return run
