"""Crosses of features: every combination of one value from each column, row by row."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from stillflow import native
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.dims import shape_text
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.graph.tensor_like import is_tensor
from stillflow.ops.kernels import index_tensor
from stillflow.ops.math.cast import cast
from stillflow.ops.native_calls import int64s
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.ops.strings.kernels import strings_of
from stillflow.util.farmhash import fingerprint_cat, fingerprints
from stillflow.util.texts import address_of

DEFAULT_HASH_KEY = 0xDECAFCAFFE
_SEPARATOR = b"_X_"
_WORD = 1 << 64
_LARGEST = 2**63 - 1

sparse_cross_op = op(
    """
    SparseCross(indices: N*int64, values: [sparse_types], shapes: N*int64,
                dense_inputs: [dense_types])
        -> (output_indices: int64, output_values: out_type, output_shape: int64)
    N: int >= 0
    hashed_output: bool
    num_buckets: int >= 0
    hash_key: int
    sparse_types: list({int64, string}) >= 0
    dense_types: list({int64, string}) >= 0
    out_type: {int64, string}
    internal_type: {int64, string}
""",
    differentiable=False,
    devices="host",
)


@dataclass
class _Column:
    """The features of a column, flat, and for each row where they start and how many there are."""

    values: np.ndarray
    starts: np.ndarray
    counts: np.ndarray


@sparse_cross_op.shape
def sparse_cross_shape(node: Node) -> OutputDims:
    return [(None, 2), (None,), (2,)]


@sparse_cross_op.kernel
def sparse_cross_kernel(node: Node) -> Kernel:
    return crossing(node, node.hash_key, fingerprint_cat)


def crossing(node: Node, hash_key: int, combine: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return the kernel of a cross; `combine` adds one more feature's fingerprint to hashes."""
    count, hashed, buckets = node.N, node.out_type == dtypes.int64, node.num_buckets
    key = np.uint64(hash_key % _WORD)
    native_way = None
    if hashed and combine is fingerprint_cat:
        native_way = partial(_hashed_natively, key=int(key.view(np.int64)), limit=_limit(buckets))

    def cross(*inputs: Any) -> tuple[torch.Tensor, torch.Tensor | Array, torch.Tensor]:
        arrays = [x if isinstance(x, np.ndarray) else x.cpu().numpy() for x in inputs]
        indices, values, shapes = (arrays[i * count : (i + 1) * count] for i in range(3))
        dense = arrays[3 * count :]
        rows = _row_count(shapes, dense)
        _check_sparse(indices, values, shapes, rows)
        _check_dense(dense, rows)
        if native_way is not None:
            crosses = native_way(indices, values, dense, rows)
            if crosses is not None:
                return crosses
        columns = [_sparse_column(*pair, rows) for pair in zip(indices, values)]
        columns += [_dense_column(matrix) for matrix in dense]
        sizes, places = _places(columns, rows)
        picks = _picks(columns, places)
        if hashed:
            made = _hashed(columns, picks, np.full(len(places), key), buckets, combine)
        else:
            made = _joined([column.values[place] for column, place in zip(columns, picks)])
        shape = torch.tensor([rows, int(sizes.max(initial=0))])
        return torch.from_numpy(places), made, shape

    return cross


def _row_count(shapes: Sequence[np.ndarray], dense: Sequence[np.ndarray]) -> int:
    if shapes:
        if shapes[0].shape != (2,):
            _check_shape(shapes[0], 0)
        return int(shapes[0][0])
    return len(dense[0]) if dense and dense[0].ndim else 0


def _check_shape(shape: np.ndarray, place: int) -> None:
    if shape.ndim != 1:
        raise ValueError(
            "Input shapes should be a std::vector but received shape "
            f"{shape_text(shape.shape)} at position {place}"
        )
    if len(shape) != 2:
        raise ValueError(
            f"shape should imply a 2D tensor, but got {shape_text(shape.shape)} at position {place}"
        )


