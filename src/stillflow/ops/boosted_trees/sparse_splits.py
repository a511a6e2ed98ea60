"""Splits by features that are missing in most examples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.boosted_trees.ensemble import SPLIT_TYPES, TOLERANCE
from stillflow.ops.boosted_trees.gains import LOWEST, first_best, weights_and_gains
from stillflow.ops.boosted_trees.resources import array, refused
from stillflow.ops.boosted_trees.splits import (
    SPLIT_OUTPUTS,
    Choice,
    check_settings,
    chosen,
    node_range,
    settings,
)
from stillflow.ops.samples import Sample, Samples

sparse_calculate_best_feature_split_op = op(
    f"""
    BoostedTreesSparseCalculateBestFeatureSplit(node_id_range: int32,
        stats_summary_indices: int32, stats_summary_values: float, stats_summary_shape: int32,
        l1: float, l2: float, tree_complexity: float, min_node_weight: float) -> {SPLIT_OUTPUTS}
    logits_dimension: int >= 1
    split_type: {{"inequality"}} = "inequality"
""",
    differentiable=False,
    devices="host",
)


@sparse_calculate_best_feature_split_op.check
def sparse_calculate_best_feature_split_check(node: Node) -> None:
    if node.planning:
        return  # the kernel asks for less
    dims_lib.merge(dims_lib.with_rank(node.dims(0), 1), (2,))
    dims_lib.with_rank(node.dims(1), 2)
    dims_lib.with_rank(node.dims(2), 1)
    dims_lib.with_rank(node.dims(3), 1)
    check_settings(node, 4)


@sparse_calculate_best_feature_split_op.shape
def sparse_calculate_best_feature_split_shape(node: Node) -> Any:
    if node.planning:
        return [(None,)] * 4 + [(None, 1)] * 2 + [(None,)]
    return [(None,)] * 7  # also of matrices, as TF has it


@sparse_calculate_best_feature_split_op.kernel
def sparse_calculate_best_feature_split_kernel(node: Node) -> Kernel:
    def calculate(
        nodes: Any, indices: Any, values: Any, shape: Any, *rest: Any
    ) -> tuple[torch.Tensor | Array, ...]:
        layer = node_range(nodes)
        indices = array(indices, "stats_summary_indices", 2)
        values = array(values, "stats_summary_values", 1)
        shape = array(shape, "stats_summary_shape", 1)
        _check(indices, values, shape, layer)
        wanted = settings(rest)
        choices = [
            _best_split(number, rows, shape[2] - 1, *wanted)
            for number, rows in _by_node(indices, values, shape[3])
        ]
        return chosen([choice for choice in choices if choice is not None], 1)

    return calculate


def _check(indices: Any, values: Any, shape: Any, layer: range) -> None:
    if len(shape) != 4 or indices.shape[1] != 4:
        raise refused("stats_summary_indices and stats_summary_shape must have 4 columns")
    if len(indices) != len(values):
        raise refused(
            f"stats_summary_indices has {len(indices)} rows, stats_summary_values "
            f"{len(values)} elements"
        )
    for row, (node, _, _, stat) in enumerate(indices.tolist()):
        if node not in layer:
            raise refused(f"node_id = {node} which is not in [{layer.start}, {layer.stop})")
        if stat >= shape[3]:
            raise refused(
                "Stat dim, the sum of logits dim and hessian dim in stats_summary_indices, cannot "
                "be greater than stats dims, the last value in stats_summary_shape, which was "
                f"{shape[3]}. At index ({row}, 4), stats_summary_indices contains value {stat}"
            )
        if stat < 0:
            raise refused(
                "Stat dim, the sum of logits dim and hessian dim in stats_summary_indices, should "
                f"be >= 0, which was {stat} at index {row}"
            )


def _by_node(indices: Any, values: Any, stats: int) -> Iterator[tuple[int, dict[int, Any]]]:
    """Yield for each node {dimension: {bucket: stats}}."""
    if not len(indices):
        return
    breaks = np.flatnonzero(np.diff(indices[:, 0])) + 1
    for rows in np.split(np.arange(len(indices)), breaks):
        found: dict[int, Any] = {}
        for row in rows:
            _, dimension, bucket, stat = indices[row].tolist()
            buckets = found.setdefault(dimension, {})
            buckets.setdefault(bucket, np.zeros(stats, np.float32))[stat] = values[row]
        yield int(indices[rows[0], 0]), found


def _best_split(
    number: int, dimensions: dict[int, Any], missing: int, l1: Any, l2: Any, complexity: Any,
    least_weight: Any,
) -> Choice | None:  # fmt: skip
    """Return the best split of a node.

    Missing values, those of the last bucket, go to either side.
    """
    first = dimensions[min(dimensions)]
    total = np.cumsum([first[bucket][:2] for bucket in sorted(first)], 0, dtype=np.float32)[-1]
    if total[1] < least_weight:
        return None
    lefts, rights, places = [], [], []
    for dimension in sorted(dimensions):
        buckets = dimensions[dimension]
        absent = buckets.get(missing, np.zeros(2, np.float32))[:2]
        known = [bucket for bucket in sorted(buckets) if bucket != missing]
        if not known:
            continue
        sums = np.cumsum([buckets[bucket][:2] for bucket in known], 0, dtype=np.float32)
        lefts.append(np.stack([sums, sums + absent], 1).reshape(-1, 2))
        rights.append(np.stack([total - sums, total - absent - sums], 1).reshape(-1, 2))
        places += [(dimension, bucket, kind) for bucket in known for kind in (1, 0)]
    if not lefts:
        return None
    left, right = np.concatenate(lefts), np.concatenate(rights)
    to_left, left_gains = weights_and_gains(left[:, 0], left[:, 1], l1, l2)
    to_right, right_gains = weights_and_gains(right[:, 0], right[:, 1], l1, l2)
    _, parent = weights_and_gains(total[0], total[1], l1, l2)
    gains = left_gains + right_gains
    best = int(first_best(gains[None], TOLERANCE)[0])
    if best < 0 or gains[best] == LOWEST:
        return None
    dimension, bucket, kind = places[best]
    return Choice(
        number, gains[best] - parent - complexity, dimension, bucket, to_left[best : best + 1],
        to_right[best : best + 1], SPLIT_TYPES[kind],
    )  # fmt: skip


@sparse_calculate_best_feature_split_op.samples
def sparse_calculate_best_feature_split_samples() -> Samples:
    indices = np.array([[1, 0, 0, 0], [1, 0, 0, 1], [1, 0, 2, 0], [1, 0, 2, 1]], np.int32)
    zero = np.float32(0)
    yield Sample(np.array([1, 2], np.int32), indices, np.array([0.3, 0.2, -0.4, 0.3], np.float32),
                 np.array([3, 1, 4, 2], np.int32), zero, np.float32(0.1), zero, zero,
                 logits_dimension=1)  # fmt: skip
