"""Greedy matching of two sets of things by their distances."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.util import binary_heap

bipartite_match_op = op(
    """
    BipartiteMatch(distance_mat: float, num_valid_rows: float)
        -> (row_to_col_match_indices: int32, col_to_row_match_indices: int32)
    top_k: int = -1
    flags: stateful
    """,
    differentiable=False,
)


@bipartite_match_op.shape
def bipartite_match_shape(node: Node) -> OutputDims:
    rows, columns = dims_lib.with_rank(node.dims(0), 2)
    return [(rows,), (columns,)]


def _nearest(distances: np.ndarray) -> list[tuple[int, int]] | None:
    """Return the nearest pairs, of which none shares a row or a column with one before.

    None if two of them are equally near, or one infinitely far: the heap knows which comes first.
    """
    left, found = distances.copy(), []
    for _ in range(min(distances.shape)):
        row, column = divmod(int(left.argmin()), distances.shape[1])
        least = left[row, column]
        if not np.isfinite(least) or np.count_nonzero(left == least) > 1:
            return None
        left[row], left[:, column] = np.inf, np.inf
        found.append((row, column))
    return found


def _by_heap(distances: np.ndarray) -> Iterator[tuple[int, int]]:
    """All pairs, nearest first; equally near ones as a heap hands them out."""
    heap: list[tuple[float, int, int]] = []
    for (row, column), distance in np.ndenumerate(distances):
        binary_heap.push(heap, (-distance, row, column))
    while heap:
        _, row, column = binary_heap.pop(heap)
        yield row, column


def _match(distances: Any, valid: Any, top: int) -> tuple[Any, Any]:
    if valid.numel() != 1:
        raise ValueError(
            f"num_valid_rows argument should be a tensor with 1 element, but got {valid.numel()}"
        )
    rows, columns = distances.shape
    wanted = float(valid.reshape(()))
    count = int(wanted + 0.1) if wanted >= 0 else rows
    if count > rows:
        raise ValueError(
            f"There should be at least {count} rows in distance_mat, but only got {rows} rows."
        )
    of_row, of_column = np.full(rows, -1, np.int32), np.full(columns, -1, np.int32)
    left = min(count, columns) if top <= 0 else top
    given = distances[:count].cpu().numpy()
    for row, column in _nearest(given) or _by_heap(given):
        if left <= 0:
            break
        if of_row[row] == -1 and of_column[column] == -1:
            of_row[row], of_column[column] = column, row
            left -= 1
    return tuple(torch.from_numpy(found).to(distances.device) for found in (of_row, of_column))


@bipartite_match_op.kernel
def bipartite_match_kernel(node: Node) -> Kernel:
    return node.call(_match, *node.inputs, node.top_k)


@bipartite_match_op.samples
def bipartite_match_samples() -> Samples:
    distances = np.array([[0.5, 0.1, 0.8], [0.3, 0.2, 0.15]], np.float32)
    yield Sample(distances, np.float32(2))
    yield Sample(distances, np.array([-1], np.float32), top_k=1)
    yield Sample(np.ones((3, 4), np.float32), np.float32(2))
    yield Bad(distances, np.array([1, 2], np.float32), match="with 1 element, but got 2")
    yield Bad(distances, np.float32(3), match="only got 2 rows")
    yield Bad(distances[0], np.float32(1), match="must be rank 2")


@export("contrib.image.bipartite_match")
def bipartite_match(
    distance_mat: Any, num_valid_rows: Any, top_k: int = -1, name: str | None = "bipartite_match"
) -> tuple[Tensor, Tensor]:
    """Match rows with columns: repeatedly the nearest pair of the free ones.

    Args:
      distance_mat: the distances, `[rows, columns]`, single precision.
      num_valid_rows: how many of the first rows count; all, if it is negative.
      top_k: how many pairs to match at most; as many as there are, if it is not positive.
      name: of the operation.

    Returns:
      For each row its column, and for each column its row, or -1.
    """
    return bipartite_match_op(distance_mat, num_valid_rows, top_k=top_k, name=name)