def _check_sparse(
    indices: Sequence[np.ndarray], values: Sequence[np.ndarray], shapes: Sequence[np.ndarray],
    rows: int,
) -> None:  # fmt: skip
    for place, index in enumerate(indices):
        if index.ndim != 2:
            raise ValueError(
                "Input indices should be a matrix but received shape "
                f"{shape_text(index.shape)} at position {place}"
            )
        if index.shape[1] != 2:
            raise ValueError(
                f"Expected D2 of index to be 2 got {index.shape[1]} at position {place}"
            )
    for place, value in enumerate(values):
        if value.ndim != 1:
            raise ValueError(
                "Input values should be a std::vector but received shape "
                f"{shape_text(value.shape)} at position {place}"
            )
        if len(value) != len(indices[place]):
            raise ValueError(
                f"Expected size of values to be {len(indices[place])} got {len(value)} "
                f"at position {place}"
            )
    for place, shape in enumerate(shapes):
        _check_shape(shape, place)
        if shape[0] != rows:
            raise ValueError(f"Expected batch size {rows} got {shape[0]} at position {place}")


def _check_dense(dense: Sequence[np.ndarray], rows: int) -> None:
    for place, matrix in enumerate(dense):
        if matrix.ndim != 2:
            raise ValueError(
                "Dense inputs should be a matrix but received shape "
                f"{shape_text(matrix.shape)} at position {place}"
            )
        if len(matrix) != rows:
            raise ValueError(
                f"Expected batch size {rows} got {len(matrix)} at dense tensor {place}"
            )


def _sparse_column(indices: np.ndarray, values: np.ndarray, rows: int) -> _Column:
    numbers = indices[:, 0]
    # TensorFlow walks through the rows once: rows after a smaller row number are not seen.
    falls = np.flatnonzero(np.concatenate([numbers[:1] < 0, numbers[1:] < numbers[:-1]]))
    seen = numbers[: falls[0]] if len(falls) else numbers
    counts = np.bincount(seen[seen < rows], minlength=rows)
    return _Column(values, np.cumsum(counts) - counts, counts)


def _dense_column(matrix: np.ndarray) -> _Column:
    rows, width = matrix.shape
    return _Column(matrix.reshape(-1), np.arange(rows) * width, np.full(rows, width))


