"""Kernels of fused and simplified steps around an embedding lookup.

Each takes the kernels that it stands for (`plain`, or that of one operation). They compute where
the native loops cannot, and raise the errors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from stillflow.graph.lazy import torch
from stillflow.ops.kernels import index_tensor
from stillflow.ops.small_steps import named, total
from stillflow.ops.sparse import native_kernels

Kernel = Callable[..., Any]
_PLAIN = 2**31 - 1  # elements of a sparse tensor whose sizes no cast changes


# ---- fused steps


def elements_unlike(ignored: int, plain: Kernel) -> Kernel:
    """Return the kernel of `x[x != ignored]` and where these stand."""
    return total(named(
        lambda values: native_kernels.elements_unlike(values, ignored) or plain(values),
        "elements_unlike", ignored,
    ))  # fmt: skip


def prepared_ids(rows: int | None, default: int, plain: Kernel) -> Kernel:
    """Return the kernel of the different ids, each row's segment, and the rows without ids.

    `rows` is their number, None if only the run knows it.
    """

    def prepare(indices: Any, ids: Any, size: Any) -> list[Any] | tuple[Any, Any, Any, Any]:
        found = None
        if size.shape == indices.shape[1:] and size.numel():
            count = int(size[0]) if rows is None else rows
            found = native_kernels.lookups(indices, ids, count, default)
        return found or plain(indices, ids, size)

    return named(prepare, "prepared_ids", default)


def sums_of_rows(plain: Kernel) -> Kernel:
    """Return the kernel of the sums of rows, some of them repeated, and of their numbers."""
    return named(
        lambda rows, values: native_kernels.add_up(rows, values) or plain(rows, values),
        "sums_of_rows",
    )


def rows_looked_up(mode: str, is_handle: bool, plain: Kernel) -> Kernel:
    """Return the kernel of the rows of a table, reduced by `mode` to one for each example."""

    def look_up(table: Any, names: Any, places: Any, segments: Any, flags: Any) -> torch.Tensor:
        rows = table.read() if is_handle else table
        count = flags.shape[0]
        found = native_kernels.reduce_picked(rows, places, segments, mode, count, flags, names)
        return plain(table, names, places, segments, flags)[0] if found is None else found

    kernel = named(look_up, "rows_looked_up", native_kernels.MODES[mode])
    kernel.is_ordered = False  # though it may read a variable
    return kernel


def spread_gradients(mode: str, plain: Kernel) -> Kernel:
    """Return the kernel of the gradients of a table's rows, from those of examples with an id."""

    def spread(
        flags: Any, like: Any, grad: Any, places: Any, segments: Any, size: Any
    ) -> torch.Tensor:
        found = None
        if like.shape == grad.shape and flags.shape == grad.shape[:1]:
            found = native_kernels.spread_picked(grad, places, segments, mode, int(size), flags)
        if found is not None:
            return found
        return plain(flags, like, grad, places, segments, size)[0]

    return named(spread, "gradients_spread", native_kernels.MODES[mode])


# ---- simplified operations


def as_many_rows(reshape: Kernel) -> Kernel:
    """Return the kernel of a Reshape to `size[0]` rows, as many as there mostly are."""

    def unless_so_many(x: Any, size: Any) -> Any:
        count = int(size[0])
        return x if x.shape[0] == count else reshape(x, torch.tensor([count, *x.shape[1:]]))

    return named(unless_so_many, "as_many_rows")


def as_long_as(rest: tuple[int, ...], reshape: Kernel) -> Kernel:
    """Return the kernel of a Reshape to `[length of vector, *rest]`, which it mostly has."""

    def unless_there(x: Any, vector: Any) -> Any:
        count = vector.shape[0]
        return x if x.shape[0] == count else reshape(x, torch.tensor([count, *rest]))

    return named(unless_there, "as_long_as")


def same_matrix(kind: torch.dtype, takes_width: bool, reshape: Kernel) -> Kernel:
    """Return the kernel of a SparseReshape of a matrix to its own shape.

    `kind` is the type that the height is cast to; the width is given, or follows from the height.
    """

    def unless_odd(indices: Any, size: Any) -> Any:
        height, width = size.tolist()
        if height > 0 and width > 0 and height * width <= _PLAIN and indices.shape[1:] == (2,):
            return indices, size
        end = size[1:] if takes_width else torch.tensor([-1])
        return reshape(indices, size, torch.cat([size[:1].to(kind).long(), end]))

    return named(unless_odd, "same_matrix")


def rows_in_order(segment_sum: Kernel) -> Kernel:
    """Return the kernel of the sum over segments of one row each, in order: these rows."""

    def unless_wrong(rows: Any, vector: Any) -> Any:
        count = vector.shape[0]
        if rows.ndim and rows.shape[0] == count:
            return rows
        return segment_sum(rows, torch.arange(count), torch.tensor(count))

    return named(unless_wrong, "rows_in_order")


def length(dtype: Any) -> Kernel:
    """Return the kernel of the number of rows, a scalar of a type."""
    return named(lambda rows: index_tensor(rows.shape[0], dtype), "length")


def within(least: int, most: int) -> Kernel:
    """Return the kernel of a bool scalar: whether all integers are in a range."""

    def is_within(x: Any) -> torch.Tensor:
        found = native_kernels.are_within(x, least, most)
        if found is None:
            # As Python's numbers: torch would take the bounds for numbers of 32 bits.
            found = not x.numel() or (int(x.amin()) >= least and int(x.amax()) <= most)
        return _truths()[bool(found)].clone()  # a computation takes twice as long

    return total(named(is_within, "within", least, most))


@cache
def _truths() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor(False), torch.tensor(True)
