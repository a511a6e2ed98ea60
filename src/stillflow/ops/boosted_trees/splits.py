"""Finding, for every node of a layer, the split that gains most."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.boosted_trees.ensemble import SPLIT_TYPES, TOLERANCE
from stillflow.ops.boosted_trees.gains import (
    LOWEST,
    first_best,
    vectors_and_gains,
    weights_and_gains,
)
from stillflow.ops.boosted_trees.resources import array, number, refused, tensor
from stillflow.ops.samples import Bad, Sample, Samples

_SETTINGS = ("l1", "l2", "tree_complexity", "min_node_weight")
SPLIT_OUTPUTS = (
    "(node_ids: int32, gains: float, feature_dimensions: int32, thresholds: int32, "
    "left_node_contribs: float, right_node_contribs: float, "
    "split_with_default_directions: string)"
)

calculate_best_gains_per_feature_op = op(
    """
    BoostedTreesCalculateBestGainsPerFeature(node_id_range: int32,
        stats_summary_list: num_features*float, l1: float, l2: float, tree_complexity: float,
        min_node_weight: float)
        -> (node_ids_list: num_features*int32, gains_list: num_features*float,
            thresholds_list: num_features*int32, left_node_contribs_list: num_features*float,
            right_node_contribs_list: num_features*float)
    max_splits: int >= 1
    num_features: int >= 1
""",
    differentiable=False,
    devices="host",
)
calculate_best_feature_split_op = op(
    f"""
    BoostedTreesCalculateBestFeatureSplit(node_id_range: int32, stats_summary: float, l1: float,
        l2: float, tree_complexity: float, min_node_weight: float) -> {SPLIT_OUTPUTS}
    logits_dimension: int >= 1
    split_type: {{"inequality", "equality"}} = "inequality"
