"""Clustering of points: initial centers and the nearest center of each point."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stillflow import native
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.random.philox import Philox
from stillflow.ops.random.range_samplers import Words
from stillflow.ops.samples import Bad, Sample, Samples

# How many distances are held at once.
_DISTANCES = 1 << 24

nearest_neighbors_op = op(
    """
    NearestNeighbors(points: float, centers: float, k: int64)
        -> (nearest_center_indices: int64, nearest_center_distances: float)
""",
    differentiable=False,
    numbers=("k",),
)
kmeans_plus_plus_initialization_op = op(
    """
    KmeansPlusPlusInitialization(points: float, num_to_sample: int64, seed: int64,
                                 num_retries_per_sample: int64) -> samples: float
""",
    differentiable=False,
    devices="host",
)
kmc2_chain_initialization_op = op(
    "KMC2ChainInitialization(distances: float, seed: int64) -> index: int64",
    differentiable=False,
    devices="host",
)


def check_rank(value: Any, rank: int, name: str, end: str = ".") -> None:
    """Raise an error for arguments of another rank, with TensorFlow's message."""
    if value.ndim != rank:
        kind = ("scalar", "vector", "matrix")[rank]
        raise ValueError(f"Input {name} should be a {kind}{end}")


# ---- NearestNeighbors


@nearest_neighbors_op.shape
def nearest_neighbors_shape(node: Node) -> OutputDims:
    return [None, None]


