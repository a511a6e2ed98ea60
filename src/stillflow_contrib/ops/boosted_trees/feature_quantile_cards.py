"""Operations of tf.contrib.boosted_trees on features: summaries, quantiles, buckets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.arrays.search import lower_bound
from stillflow.ops.boosted_trees.quantiles import Stream, Summary, distinct
from stillflow.ops.boosted_trees.resources import refused, tensor
from stillflow.ops.io.stored import to_stored
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow_contrib.ops.boosted_trees.quantile_messages import (
    MESSAGES,
    message_of,
    parsed,
    serialized,
)

make_quantile_summaries_op = op(
    """
    MakeQuantileSummaries(dense_float_features: num_dense_features*float,
        sparse_float_feature_indices: num_sparse_features*int64,
        sparse_float_feature_values: num_sparse_features*float,
        sparse_float_feature_shapes: num_sparse_features*int64, example_weights: float)
        -> (dense_summaries: num_dense_features*string,
            sparse_summaries: num_sparse_features*string)
    num_dense_features: int >= 0
    num_sparse_features: int >= 0
    epsilon: float
""",
    differentiable=False,
)
quantile_buckets_op = op(
    """
    QuantileBuckets(dense_float_features: num_dense_features*float,
        sparse_float_feature_indices: num_sparse_features*int64,
        sparse_float_feature_values: num_sparse_features*float,
        sparse_float_feature_shapes: num_sparse_features*int64, example_weights: float)
        -> (dense_buckets: num_dense_features*float, sparse_buckets: num_sparse_features*float)
    num_dense_features: int >= 0
    num_sparse_features: int >= 0
    dense_config: list(string)
    sparse_config: list(string)
""",
    differentiable=False,
)
quantiles_op = op(
    """
    Quantiles(dense_values: num_dense_features*float, sparse_values: num_sparse_features*float,
        dense_buckets: num_dense_features*float, sparse_buckets: num_sparse_features*float,
        sparse_indices: num_sparse_features*int64)
        -> (dense_quantiles: num_dense_features*int32,
            sparse_quantiles: num_sparse_features*int32)
    num_dense_features: int >= 0
    num_sparse_features: int >= 0
""",
    differentiable=False,
)
bucketize_with_input_boundaries_op = op(
    """
    BucketizeWithInputBoundaries(input: T, boundaries: float) -> output: int32
    T: {int32, int64, float, double}
