"""Features of a batch of examples as tensors: dense ones, padded ones, sparse ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from stillflow import errors
from stillflow.graph.constant_value import Dims
from stillflow.graph.dtypes import DType, cpp_name
from stillflow.graph.lazy import torch
from stillflow.ops.parsing import wire

# Says where an example or feature went wrong, before what went wrong.
Where = Callable[[int], str]
_VALUES = {"string": "bytes", "float": "float", "int64": "int64"}


class Sparse(NamedTuple):
    """A feature with any number of values."""

    key: str
    dtype: DType


class Dense(NamedTuple):
    """A feature whose values have a shape; None as its first size is for any number of them."""

    key: str
    dtype: DType
    shape: Dims

    @property
    def is_variable(self) -> bool:
        return bool(self.shape) and self.shape[0] is None  # type: ignore[index]

    @property
    def size(self) -> int:
        """How many values there are, in one row where the number of rows may vary."""
        assert self.shape is not None
        sizes = self.shape[1:] if self.is_variable else self.shape
        return math.prod(size or 0 for size in sizes)


def refuse(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, message)


def decoded(raws: Sequence[bytes], feature: Sparse | Dense, where: Where) -> wire.Decoded:
    """The values of a feature in all examples.

    Raises:
      InvalidArgumentError: they are of another type, or no values at all.
    """
    kind = cpp_name(feature.dtype)
    try:
        return wire.decode(raws, kind)
    except wire.Damaged as error:
        raise refuse(f"{where(error.index)}Can't parse serialized Example.") from None
    except wire.WrongKind as error:
        before = f"{where(error.index)}Data types don't match. "
        if isinstance(feature, Sparse):
            raise refuse(f"{before}Expected type: {kind}, Actual type: {error.actual}") from None
        if feature.is_variable:
            raise refuse(f"{before}Expected type: {kind}") from None
        raise refuse(f"{before}Data type: {error.actual} but expected type: {kind}") from None


def as_tensor(values: Any, shape: tuple[int, ...]) -> Any:
    """Decoded values as a run-time value of that shape."""
    if isinstance(values, list):
        made = np.empty(len(values), dtype=object)
        made[:] = values
        return made.reshape(shape)
    if not values.flags.writeable:
        values = values.copy()  # it is a view of bytes that are no tensor's memory
    return torch.from_numpy(values.reshape(shape))


def sparse_columns(found: Sequence[wire.Decoded]) -> list[list[Any]]:
    """Indices, values and shapes of sparse matrices of one row for each example."""
    if not found:
        return [[], [], []]
    counts = np.stack([feature.counts for feature in found])
    flat, totals = counts.ravel(), counts.sum(1)
    indices = np.empty((int(totals.sum()), 2), np.int64)
    indices[:, 0] = np.repeat(np.tile(np.arange(counts.shape[1]), len(found)), flat)
    indices[:, 1] = np.arange(len(indices)) - np.repeat(np.cumsum(flat) - flat, flat)
    shapes = np.full((len(found), 2), counts.shape[1])
    shapes[:, 1] = counts.max(1, initial=0)
    values = [as_tensor(feature.values, (len(feature.values),)) for feature in found]
    parts = torch.from_numpy(indices).split(totals.tolist())
    return [list(parts), values, list(torch.from_numpy(shapes).unbind())]


def sparse_column(found: wire.Decoded) -> tuple[Any, Any, Any]:
    """Indices, values and shape of a sparse matrix of one row for each example."""
    (indices,), (values,), (shape,) = sparse_columns([found])
    return indices, values, shape


def dense_column(
    raws: Sequence[bytes], feature: Dense, found: wire.Decoded, default: Any,
    where: Where, missing: Callable[[int], str],
) -> Any:  # fmt: skip
    """Values [batch, *shape]; the default stands in for a feature that is not there.

    Raises:
      InvalidArgumentError: there are too many or too few values, or none and no default.
    """
    size, shape = feature.size, feature.shape
    assert shape is not None
    sizes: tuple[int, ...] = (len(raws), *shape)  # type: ignore[arg-type]
    if (found.counts == size).all() and (size or all(raws)):
        return as_tensor(found.values, sizes)
    present = np.fromiter(map(bool, raws), bool, len(raws))
    wrong = np.flatnonzero(present & (found.counts != size))
    if len(wrong):
        index = int(wrong[0])
        raise refuse(
            f"{where(index)}Number of {_VALUES[cpp_name(feature.dtype)]} values != expected.  "
            f"Values size: {found.counts[index]} but output shape: {shape_text(shape)}"
        )
    filler = default if isinstance(default, np.ndarray) else default.numpy()
    if (filler.size == 0 and size != 0) or (filler.size == 0 and not present.all()):
        raise refuse(missing(int(np.flatnonzero(~present)[0])))
    made = np.empty((len(raws), size), dtype=filler.dtype)
    made[~present] = filler.reshape(-1)
    made[present] = _as_array(found.values, filler.dtype).reshape(-1, size)
    return _wrapped(made.reshape(sizes))


def padded_column(feature: Dense, found: wire.Decoded, default: Any, where: Where) -> Any:
    """Values [batch, longest, *rest], filled up with the default.

    Raises:
      InvalidArgumentError: the values of an example do not make whole rows.
    """
    size, shape, counts = feature.size, feature.shape, found.counts
    assert shape is not None
    broken = np.flatnonzero(counts % size) if size else np.flatnonzero(counts)
    if len(broken):
        index = int(broken[0])
        raise refuse(
            f"{where(index)}Number of {_VALUES[cpp_name(feature.dtype)]} values is not a multiple "
            f"of stride length. Saw {counts[index]} values but output shape is: {shape_text(shape)}"
        )
    filler = default if isinstance(default, np.ndarray) else default.numpy()
    longest = int(counts.max()) if len(counts) else 0
    made = np.full((len(counts), longest), filler.reshape(-1)[0], dtype=filler.dtype)
    inside = np.arange(longest) < counts[:, None]
    made[inside] = _as_array(found.values, filler.dtype)
    rows = longest // size if size else 0
    return _wrapped(made.reshape(len(counts), rows, *shape[1:]))  # type: ignore[arg-type]


def _as_array(values: Any, dtype: Any) -> np.ndarray:
    if not isinstance(values, list):
        return values  # type: ignore[no-any-return]
    made = np.empty(len(values), dtype=dtype)
    made[:] = values
    return made


def _wrapped(array: np.ndarray) -> Any:
    return array if array.dtype == object else torch.from_numpy(array)


def shape_text(shape: Dims) -> str:
    """A shape in the words of kernels: [?,3]."""
    sizes = ["?" if size is None else str(size) for size in shape or ()]
    return f"[{','.join(sizes)}]"