""",
    differentiable=False,
    devices="host",
)


def _check_range(node: Node) -> None:
    dims_lib.merge(dims_lib.with_rank(node.dims(0), 1), (2,))


def check_settings(node: Node, first: int) -> None:
    """Check that the last four arguments are scalars."""
    for index in range(len(_SETTINGS)):
        dims_lib.with_rank(node.dims(first + index), 0)


def settings(values: Any) -> Any:
    """L1, L2, the complexity of trees and the least weight of a node, as numbers."""
    return [number(value, name) for value, name in zip(values, _SETTINGS, strict=True)]


def node_range(value: Any, nodes: int | None = None) -> range:
    """Return the nodes of a layer; at most so many of them are known."""
    first, last = _pair(value)
    if nodes is not None and first < last and not 0 <= first < last <= nodes:
        raise refused(f"node_id_range [{first}, {last}) is not within the {nodes} nodes of stats")
    return range(first, max(first, last))


def _pair(value: Any) -> list[int]:
    found = array(value, "node_id_range", 1,
                  "node_id_range must be a vector, received shape ").tolist()  # fmt: skip
    if len(found) != 2:
        raise refused(f"node_id_range should have 2 entries, got: {len(found)}")
    return found


# ---- CalculateBestGainsPerFeature: one logit, one dimension of each feature


@calculate_best_gains_per_feature_op.check
def calculate_best_gains_per_feature_check(node: Node) -> None:
    if node.planning:
        return  # the kernel asks for less
    _check_range(node)
    first = dims_lib.with_rank(node.dims(1), 3)
    dims_lib.merge(first, (node.max_splits, None, 2))
    for index in range(1, node.num_features):
        dims_lib.merge(first, dims_lib.with_rank(node.dims(1 + index), 3))
    for index in range(1, len(_SETTINGS)):  # not the last one
        dims_lib.with_rank(node.dims(node.num_features + index), 0)


@calculate_best_gains_per_feature_op.shape
def calculate_best_gains_per_feature_shape(node: Node) -> OutputDims:
    return [(None,)] * (3 * node.num_features) + [(None, 1)] * (2 * node.num_features)


@calculate_best_gains_per_feature_op.kernel
def calculate_best_gains_per_feature_kernel(node: Node) -> Kernel:
    count = node.num_features

    def calculate(nodes: Any, *values: Any) -> tuple[torch.Tensor, ...]:
        stats = [array(each, "stats_summary_list", 3) for each in values[:count]]
        if stats[0].shape[2] != 2:
            raise refused(
                "stats_summary_list[0] must have exactly 2 dimensions, obtained: "
                f"{stats[0].shape[2]}"
            )
        if any(each.shape[1:] != stats[0].shape[1:] for each in stats):
            raise refused("stats_summary_list must have as many buckets for every feature")
        chosen = node_range(nodes, min(map(len, stats)))
        rows = np.stack([each[chosen.start : chosen.stop] for each in stats])
        with np.errstate(over="ignore", invalid="ignore"):
            found = list(_best_of_features(rows, *settings(values[count:])))
        columns = [
            (tensor(kept + chosen.start, np.int32), *map(_floats, parts)) for kept, *parts in found
        ]
        return tuple(part for column in zip(*columns, strict=True) for part in column)

    return calculate


def _floats(part: Any) -> torch.Tensor:
    return tensor(part, part.dtype)


def _best_of_features(
    stats: Any, l1: Any, l2: Any, complexity: Any, least_weight: Any
) -> Iterator[tuple[Any, ...]]:
    """Yield for each feature the split nodes, gains, thresholds, and both sides' additions.

    `stats` are sums of gradients and Hessians, [features, nodes, buckets, 2].
    """
    sums = np.cumsum(stats, 2, dtype=np.float32)
    totals = sums[:, :, -1:]
    _, parents = weights_and_gains(totals[:, :, 0, 0], totals[:, :, 0, 1], l1, l2)
    left, left_gains = weights_and_gains(sums[..., 0], sums[..., 1], l1, l2)
    rest = totals - sums
    right, right_gains = weights_and_gains(rest[..., 0], rest[..., 1], l1, l2)
    gains = left_gains + right_gains
    heavy = ~(totals[:, :, 0, 1] < least_weight)
    buckets = first_best(gains.reshape(-1, gains.shape[2]), TOLERANCE).reshape(gains.shape[:2])
    none = buckets < 0
    buckets = np.maximum(buckets, 0).astype(np.int32)
    for feature in range(len(stats)):
        kept = np.flatnonzero(heavy[feature])
        best = buckets[feature, kept]
        at, nothing = (feature, kept, best), none[feature, kept]
        top = np.where(nothing, LOWEST, gains[at])
        sides = [np.where(nothing, np.float32(0), side[at])[:, None] for side in (left, right)]
        yield kept, top - parents[feature, kept] - complexity, best, *sides


@calculate_best_gains_per_feature_op.samples
def calculate_best_gains_per_feature_samples() -> Samples:
    stats = np.array(
        [[[0, 0], [0.08, 0.09]], [[0.3, 0.5], [-0.1, 0.4]], [[0, 0], [0, 0]]], np.float32
    )
    zero = np.float32(0)
    yield Sample(
        np.array([1, 2], np.int32),
        [stats, stats[:, ::-1]],
        zero,
        np.float32(0.1),
        zero,
        zero,
        max_splits=3,
    )
    yield Sample(
        np.array([1, -1], np.int32), [stats], zero, zero, zero, zero, max_splits=3
    )  # no node
    nowhere = np.full_like(stats, np.inf)
    yield Sample(np.array([0, 2], np.int32), [nowhere], zero, zero, zero, zero, max_splits=3)  # NaN
    yield Bad(np.array([1], np.int32), [stats], zero, zero, zero, zero, max_splits=3,
              match="must be equal|2 entries")  # fmt: skip


# ---- CalculateBestFeatureSplit: several logits, several dimensions of a feature


class Choice(NamedTuple):
    """The best split of a node.

    Attributes:
      node: which node.
      gain: its gain.
      dimension, threshold: what decides.
      left, right: values of the new leaves, [logits].
      split_type: one of `SPLIT_TYPES`.
    """

    node: int
    gain: Any
    dimension: int
    threshold: int
    left: Any
    right: Any
    split_type: str


def chosen(choices: list[Choice], logits: int) -> tuple[Any, ...]:
    """Return the outputs of an operation that finds splits."""
    columns = list(zip(*choices, strict=True)) or [()] * len(Choice._fields)
    nodes, gains, dimensions, thresholds, left, right, kinds = columns
    names = np.empty(len(kinds), object)
    names[:] = [kind.encode() for kind in kinds]
    sides = [np.array(side, np.float32).reshape(-1, logits) for side in (left, right)]
    return (
        tensor(nodes, np.int32), tensor(gains, np.float32), tensor(dimensions, np.int32),
        tensor(thresholds, np.int32), *(tensor(side, np.float32) for side in sides), names,
    )  # fmt: skip


@calculate_best_feature_split_op.check
def calculate_best_feature_split_check(node: Node) -> None:
    if node.planning:
        return  # the kernel asks for less
    _check_range(node)
    dims_lib.with_rank(node.dims(1), 4)
    check_settings(node, 2)


@calculate_best_feature_split_op.shape
def calculate_best_feature_split_shape(node: Node) -> Any:
    if node.planning:
        return [(None,)] * 4 + [(None, node.logits_dimension)] * 2 + [(None,)]
    return [(None,)] * 7  # also of matrices, as TF has it


@calculate_best_feature_split_op.kernel
def calculate_best_feature_split_kernel(node: Node) -> Kernel:
    logits, equality = node.logits_dimension, node.split_type == b"equality"

    def calculate(nodes: Any, stats: Any, *values: Any) -> tuple[torch.Tensor | Array, ...]:
        stats = array(stats, "stats_summary", 4, "stats_summary argument must have rank 4: ")
        wanted = settings(values)
        _check_split(stats.shape[3] - logits, logits, *wanted[:2])
        choices = []
        for number_of_node in node_range(nodes, len(stats)):
            choice = _best_split(stats[number_of_node], logits, equality, *wanted)
            if choice is not None:
                choices.append(choice._replace(node=number_of_node))
        return chosen(choices, logits)

    return calculate


def _check_split(hessians: int, logits: int, l1: Any, l2: Any) -> None:
    if hessians <= 0:
        raise refused(f"hessian dim should be < 0, got {hessians}")
    if hessians > logits * logits:
        raise refused(f"hessian dim should be <= {logits * logits} but got: {hessians}")
    for name, value in (("l1", l1), ("l2", l2)):
        if value < 0:
            raise refused(f"{name} = {value} but it should be >= 0")
    if logits > 1 and l1 != 0:
        raise refused("l1 != 0 is not yet supported for multi-class regularization")


def _best_split(
    stats: Any, logits: int, equality: bool, l1: Any, l2: Any, complexity: Any, least_weight: Any
) -> Choice | None:
    """Return the best split of a node with stats [dimensions, buckets, gradients and Hessians]."""
    total = np.cumsum(stats[0], 0, dtype=np.float32)[-1]
    if np.linalg.norm(total[logits:]) < least_weight:
        return None
    _, (parent,) = vectors_and_gains(total[None, :logits], total[None, logits:], l1, l2)
    lefts, rights = _sides(stats, total, equality)
    if not len(lefts):
        return None
    left, left_gains = vectors_and_gains(lefts[:, :logits], lefts[:, logits:], l1, l2)
    right, right_gains = vectors_and_gains(rights[:, :logits], rights[:, logits:], l1, l2)
    gains = left_gains + right_gains
    best = int(first_best(gains[None], TOLERANCE)[0])
    if best < 0 or gains[best] == LOWEST:
        return None
    kinds = SPLIT_TYPES[2:] if equality else SPLIT_TYPES[:2]
    place, kind = divmod(best, len(kinds))
    dimension, bucket = divmod(place, stats.shape[1] - 1)
    gain = gains[best] - parent - complexity
    return Choice(0, gain, dimension, bucket, left[best], right[best], kinds[kind])


def _sides(stats: Any, total: Any, equality: bool) -> tuple[Any, Any]:
    """Return sums on both sides of all possible splits, in the order of the search.

    The last bucket is of missing values: they go to either side, or to the right.
    """
    missing = stats[:, -1:]
    width = stats.shape[2]
    if equality:
        left = stats[:, :-1]
        return left.reshape(-1, width), (total - left).reshape(-1, width)
    sums = np.cumsum(stats, 1, dtype=np.float32)
    totals, sums = sums[:, -1:], sums[:, :-1]
    left = np.stack([sums + missing, sums], 2)
    return left.reshape(-1, width), (totals[:, :, None] - left).reshape(-1, width)


@calculate_best_feature_split_op.samples
def calculate_best_feature_split_samples() -> Samples:
    stats = np.asarray(np.arange(24).reshape(2, 2, 3, 2) % 5 - 1, np.float32)
    stats[..., 1] = abs(stats[..., 1]) + 0.5
    zero = np.float32(0)
    for split_type in ("inequality", "equality"):
        yield Sample(np.array([0, 2], np.int32), stats, zero, np.float32(0.1), zero, zero,
                     logits_dimension=1, split_type=split_type)  # fmt: skip
    yield Bad(
        np.array([0, 2], np.int32),
        stats,
        np.float32(-1),
        zero,
        zero,
        zero,
        logits_dimension=1,
        match="should be >= 0",
    )