""",
    differentiable=False,
)


def _outputs(values: Sequence[Any]) -> Array | list[torch.Tensor | Array]:
    """Return the outputs of an operation; a single one as it is."""
    return values[0] if len(values) == 1 else list(values)


# ---- summaries and buckets of features


def _check_features(node: Node) -> None:
    if node.num_dense_features + node.num_sparse_features == 0:
        raise ValueError("Please provide at least sparse or dense features.")


class _Features:
    """Inputs of the operations on dense and sparse features: values, and their weights."""

    def __init__(self, dense: int, sparse: int, given: Sequence[Any]) -> None:
        arrays = [to_stored(each) for each in given]
        self.weights = arrays[-1].ravel()
        self.dense = [each.ravel() for each in arrays[:dense]]
        self.indices = arrays[dense : dense + sparse]
        self.values = [each.ravel() for each in arrays[dense + sparse : dense + 2 * sparse]]
        self.shapes = [each.ravel() for each in arrays[dense + 2 * sparse : -1]]

    def dense_summary(self, index: int, error: float, most: int) -> Summary:
        """Return the summary of a dense feature, one value of each example."""
        values = self.dense[index]
        if len(values) < len(self.weights):
            raise refused("dense_float_features must have a value of each example")
        return _summarized(values[: len(self.weights)], self.weights, error, most)

    def sparse_summary(self, index: int, error: float, most: int) -> Summary:
        """Return the summary of a sparse feature."""
        examples = self.indices[index][:, 0]
        if len(examples) and not 0 <= examples.min() <= examples.max() < len(self.weights):
            raise refused("sparse_float_feature_indices must be those of examples")
        values = self.values[index][: len(examples)]
        return _summarized(values, self.weights[examples], error, most)


def _summarized(values: Any, weights: Any, error: float, most: int) -> Summary:
    stream = Stream(error, most)
    stream.push_values(values, weights)
    return stream.finish()


@make_quantile_summaries_op.check
def make_quantile_summaries_check(node: Node) -> None:
    if node.planning:
        return _check_features(node)
    count = node.num_dense_features
    weights = dims_lib.with_rank(node.dims(count + 3 * node.num_sparse_features), 2)
    for index in range(count):
        dims_lib.merge_dim(dims_lib.with_rank(node.dims(index), 2)[0], weights[0])
    return None


@make_quantile_summaries_op.shape
def make_quantile_summaries_shape(node: Node) -> OutputDims:
    return [()] * (node.num_dense_features + node.num_sparse_features)


@make_quantile_summaries_op.kernel
def make_quantile_summaries_kernel(node: Node) -> Kernel:
    error, dense, sparse = node.epsilon, node.num_dense_features, node.num_sparse_features

    def make(*given: Any) -> Array | list[Array]:
        features = _Features(dense, sparse, given)
        examples = len(features.weights)
        if any(shape[0] != examples for shape in features.shapes):
            raise refused("Sparse column shape doesn't match the batch size.")
        found = [features.dense_summary(index, error, examples + 1) for index in range(dense)]
        found += [features.sparse_summary(index, error, examples + 1) for index in range(sparse)]
        return _outputs([serialized(message_of(each)) for each in found])

    return make


@quantile_buckets_op.check
def quantile_buckets_check(node: Node) -> None:
    if node.planning:
        _check_features(node)


@quantile_buckets_op.shape
def quantile_buckets_shape(node: Node) -> OutputDims:
    return [None] * (node.num_dense_features + node.num_sparse_features)


@quantile_buckets_op.kernel
def quantile_buckets_kernel(node: Node) -> Kernel:
    configs, counts = [], (node.num_dense_features, node.num_sparse_features)
    for kind in ("dense", "sparse"):
        texts = getattr(node, f"{kind}_config")
        if len(texts) != getattr(node, f"num_{kind}_features"):
            raise refused(f"Mismatch in number of {kind} quantile configs.")
        problem = "Malformed QuantileConfig passed in."
        configs.append([parsed(MESSAGES["QuantileConfig"], text, problem) for text in texts])

    def buckets(*given: Any) -> Any:
        features = _Features(*counts, given)
        examples, found = len(features.weights), []
        for kind, summary in enumerate((features.dense_summary, features.sparse_summary)):
            for index, config in enumerate(configs[kind]):
                limits = summary(index, config.eps, examples).boundaries(config.num_quantiles)
                found.append(tensor(distinct(limits), np.float32))
        return _outputs(found)

    return buckets


_CONFIG = b"\x09" + np.float64(0.33).tobytes() + b"\x10\x03"
_DENSE = np.array([1, 2, 3, 4, 4, 5], np.float32)
_INDICES = np.array([[1, 0], [2, 0], [3, 0], [4, 0], [5, 0]])
_SPARSE = np.array([2, 3, 4, 5, 6], np.float32)
_WEIGHTS = np.array([10, 1, 1, 1, 1, 1], np.float32)


@make_quantile_summaries_op.samples
def make_quantile_summaries_samples() -> Samples:
    dense, weights = _DENSE[:, None], _WEIGHTS[:, None]
    shape = np.array([6, 1])
    yield Sample([dense], [_INDICES], [_SPARSE], [shape], weights, epsilon=0.1)
    yield Sample([dense, -dense], [], [], [], weights, epsilon=0.1)
    problem = "match the batch size"
    yield Bad([], [_INDICES], [_SPARSE], [shape + 1], weights, epsilon=0.1, match=problem)


@quantile_buckets_op.samples
def quantile_buckets_samples() -> Samples:
    shape = np.array([6, 1])
    yield Sample(
        [_DENSE], [_INDICES], [_SPARSE], [shape], _WEIGHTS, dense_config=[_CONFIG],
        sparse_config=[_CONFIG],
    )  # fmt: skip
    yield Bad(
        [_DENSE], [], [], [], _WEIGHTS, dense_config=[], sparse_config=[],
        match="number of dense quantile configs",
    )  # fmt: skip


# ---- buckets of values


@quantiles_op.check
def quantiles_check(node: Node) -> None:
    if node.planning:
        _check_features(node)


@quantiles_op.shape
def quantiles_shape(node: Node) -> OutputDims:
    count = node.num_dense_features + node.num_sparse_features
    return [(dims_lib.dim(node.dims(index), 0), 2) for index in range(count)]


@quantiles_op.kernel
def quantiles_kernel(node: Node) -> Kernel:
    dense, sparse = node.num_dense_features, node.num_sparse_features
    count = dense + sparse

    def quantiles(*given: Any) -> Any:
        buckets, indices = given[count : 2 * count], given[2 * count :]
        for kind, place, size in (("Dense", 0, dense), ("Sparse", dense, sparse)):
            if size and buckets[place].dim() != 1:
                raise refused(f"{kind} buckets should be flat vectors")
        found = []
        for place, (values, limits) in enumerate(zip(given[:count], buckets, strict=True)):
            if not limits.numel() and len(values):
                raise refused(f"Got empty buckets for feature {place}")
            dimension = None if place < dense else indices[place - dense][: len(values), 1]
            found.append(_pairs(values.reshape(-1)[: len(values)], limits.reshape(-1), dimension))
        return _outputs(found)

    return quantiles


def _pairs(values: Any, limits: Any, dimension: Any) -> torch.Tensor:
    """Return the bucket of each value, and which dimension of the feature it is."""
    bucket = lower_bound(limits, values, out_int32=True).clamp_(max=max(0, len(limits) - 1))
    which = torch.zeros_like(bucket) if dimension is None else dimension.to(torch.int32)
    return torch.stack([bucket, which], 1)


@quantiles_op.samples
def quantiles_samples() -> Samples:
    limits = np.array([1, 3, 5], np.float32)
    yield Sample([_DENSE], [_SPARSE], [limits], [limits + 1], [_INDICES])
    yield Bad([_DENSE], [], [limits[None]], [], [], match="Dense buckets should be flat vectors")
    yield Bad([_DENSE], [], [limits[:0]], [], [], match="Got empty buckets for feature 0")


@bucketize_with_input_boundaries_op.shape
def bucketize_with_input_boundaries_shape(node: Node) -> OutputDims:
    return node.dims(0)


@bucketize_with_input_boundaries_op.kernel
def bucketize_with_input_boundaries_kernel(node: Node) -> Kernel:
    def bucketize(values: Any, boundaries: Any) -> torch.Tensor:
        limits = boundaries.reshape(-1).to(values.dtype)  # integers cut them off
        if bool((limits[1:] < limits[:-1]).any()):
            raise refused("Expected sorted boundaries")
        return torch.searchsorted(limits, values.contiguous(), right=True, out_int32=True)

    return bucketize


@bucketize_with_input_boundaries_op.samples
def bucketize_with_input_boundaries_samples() -> Samples:
    limits = np.array([0, 10, 100], np.float32)
    yield Sample(np.array([[-5, 10000], [150, 10], [5, 100]], np.float32), limits, grad=False)
    yield Bad(np.array([1], np.float32), limits[::-1].copy(), match="Expected sorted boundaries")
