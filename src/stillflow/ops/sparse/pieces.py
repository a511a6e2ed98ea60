"""Sparse tensors cut along their first dimension, and stacked along a new one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.graph.dims import shape_text
from stillflow.graph.lazy import torch
from stillflow.ops.memory_limits import require_objects
from stillflow.ops.sparse.rows import check_inside, take_rows


def check_parts(indices: Any, values: Any, shape: Any) -> None:
    """ValueError unless three run-time values are the parts of a sparse tensor."""
    for kind, name, value, rank in (
        ("indices", "a matrix", indices, 2), ("values", "a vector", values, 1),
        ("shape", "a vector", shape, 1),
    ):  # fmt: skip
        if value.ndim != rank:
            raise ValueError(
                f"Input {kind} should be {name} but received shape {shape_text(value.shape)}"
            )
    if values.shape[0] != indices.shape[0]:
        raise ValueError(
            "Number of values must match first dimension of indices. "
            f"Got {len(values)} values, indices shape: {shape_text(indices.shape)}"
        )
    if shape.shape[0] != indices.shape[1]:
        raise ValueError(
            "Number of dimensions must match second dimension of indices. "
            f"Got {len(shape)} dimensions, indices shape: {shape_text(indices.shape)}"
        )


_PIECE = 1000  # bytes that the indices and values of a part take as tensors of their own


def cut(indices: Any, values: Any, size: Sequence[int]) -> Iterator[tuple[Any, Any]]:
    """Yield the indices and values of each part of a sparse tensor along its first dimension."""
    if len(size) < 2:
        raise ValueError(f"Rank of input SparseTensor should be > 1, but saw rank: {len(size)}")
    check_inside(indices, size)
    require_objects(size[0], _PIECE, "sparse tensors")
    numbers = indices[:, 0]
    order = torch.argsort(numbers, stable=True)
    ends = torch.bincount(numbers, minlength=size[0]).cumsum(0).tolist()
    columns, ordered = indices[order, 1:], take_rows(values, order)
    for start, end in zip([0, *ends], ends, strict=False):
        yield columns[start:end], ordered[start:end]


def stacked_indices(pieces: Sequence[Any]) -> torch.Tensor:
    """Return the indices of sparse tensors stacked along a new first dimension."""
    counts = torch.tensor([indices.size(0) for indices in pieces])
    places = torch.arange(len(pieces)).repeat_interleave(counts)
    return torch.cat([places[:, None], torch.cat(list(pieces))], 1)


def joined(values: Sequence[Any]) -> torch.Tensor | Array:
    """Vectors one after the other."""
    if isinstance(values[0], np.ndarray):
        return np.concatenate(values)
    return torch.cat(list(values))
