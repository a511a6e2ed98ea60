"""Features of a batch of examples as tensors: dense ones, padded ones, sparse ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from stillflow import errors, native
from stillflow.graph.arrays import Array
from stillflow.graph.dims import Dim, is_known, shape_text
from stillflow.graph.dtypes import DType, cpp_name
from stillflow.graph.lazy import torch
from stillflow.ops.io.parsing import wire
from stillflow.ops.io.parsing.scanning import running_total
from stillflow.util.texts import address_of

# Text about the place of an error: the example or feature, before the error.
Where = Callable[[int], str]
WhereOf = Callable[[Any, int], str]  # where a feature is one of several
_VALUES = {"string": "bytes", "float": "float", "int64": "int64"}


class Sparse(NamedTuple):
    """A feature with any number of values."""

    key: str
    dtype: DType


class Dense(NamedTuple):
    """A feature whose values have a shape; None as its first size is for any number of them."""

    key: str
    dtype: DType
    shape: tuple[Dim, ...]

    @property
    def is_variable(self) -> bool:
        return bool(self.shape) and self.shape[0] is None

    @property
    def size(self) -> int:
        """The number of values, of one row where the number of rows may vary."""
        sizes = self.shape[1:] if self.is_variable else self.shape
        return math.prod(size or 0 for size in sizes)

    @property
    def row_shape(self) -> tuple[int, ...]:
        """The shape of the values, of one row where the number of rows may vary."""
        sizes = self.shape[1:] if self.is_variable else self.shape
        assert is_known(sizes)
        return sizes


refuse = errors.invalid_argument


def decoded(raws: Sequence[bytes], feature: Sparse | Dense, where: Where) -> wire.Decoded:
    """Return the values of a feature in all examples; InvalidArgumentError for other types."""
    try:
        return wire.decode(raws, cpp_name(feature.dtype))
    except (wire.Damaged, wire.WrongKind) as error:
        raise refused(error, feature, where(error.index)) from None


def refused(
    error: wire.Damaged | wire.WrongKind, feature: Sparse | Dense, where: str
) -> errors.OpError:
    """Return the error for a feature that cannot be read."""
    if isinstance(error, wire.Damaged):
        return refuse(f"{where}Can't parse serialized Example.")
    before, kind = f"{where}Data types don't match. ", cpp_name(feature.dtype)
    if isinstance(feature, Sparse):
        return refuse(f"{before}Expected type: {kind}, Actual type: {error.actual}")
    return refuse(f"{before}Data type: {error.actual} but expected type: {kind}")


def as_block(found: wire.Decoded, raws: Sequence[bytes]) -> wire.Block:
    """Return one feature's values, and their bytes, in the form of several features."""
    present = np.fromiter(map(bool, raws), bool, len(raws))
    return wire.Block(found.values, found.counts[None], present[None])


def as_tensor(values: np.ndarray, shape: tuple[int, ...]) -> Any:
    """Return decoded values as a run-time value of a shape."""
    if values.dtype == object:
        return values.reshape(shape)
    if not values.flags.writeable:
        values = values.copy()  # it is a view of bytes that are no tensor's memory
    return torch.from_numpy(values.reshape(shape))


def sparse_vector(values: np.ndarray) -> tuple[Any, Any, Any]:
    """Return indices, values and shape of a sparse vector without missing values."""
    count = len(values)
    indices = torch.from_numpy(np.arange(count).reshape(count, 1))
    return indices, as_tensor(values, (count,)), torch.from_numpy(np.array([count]))


def sparse_columns(block: wire.Block) -> list[tuple[Any, Any, Any]]:
    """Return indices, values and shapes of sparse matrices with one row per example."""
    values, counts, _ = block
    indices = _indices(counts)
    shapes = np.full((len(counts), 2), counts.shape[1])
    shapes[:, 1] = counts.max(1, initial=0)
    sizes = counts.sum(1).tolist()
    parts = _split(indices, sizes), _split(values, sizes), torch.from_numpy(shapes).unbind()
    return list(zip(*parts, strict=True))


def _indices(counts: np.ndarray) -> np.ndarray:
    """Pairs of a row and a place in it, for so many values [matrices, rows]."""
    library = native.library()
    if library is not None:
        counts = np.ascontiguousarray(counts)
        indices = np.empty((int(counts.sum()), 2), np.int64)
        library.sparse_indices(address_of(counts), *counts.shape, address_of(indices))
        return indices
    flat = counts.ravel()
    places = np.empty((*counts.shape, 2), np.int64)
    places[..., 0] = np.arange(counts.shape[1])
    places[..., 1] = (flat - running_total(flat)).reshape(counts.shape)
    indices = np.repeat(places.reshape(-1, 2), flat, axis=0)
    indices[:, 1] += np.arange(len(indices))
    return indices


