"""Sums of gradients and Hessians, by node of a tree and bucket of a feature."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import native
from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.boosted_trees.resources import array, refused, tensor
from stillflow.ops.samples import Bad, Sample, Samples

make_stats_summary_op = op(
    """
    BoostedTreesMakeStatsSummary(node_ids: int32, gradients: float, hessians: float,
        bucketized_features_list: num_features*int32) -> stats_summary: float
    max_splits: int >= 1
    num_buckets: int >= 1
    num_features: int >= 1
""",
    differentiable=False,
    devices="host",
)
aggregate_stats_op = op(
    """
    BoostedTreesAggregateStats(node_ids: int32, gradients: float, hessians: float, feature: int32)
        -> stats_summary: float
    max_splits: int >= 1
    num_buckets: int >= 1
""",
    differentiable=False,
    devices="host",
)
sparse_aggregate_stats_op = op(
    """
    BoostedTreesSparseAggregateStats(node_ids: int32, gradients: float, hessians: float,
        feature_indices: int32, feature_values: int32, feature_shape: int32)
        -> (stats_summary_indices: int32, stats_summary_values: float, stats_summary_shape: int32)
    max_splits: int >= 1
    num_buckets: int >= 1
""",
    differentiable=False,
    devices="host",
)


def _check_examples(node: Node) -> tuple[Any, Any, Any]:
    """Return the dimensions of node numbers, gradients and Hessians, equal in their examples."""
    nodes = dims_lib.with_rank(node.dims(0), 1)
    gradients = dims_lib.with_rank(node.dims(1), 2)
    hessians = dims_lib.with_rank(node.dims(2), 2)
    dims_lib.merge_dim(nodes[0], gradients[0])
    return nodes, gradients, hessians


def _examples(nodes: Any, gradients: Any, hessians: Any, splits: int) -> tuple[Any, Any]:
    """Return the nodes of examples, and their gradients and Hessians side by side.

    InvalidArgumentError if there are not as many of each, or no such nodes.
    """
    nodes = array(nodes, "node_ids", 1)
    parts = array(gradients, "gradients", 2), array(hessians, "hessians", 2)
    for name, part in zip(("gradients", "hessians"), parts, strict=True):
        if len(part) != len(nodes):
            raise refused(
                f"node_ids size should match 0th dim of {name}. node ids size: {len(nodes)}, "
                f"{name} dim0: {len(part)}"
            )
    for place in np.flatnonzero((nodes < 0) | (nodes >= splits))[:1]:
        if nodes[place] < 0:
            raise refused(f"node_ids {place}th entry should be >=0, got: {nodes[place]}")
        raise refused(
            f"Nodes in node_ids must be less than max_splits. Node {place} is {nodes[place]}, "
            f"max_splits {splits}"
        )
    return nodes, np.concatenate(parts, 1)


def _check_buckets(buckets: Any, count: int) -> None:
    outside = buckets[(buckets < 0) | (buckets >= count)]
    if len(outside):
        raise refused(f"Bucket {outside[0]} is not in [0, {count})")


def _sums(keys: Any, values: Any, shape: tuple[int, ...]) -> Array:
    """Sum each column of `values` by key, in double precision, as [*shape, columns]."""
    size = int(np.prod(shape))
    columns = [np.bincount(keys, column, size)[:size] for column in values.T]
    return np.stack(columns, -1).reshape(*shape, len(columns)).astype(np.float32)


# ---- MakeStatsSummary


@make_stats_summary_op.check
def make_stats_summary_check(node: Node) -> None:
    nodes, gradients, hessians = _check_examples(node)
    dims_lib.merge(gradients, hessians)
    for index in range(node.num_features):
        dims_lib.merge_dim(nodes[0], dims_lib.with_rank(node.dims(3 + index), 1)[0])


@make_stats_summary_op.shape
def make_stats_summary_shape(node: Node) -> OutputDims:
    return node.num_features, node.max_splits, node.num_buckets, 2


@make_stats_summary_op.kernel
def make_stats_summary_kernel(node: Node) -> Kernel:
    splits, buckets = node.max_splits, node.num_buckets

    def make(nodes: Any, gradients: Any, hessians: Any, *features: Any) -> torch.Tensor:
        if (sums := _summed(nodes, gradients, hessians, features, (splits, buckets))) is not None:
            return tensor(sums, np.float32)
        nodes, both = _examples(nodes, gradients, hessians, splits)
        width = both.shape[1] // 2
        values = both[:, [0, width]].astype(np.float64)
        found = [
            _sums(_keys(nodes, feature, index, splits, buckets), values, (splits, buckets))
            for index, feature in enumerate(features)
        ]
        return tensor(np.stack(found), np.float32)

    return make


def _summed(nodes: Any, gradients: Any, hessians: Any, features: Any, size: Any) -> Array | None:
    """Return the sums of all features; None for bad arguments, and without a native loop."""
    library, given = native.library(), [x.contiguous() for x in (nodes, gradients, hessians)]
    is_equal = gradients.ndim == 2 and gradients.shape == hessians.shape and gradients.shape[1]
    same = all(each.shape == nodes.shape == gradients.shape[:1] for each in features)
    if library is None or not is_equal or not same:
        return None
    sums = np.zeros((len(features), *size, 2))
    at = [x.data_ptr() for x in given]
    for feature, out in zip((x.contiguous() for x in features), sums, strict=True):
        if not library.sum_stats(
            *at, gradients.shape[1], feature.data_ptr(), len(nodes), *size, out.ctypes.data
        ):
            return None
    return sums


def _keys(nodes: Any, feature: Any, index: int, splits: int, buckets: int) -> Array:
    """Return each example's place in the counts; past the end, where nothing is read.

    As in TF, a bucket there is none of is counted in the first ones of the next node: quantiles may
    come in one bucket more than they were asked for.
    """
    feature = array(feature, "bucketized_features_list", 1)
    if len(feature) != len(nodes):
        raise refused(
            f"feature {index} should have same size as node_ids, got {len(feature)} and "
            f"{len(nodes)}"
        )
    if (feature < 0).any():
        raise refused(f"Bucket {feature.min()} of feature {index} should be >= 0")
    return np.minimum(nodes.astype(np.int64) * buckets + feature, splits * buckets)


@make_stats_summary_op.samples
def make_stats_summary_samples() -> Samples:
    nodes, ones = np.array([1, 0, 1], np.int32), np.array([[0.1], [0.2], [0.3]], np.float32)
    features = [np.array([0, 1, 1], np.int32), np.array([1, 1, 0], np.int32)]
    yield Sample(nodes, ones, ones * 2, features, max_splits=2, num_buckets=2)
    yield Sample(nodes, ones, ones, [np.array([2, 2, 9], np.int32)], max_splits=2, num_buckets=2)
    yield Bad(nodes, ones, ones, [np.array([0, -9, 1], np.int32)], max_splits=2, num_buckets=2,
              match="should be >= 0")  # fmt: skip
    yield Bad(nodes[:2], ones, ones, features, max_splits=2, num_buckets=2, match="must be equal")


# ---- AggregateStats


@aggregate_stats_op.check
def aggregate_stats_check(node: Node) -> None:
    nodes, _, hessians = _check_examples(node)
    dims_lib.merge_dim(hessians[0], nodes[0])
    dims_lib.merge_dim(dims_lib.with_rank(node.dims(3), 2)[0], nodes[0])


@aggregate_stats_op.shape
def aggregate_stats_shape(node: Node) -> OutputDims:
    stats = dims_lib.add(dims_lib.dim(node.dims(1), 1), dims_lib.dim(node.dims(2), 1))
    dimensions = dims_lib.dim(node.dims(3), 1)
    if node.planning:
        return node.max_splits, dimensions, node.num_buckets + 1, stats
    return node.max_splits, node.num_buckets, dimensions, stats  # as TF has it


@aggregate_stats_op.kernel
def aggregate_stats_kernel(node: Node) -> Kernel:
    splits, buckets = node.max_splits, node.num_buckets

    def aggregate(nodes: Any, gradients: Any, hessians: Any, feature: Any) -> torch.Tensor:
        nodes, values = _examples(nodes, gradients, hessians, splits)
        feature = array(feature, "feature", 2)
        if len(feature) != len(nodes):
            raise refused(f"feature has {len(feature)} examples, node_ids {len(nodes)}")
        dimensions, columns = feature.shape[1], values.shape[1]
        if (library := native.library()) is not None:
            sums = np.zeros((splits, dimensions, buckets + 1, columns))
            given = [np.ascontiguousarray(x) for x in (nodes, values, feature)]
            at, size = [x.ctypes.data for x in given], (len(nodes), dimensions, buckets, columns)
            if library.aggregate_stats(*at, *size, sums.ctypes.data):
                return tensor(sums, np.float32)
        # the last bucket is for missing features
        feature = np.where(feature == -1, buckets, feature)
        _check_buckets(feature.ravel(), buckets + 1)
        keys = nodes.astype(np.int64)[:, None] * dimensions + np.arange(dimensions)
        keys = keys * (buckets + 1) + feature
        repeated = np.repeat(values.astype(np.float64), dimensions, 0)
        shape = splits, dimensions, buckets + 1
        return tensor(_sums(keys.ravel(), repeated, shape), np.float32)

    return aggregate


@aggregate_stats_op.samples
def aggregate_stats_samples() -> Samples:
    nodes, ones = np.array([1, 0, 1], np.int32), np.array([[0.1], [0.2], [0.3]], np.float32)
    features = np.array([[0, 1], [-1, 0], [1, 1]], np.int32)
    yield Sample(nodes, ones, ones * 2, features, max_splits=2, num_buckets=2)
    yield Bad(nodes - 1, ones, ones, features, max_splits=2, num_buckets=2, match="should be >=0")


# ---- SparseAggregateStats


@sparse_aggregate_stats_op.check
def sparse_aggregate_stats_check(node: Node) -> None:
    nodes, _, hessians = _check_examples(node)
    dims_lib.merge_dim(hessians[0], nodes[0])
    indices = dims_lib.with_rank(node.dims(3), 2)
    dims_lib.merge_dim(indices[0], dims_lib.with_rank(node.dims(4), 1)[0])
    size = dims_lib.with_rank(node.dims(5), 1)[0]
    if size is not None:
        dims_lib.with_value(size, 2)


@sparse_aggregate_stats_op.shape
def sparse_aggregate_stats_shape(node: Node) -> OutputDims:
    return [(None, 4), (None,), (4,)]


@sparse_aggregate_stats_op.kernel
def sparse_aggregate_stats_kernel(node: Node) -> Kernel:
    splits, buckets = node.max_splits, node.num_buckets

    def aggregate(
        nodes: Any, gradients: Any, hessians: Any, *feature: Any
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        nodes, values = _examples(nodes, gradients, hessians, splits)
        found = _dense_buckets(feature, len(nodes), buckets)
        dimensions, stats = found.shape[1], values.shape[1]
        keys = nodes.astype(np.int64)[:, None] * dimensions + np.arange(dimensions)
        keys, places = np.unique((keys * (buckets + 1) + found).ravel(), return_inverse=True)
        sums = np.zeros((len(keys), stats), np.float32)
        np.add.at(sums, places.ravel(), np.repeat(values, dimensions, 0))
        rest, bucket = np.divmod(np.repeat(keys, stats), buckets + 1)
        node_ids, dimension = np.divmod(rest, dimensions)
        indices = np.stack([node_ids, dimension, bucket, np.tile(np.arange(stats), len(keys))], 1)
        shape = [splits, dimensions, buckets + 1, stats]
        return tensor(indices, np.int32), tensor(sums.ravel(), np.float32), tensor(shape, np.int32)

    return aggregate


def _dense_buckets(feature: Any, examples: int, buckets: int) -> Array:
    """Return the buckets of a sparse feature, [examples, dimensions].

    Missing ones have the last.
    """
    indices = array(feature[0], "feature_indices", 2)
    values, shape = array(feature[1], "feature_values", 1), array(feature[2], "feature_shape", 1)
    if indices.shape[1] != 2:
        raise refused(
            "feature_indices must be a matrix of shape [?, 2], received shape "
            f"[{len(indices)},{indices.shape[1]}]"
        )
    if len(values) != len(indices):
        raise refused(
            "Number of elements in feature_values must match number of sparse entries in "
            f"feature_indices. Got {len(values)} and {len(indices)}"
        )
    _check_buckets(values, buckets + 1)
    rows, columns = indices.T
    if (np.diff(rows) < 0).any():
        raise refused("feature_indices should be increasing")
    if len(rows) and not (rows[0] >= 0 and rows[-1] < examples):
        raise refused(f"feature_indices must be in [0, {examples}) in their first column")
    if len(columns) and not (columns.min() >= 0 and columns.max() < shape[1]):
        raise refused(f"feature_indices must be in [0, {shape[1]}) in their second column")
    found = np.full((examples, shape[1]), buckets, np.int64)
    found[rows, columns] = values
    return found


@sparse_aggregate_stats_op.samples
def sparse_aggregate_stats_samples() -> Samples:
    nodes, ones = np.array([1, 0, 1], np.int32), np.array([[0.1], [0.2], [0.3]], np.float32)
    indices, shape = np.array([[0, 0], [1, 1], [2, 1]], np.int32), np.array([3, 2], np.int32)
    yield Sample(nodes, ones, ones, indices, np.array([0, 1, 1], np.int32), shape, max_splits=2,
                 num_buckets=2)  # fmt: skip
    yield Bad(
        nodes,
        ones,
        ones,
        indices[::-1].copy(),
        np.array([0, 1, 1], np.int32),
        shape,
        max_splits=2,
        num_buckets=2,
        match="should be increasing",
    )