def _places(columns: Sequence[_Column], rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of crosses of each row, and [row, number in the row] of each."""
    sizes = np.ones(rows, np.int64)
    for column in columns:
        sizes *= column.counts
    numbers = np.repeat(np.arange(rows), sizes)
    inside = np.arange(len(numbers)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return sizes, np.stack([numbers, inside], 1)


def _picks(columns: Sequence[_Column], places: np.ndarray) -> list[np.ndarray]:
    """Return the value of each column in each cross; the last column's change fastest."""
    rows, left = places[:, 0], places[:, 1].copy()
    picks = []
    for column in reversed(columns):
        counts = column.counts[rows]
        picks.append(column.starts[rows] + left % counts)
        left //= counts
    return picks[::-1]


def _joined(picked: Sequence[np.ndarray]) -> np.ndarray:
    texts = [
        values if values.dtype == object else [b"%d" % number for number in values.tolist()]
        for values in picked
    ]
    crosses = [_SEPARATOR.join(parts) for parts in zip(*texts)]
    return strings_of(crosses, (len(crosses),))


def _hashed(
    columns: Sequence[_Column],
    picks: Sequence[np.ndarray],
    hashes: np.ndarray,
    buckets: int,
    combine: Callable[[Any, Any], Any],
) -> torch.Tensor:
    for column, place in zip(columns, picks):
        values = column.values
        words = fingerprints(values) if values.dtype == object else values.astype(np.uint64)
        hashes = combine(hashes, words[place])
    return torch.from_numpy((hashes % np.uint64(_limit(buckets))).astype(np.int64))


def _limit(buckets: int) -> int:
    return buckets if buckets > 0 else _LARGEST


def _hashed_natively(
    indices: Sequence[np.ndarray],
    values: Sequence[np.ndarray],
    dense: Sequence[np.ndarray],
    rows: int,
    *,
    key: int,
    limit: int,
) -> tuple[Any, Any, Any] | None:
    """Return places, hashes and shape of the crosses by loops in C; None without them."""
    library = native.library()
    count = len(indices) + len(dense)
    if library is None or not count:
        return None
    indices = [np.ascontiguousarray(index) for index in indices]
    words = [_words(column) for column in values]
    words += [_words(matrix.reshape(-1)) for matrix in dense]
    sizes = [column.size for column in values] + [matrix.shape[1] for matrix in dense]
    rows_at = [*map(address_of, indices), *[0] * len(dense)]
    features = np.empty((2, count, rows), np.int64)  # of each row: the first one, and how many
    starts, counts, widest = address_of(features), address_of(features[1]), ctypes.c_int64()
    total = library.count_crosses(
        int64s(rows_at), int64s(sizes), count, rows, starts, counts,
        ctypes.byref(widest))  # fmt: skip
    if total < 0:
        return None
    places, hashes = np.empty((total, 2), np.int64), np.empty(total, np.int64)
    library.hash_crosses(
        int64s([address_of(each) for each in words]), count, rows, starts, counts, key, limit,
        (ctypes.c_int64 * (2 * count + 1))(), address_of(places), address_of(hashes))  # fmt: skip
    shape = index_tensor([rows, widest.value], dtypes.int64)
    return torch.from_numpy(places), torch.from_numpy(hashes), shape


def _words(values: np.ndarray) -> np.ndarray:
    """Return the fingerprints of features, of which whole numbers are their own."""
    return fingerprints(values) if values.dtype == object else np.ascontiguousarray(values)


@sparse_cross_op.samples
def sparse_cross_samples() -> Samples:
    rows = np.array([[0, 0], [1, 0], [1, 1]], np.int64)
    words = np.array([b"a", b"b", b"c"], object)
    dense = np.array([[b"x", b"y"], [b"z", b"w"]], object)
    size = np.array([2, 2], np.int64)
    text: dict[str, Any] = {"hashed_output": False, "num_buckets": 0, "hash_key": 1}
    text.update(out_type=dtypes.string, internal_type=dtypes.string)
    number = {**text, "hashed_output": True, "num_buckets": 100, "out_type": dtypes.int64}
    number["internal_type"] = dtypes.int64
    yield Sample([rows, rows], [words, words], [size, size], [dense], **text)
    yield Sample([rows], [np.arange(3)], [size], [dense], **number)
    yield Bad([rows], [words[:2]], [size], [], match="Expected size of values", **text)
    yield Bad([rows], [words], [size], [dense[:1]], match="Expected batch size 2", **text)


def cross_features(make: Any, inputs: list[Any], hashed: bool, **attrs: Any) -> SparseTensor:
    """Call the card `make` that crosses features, hashed or as strings.

    `inputs` is a list of tensors and sparse tensors [batch, features], strings or whole numbers.
    """
    if not isinstance(inputs, list):
        raise TypeError("Inputs must be a list")
    if not all(isinstance(item, SparseTensor) or is_tensor(item) for item in inputs):
        raise TypeError("All inputs must be SparseTensors")
    sparse = [item for item in inputs if isinstance(item, SparseTensor)]
    values = [_as_feature(item.values) for item in sparse]
    dense = [_as_feature(item) for item in inputs if not isinstance(item, SparseTensor)]
    texts = all(item.dtype == dtypes.string for item in [*values, *dense])
    return SparseTensor(*make(
        [item.indices for item in sparse],
        values,
        [item.dense_shape for item in sparse],
        dense,
        hashed_output=hashed,
        out_type=dtypes.int64 if hashed else dtypes.string,
        internal_type=dtypes.string if texts else dtypes.int64,
        **attrs,
    ))  # fmt: skip


def _as_feature(values: Any) -> Tensor:
    return values if values.dtype == dtypes.string else cast(values, dtypes.int64)


@export("sparse.cross")
def sparse_cross(inputs: list[Any], name: str | None = None) -> SparseTensor:
    """Crosses of columns of features, as strings joined by ``_X_``.

    Args:
      inputs: tensors and sparse tensors [batch, features] of strings or whole numbers.
      name: name of the operation.

    Returns:
      A sparse tensor of strings [batch, crosses]: in each row every combination of one feature
      from each column, those of sparse inputs first.

    Raises:
      TypeError: `inputs` is not a list of tensors and sparse tensors.
    """
    return cross_features(
        sparse_cross_op, inputs, False, num_buckets=0, hash_key=DEFAULT_HASH_KEY, name=name
    )


@export("sparse.cross_hashed")
def sparse_cross_hashed(
    inputs: list[Any], num_buckets: int = 0, hash_key: int | None = None, name: str | None = None
) -> SparseTensor:
    """Crosses of columns of features, as hashes.

    Args:
      inputs: tensors and sparse tensors [batch, features] of strings or whole numbers.
      num_buckets: values are taken modulo this number if it is above zero.
      hash_key: the key of the hashes.
      name: name of the operation.

    Returns:
      A sparse int64 tensor [batch, crosses].

    Raises:
      TypeError: `inputs` is not a list of tensors and sparse tensors.
    """
    return cross_features(
        sparse_cross_op, inputs, True, num_buckets=num_buckets,
        hash_key=hash_key or DEFAULT_HASH_KEY, name=name,
    )  # fmt: skip