def sparse_rows(block: wire.Block) -> list[tuple[Any, Any, Any]]:
    """Return indices, values and shapes of all examples' sparse vectors, in lists."""
    values, counts, _ = block
    flat = counts.ravel()
    places = np.arange(len(values)) - np.repeat(running_total(flat) - flat, flat)
    sizes, rows = flat.tolist(), counts.shape[1]
    shapes = torch.from_numpy(flat.reshape(-1, 1).copy()).unbind()
    indices, found = _split(places[:, None], sizes), _split(values, sizes)
    ranges = [slice(first, first + rows) for first in range(0, len(flat), rows)]
    return [(indices[part], found[part], shapes[part]) for part in ranges]


def _split(values: np.ndarray, sizes: list[int]) -> Sequence[Any]:
    if values.dtype != object:
        return as_tensor(values, values.shape).split(sizes)
    stops = list(accumulate(sizes))
    return [values[stop - size : stop] for stop, size in zip(stops, sizes, strict=True)]


def dense_columns(
    features: Sequence[Dense], block: wire.Block, defaults: Sequence[Any], where: WhereOf,
    missing: WhereOf,
) -> Sequence[Any]:  # fmt: skip
    """Values [batch, *shape]; the default stands in for a feature that is not there.

    InvalidArgumentError for too many or too few values, or none without a default.
    """
    values, counts, present = block
    size, shape = features[0].size, features[0].shape
    wrong = present & (counts != size)
    if wrong.any():
        place, index = np.argwhere(wrong)[0].tolist()
        feature = features[place]
        raise refuse(
            f"{where(feature, index)}Number of {_VALUES[cpp_name(feature.dtype)]} values != "
            f"expected.  Values size: {counts[place, index]} but output shape: {shape_text(shape)}"
        )
    if not present.all():
        found, values = values, np.empty((*counts.shape, size), dtype=values.dtype)
        for feature, there, default, rows in zip(features, present, defaults, values, strict=True):
            if there.all():
                continue
            filler = default if isinstance(default, np.ndarray) else default.numpy()
            if not filler.size:
                raise refuse(missing(feature, int(np.flatnonzero(~there)[0])))
            rows[~there] = filler.reshape(-1)
        values[present] = found.reshape(np.count_nonzero(present), size)
    made = as_tensor(values, (*counts.shape, *features[0].row_shape))
    return list(made) if isinstance(made, np.ndarray) else made.unbind()


def padded_columns(
    features: Sequence[Dense], block: wire.Block, defaults: Sequence[Any], where: WhereOf
) -> Sequence[Any]:
    """Values [batch, longest, *rest], filled up with the default; rows must be whole.

    InvalidArgumentError for others.
    """
    _check_rows(features, block.counts, where)
    parts = np.split(block.values, running_total(block.counts.sum(1))[:-1])
    given = zip(features, parts, block.counts, defaults, strict=True)
    return [_padded(*each) for each in given]


def variable_rows(
    features: Sequence[Dense], block: wire.Block, defaults: Sequence[Any], where: WhereOf
) -> Sequence[Any]:
    """Values [count, *rest] of each example, in lists; InvalidArgumentError for parts of rows."""
    _check_rows(features, block.counts, where)
    size, rest, rows = features[0].size, features[0].row_shape, block.counts.shape[1]
    parts = [
        part.reshape(len(part) // size if size else 0, *rest)
        for part in _split(block.values, block.counts.ravel().tolist())
    ]
    return [parts[first : first + rows] for first in range(0, len(parts), rows)]


def _check_rows(features: Sequence[Dense], counts: np.ndarray, where: WhereOf) -> None:
    size = features[0].size
    broken = np.argwhere(counts % size if size else counts)
    if len(broken):
        place, index = broken[0].tolist()
        feature = features[place]
        raise refuse(
            f"{where(feature, index)}Number of {_VALUES[cpp_name(feature.dtype)]} values is not a "
            f"multiple of stride length. Saw {counts[place, index]} values but output shape is: "
            f"{shape_text(feature.shape)}"
        )


def _padded(
    feature: Dense, values: np.ndarray, counts: np.ndarray, default: Any
) -> torch.Tensor | Array:
    size = feature.size
    filler = default if isinstance(default, np.ndarray) else default.numpy()
    longest = int(counts.max()) if len(counts) else 0
    made = np.full((len(counts), longest), filler.reshape(-1)[0], dtype=filler.dtype)
    made[np.arange(longest) < counts[:, None]] = values
    rows = longest // size if size else 0
    return as_tensor(made, (len(counts), rows, *feature.row_shape))
