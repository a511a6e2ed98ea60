"""The examples of a step of dual coordinate ascent, and the weights that they change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from stillflow.errors import invalid_argument
from stillflow.ops.sdca.losses import Loss

refused = invalid_argument


@dataclass
class SparseColumn:
    """Features of which every example has a few.

    Attributes:
      starts: int64 [examples + 1], where the features of each example begin, and the end.
      places: int64 [features], the weight of each.
      values: float32 [features].
      weights: float32 [weights], before the step.
      deltas: float32 [weights], what the step adds.
    """

    starts: np.ndarray
    places: np.ndarray
    values: np.ndarray
    weights: np.ndarray
    deltas: np.ndarray


@dataclass
class DenseColumn:
    """Features that every example has.

    Attributes:
      rows: float32 [examples, features].
      weights: float32 [features], before the step.
      deltas: float32 [features], what the step adds.
    """

    rows: np.ndarray
    weights: np.ndarray
    deltas: np.ndarray


@dataclass
class Problem:
    """Problem of one step.

    Attributes:
      loss: the loss of an example.
      labels: float32 [examples], as the user gave them.
      example_weights: float32 [examples].
      shrinkage: by how much weights are drawn to zero before they predict.
      l2: the factor of the squared weights.
      partitions: of how many concurrent steps this is one.
      sparse, dense: the features.
      norms: float64 [examples], squared.
    """

    loss: Loss
    labels: np.ndarray
    example_weights: np.ndarray
    shrinkage: float
    l2: float
    partitions: int
    sparse: list[SparseColumn] = field(default_factory=list)
    dense: list[DenseColumn] = field(default_factory=list)
    norms: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.norms = np.zeros(len(self.labels))
        for column in self.sparse:
            sums = np.concatenate([[0.0], np.cumsum(column.values.astype(np.float64) ** 2)])
            self.norms += sums[column.starts[1:]] - sums[column.starts[:-1]]
        for each in self.dense:
            self.norms += np.square(each.rows[: len(self.norms)]).sum(1, dtype=np.float32)


def sparse_column(
    count: int, examples: Any, features: Any, values: Any | None, indices: Any, weights: Any
) -> SparseColumn:
    """Sort features by their examples; InvalidArgumentError for one twice, or without a weight.

    `examples`, int64 [features], ascend: what does not is left out, with all after it. Then come
    the number and value of each feature, or None for ones; `indices` are the features that have
    `weights`, float32.
    """
    if len(features) < len(examples) or (values is not None and len(values) < len(examples)):
        raise refused("Sparse features have no numbers or values for some of their examples")
    falls = np.flatnonzero(np.concatenate([examples[:1] < 0, examples[1:] < examples[:-1]]))
    ascending = examples[: falls[0]] if len(falls) else examples
    starts = np.searchsorted(ascending, np.arange(count + 1))
    used = features[: starts[-1]]
    places = _places(used, indices)
    _check_distinct(ascending[: starts[-1]], places)
    if values is None:
        values = np.ones(len(used), np.float32)
    weights = weights.reshape(-1)
    return SparseColumn(starts, places, values[: len(used)], weights, np.zeros_like(weights))


def _places(features: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Return the places of features in `indices`; the last place of repeated ones."""
    in_order = np.array_equal(indices, np.arange(len(indices)))
    order = indices if in_order else np.argsort(indices, kind="stable")
    if in_order:
        places, known = features, (features >= 0) & (features < len(indices))
    else:
        places = np.searchsorted(indices, features, "right", sorter=order) - 1
        known = places >= 0
        if known.any():
            known &= indices[order[places]] == features
    for bad in np.flatnonzero(~known)[:1]:
        raise refused(f"Found sparse feature indices out of valid range: {features[bad]}")
    return order[places]


def _check_distinct(examples: np.ndarray, places: np.ndarray) -> None:
    if not len(places):
        return
    pairs = examples * (places.max() + 1)
    pairs += places
    pairs.sort()
    if (pairs[1:] == pairs[:-1]).any():
        raise refused("Duplicate index in sparse vector.")


def dense_column(count: int, rows: Any, weights: Any) -> DenseColumn:
    """Return the features of a matrix, float32 [count, features], with a weight for each.

    InvalidArgumentError if features and weights do not go together.
    """
    if rows.ndim != 2 or len(rows) < count:
        raise refused(f"dense_features must be a matrix of {count} rows, got shape {rows.shape}")
    width = rows.shape[1]
    weights = weights.reshape(-1)
    if not 0 < width <= len(weights):
        raise refused(f"More dense features than we have parameters for: {width}")
    if width < len(weights):
        raise refused(f"Fewer dense features than parameters: {width} and {len(weights)}")
    return DenseColumn(np.ascontiguousarray(rows), weights, np.zeros_like(weights))


def columns_of(
    count: int, sparse: Sequence[Sequence[Any]], dense: Sequence[Sequence[Any]]
) -> tuple[list[SparseColumn], list[DenseColumn]]:
    """All columns: the arguments of `sparse_column` and `dense_column` after the first."""
    return (
        [sparse_column(count, *each) for each in sparse],
        [dense_column(count, *each) for each in dense],
    )