@nearest_neighbors_op.kernel
def nearest_neighbors_kernel(node: Node) -> Kernel:
    def nearest(points: Any, centers: Any, k: Any) -> tuple[torch.Tensor, torch.Tensor]:
        check_rank(points, 2, "points")
        check_rank(centers, 2, "centers")
        check_rank(k, 0, "k")
        if not len(points):
            raise ValueError("Expected points.rows() > 0.")
        if points.shape[1] != centers.shape[1]:
            raise ValueError(
                "Expected point_dimensions == center_dimensions: "
                f"{points.shape[1]} vs {centers.shape[1]}."
            )
        count = min(int(k), len(centers))
        if count < 1:
            empty = torch.empty((len(points), 0), device=points.device)
            return empty.long(), empty
        # A point's own norm does not change which centers are nearest to it.
        norms = centers.square().sum(1) * 0.5
        rows = max(1, _DISTANCES // len(centers))
        found = [_nearest(block, centers, norms, count) for block in points.split(rows)]
        indices, partial = (torch.cat(parts) for parts in zip(*found))
        return indices, 2 * (points.square().sum(1, keepdim=True) * 0.5 + partial)

    return nearest


def _nearest(points: Any, centers: Any, norms: Any, count: int) -> tuple[Any, Any]:
    """Return the nearest centers of a block of points, the first of those that are equally near."""
    partial = norms - points @ centers.T
    if count == 1:
        values, indices = partial.min(1, keepdim=True)
        return indices, values
    values, indices = partial.sort(dim=1, stable=True)
    return indices[:, :count], values[:, :count]


@nearest_neighbors_op.samples
def nearest_neighbors_samples() -> Samples:
    points = np.array([[0, 0], [1, 2], [5, 5]], np.float32)
    centers = np.array([[1, 1], [4, 4]], np.float32)
    yield Sample(points, centers, np.int64(1))
    yield Sample(points, centers, np.int64(5))
    yield Bad(points[:0], centers, np.int64(1), match="Expected points.rows")
    yield Bad(points, centers[:, :1], np.int64(1), match="Expected point_dimensions")


def nearest_neighbors(points: Any, centers: Any, k: Any, name: str | None = None) -> Any:
    """Return the `k` nearest centers of each point by squared distance; all if there are fewer.

    Points are [n, width], centers [m, width]; results their numbers, int64, and distances, [n, k].
    """
    return nearest_neighbors_op(points, centers, k, name=name)


# ---- KmeansPlusPlusInitialization

_MOST_RETRIES = 1_000_000


@kmeans_plus_plus_initialization_op.shape
def kmeans_plus_plus_initialization_shape(node: Node) -> OutputDims:
    return None


@kmeans_plus_plus_initialization_op.kernel
def kmeans_plus_plus_initialization_kernel(node: Node) -> Kernel:
    def choose(points: Any, count: Any, seed: Any, retries: Any) -> torch.Tensor:
        check_rank(points, 2, "points")
        check_rank(count, 0, "num_to_sample")
        check_rank(seed, 0, "seed")
        check_rank(retries, 0, "num_retries_per_sample")
        number, tries = int(count), int(retries)
        if not len(points):
            raise ValueError("Expected points.rows() > 0.")
        if number < 1:
            raise ValueError("Expected num_to_sample > 0.")
        if number > len(points):
            raise ValueError(f"Expected num_to_sample <= points.rows(). {number} vs {len(points)}.")
        if tries > _MOST_RETRIES:  # which take minutes for each point
            raise ValueError(
                f"Expected num_retries_per_sample <= {_MOST_RETRIES}, but got {tries}."
            )
        if tries < 0:
            tries = 2 + int(math.log(number))
        chosen = _spread(points.cpu().numpy(), number, Words(Philox(int(seed), 0, 0)), tries)
        return points[torch.tensor(chosen, device=points.device)]

    return choose


def _spread(points: np.ndarray, number: int, words: Words, retries: int) -> list[int]:
    """Points far from each other: each is drawn by its squared distance from those before it.

    Of several draws that which leaves the least sum of distances is taken.
    """
    norms = 0.5 * np.square(points).sum(1)
    distances = np.full(len(points), np.inf, np.float32)
    chosen: list[int] = []
    for _ in range(number):
        sums = np.cumsum(distances, dtype=np.float32) if chosen else None
        tries: list[tuple[float, int, int, np.ndarray]] = []
        for _ in range(1 + retries):
            point = _draw(sums, chosen, len(points), words)
            new = np.minimum(distances, norms - points @ points[point] + norms[point])
            tries.append((float(new.sum()), len(tries), point, new))
        _, _, point, distances = min(tries, key=lambda each: each[:2])
        chosen.append(point)
    return chosen


def _draw(sums: np.ndarray | None, chosen: list[int], count: int, words: Words) -> int:
    if sums is None:
        return words.below64(count)
    while True:
        point = int(np.searchsorted(sums, words.unit() * sums[-1], side="right"))
        if point not in chosen:
            return min(point, count - 1)


@kmeans_plus_plus_initialization_op.samples
def kmeans_plus_plus_initialization_samples() -> Samples:
    points = np.array([[0, 0], [1, 2], [5, 5], [9, 1]], np.float32)
    one, seed, no = np.int64(1), np.int64(7), np.int64(0)
    yield Sample(points, np.int64(3), seed, np.int64(2))
    yield Sample(points, np.int64(4), seed, np.int64(-1))
    yield Bad(points, no, seed, one, match="Expected num_to_sample > 0")
    yield Bad(points, np.int64(5), seed, one, match="5 vs 4")
    yield Bad(
        points, one, seed, np.int64(2**62), match="Expected num_retries_per_sample <= 1000000"
    )


def kmeans_plus_plus_initialization(
    points: Any, num_to_sample: Any, seed: Any, num_retries_per_sample: Any, name: str | None = None
) -> Tensor:
    """Return points far from each other, [num_to_sample, width], to begin with as centers.

    Each is drawn again `num_retries_per_sample` times; below zero, their number decides.
    """
    return kmeans_plus_plus_initialization_op(
        points, num_to_sample, seed, num_retries_per_sample, name=name
    )


# ---- KMC2ChainInitialization


@kmc2_chain_initialization_op.shape
def kmc2_chain_initialization_shape(node: Node) -> OutputDims:
    return ()


@kmc2_chain_initialization_op.kernel
def kmc2_chain_initialization_kernel(node: Node) -> Kernel:
    def walk(distances: Any, seed: Any) -> torch.Tensor:
        check_rank(distances, 1, "distances")
        check_rank(seed, 0, "seed")
        if not len(distances):
            raise ValueError("Expected distances_tensor.size() > 0.")
        values, stream = np.ascontiguousarray(distances.cpu().numpy()), Philox(int(seed), 0, 0)
        return torch.tensor(_walk(values, stream), device=distances.device)

    return walk


def _walk(distances: np.ndarray, stream: Philox) -> int:
    """Return the point at which a walk along all of them ends; near ones are passed over."""
    if (library := native.library()) is not None:
        return int(library.walk_chain(stream.key, distances.ctypes.data, len(distances)))
    words, at = Words(stream), 0
    for place in range(1, len(distances)):
        if distances[place] > words.unit() * distances[at]:
            at = place
    return at


@kmc2_chain_initialization_op.samples
def kmc2_chain_initialization_samples() -> Samples:
    yield Sample(np.array([1, 4, 0, 2], np.float32), np.int64(5))
    yield Bad(np.zeros(0, np.float32), np.int64(5), match="distances_tensor.size")


def kmc2_chain_initialization(distances: Any, seed: Any, name: str | None = None) -> Tensor:
    """Return the number of a point, drawn by its distance [n] from the nearest center."""
    return kmc2_chain_initialization_op(distances, seed, name=name)
