"""Operations on quantiles of features: summaries, streams of them, boundaries, buckets."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.arrays.search import lower_bound
from stillflow.ops.boosted_trees.quantiles import Stream, Streams, distinct, summary_of
from stillflow.ops.boosted_trees.resources import (
    array,
    handle_kernel,
    internal,
    is_filled_kernel,
    number,
    refused,
    scalar_shape,
    tensors,
)
from stillflow.ops.io.stored import to_stored
from stillflow.ops.samples import Bad, Sample, Samples

quantile_handle_op = op(
    """
    BoostedTreesQuantileStreamResourceHandleOp() -> resource: resource
    container: string = ""
    shared_name: string = ""
    flags: stateful
""",
    differentiable=False,
    devices="host",
)
is_quantile_resource_initialized_op = op(
    """
    IsBoostedTreesQuantileStreamResourceInitialized(quantile_stream_resource_handle: resource)
        -> is_initialized: bool
    flags: stateful
""",
    differentiable=False,
)
create_quantile_stream_resource_op = op(
    """
    BoostedTreesCreateQuantileStreamResource(quantile_stream_resource_handle: resource,
        epsilon: float, num_streams: int64)
    max_elements: int = 1099511627776
    flags: stateful
""",
    differentiable=False,
    devices="host",
)
make_quantile_summaries_op = op(
    """
    BoostedTreesMakeQuantileSummaries(float_values: num_features*float, example_weights: float,
        epsilon: float) -> summaries: num_features*float
    num_features: int >= 0
""",
    differentiable=False,
    devices="host",
)
flush_quantile_summaries_op = op(
    """
    BoostedTreesFlushQuantileSummaries(quantile_stream_resource_handle: resource)
        -> summaries: num_features*float
    num_features: int >= 0
    flags: stateful
""",
    differentiable=False,
    devices="host",
)
quantile_add_summaries_op = op(
    """
    BoostedTreesQuantileStreamResourceAddSummaries(quantile_stream_resource_handle: resource,
        summaries: num_features*float)
    num_features: int >= 0
    flags: stateful
""",
    differentiable=False,
    devices="host",
)
quantile_resource_deserialize_op = op(
    """
    BoostedTreesQuantileStreamResourceDeserialize(quantile_stream_resource_handle: resource,
        bucket_boundaries: num_streams*float)
    num_streams: int >= 1
    flags: stateful
""",
    differentiable=False,
    devices="host",
)
quantile_flush_op = op(
    """
    BoostedTreesQuantileStreamResourceFlush(quantile_stream_resource_handle: resource,
        num_buckets: int64)
    generate_quantiles: bool = false
    flags: stateful
""",
    differentiable=False,
    devices="host",
)
get_bucket_boundaries_op = op(
    """
    BoostedTreesQuantileStreamResourceGetBucketBoundaries(
        quantile_stream_resource_handle: resource) -> bucket_boundaries: num_features*float
    num_features: int >= 0
    flags: stateful
""",
    differentiable=False,
    devices="host",
)
bucketize_op = op(
    """
    BoostedTreesBucketize(float_values: num_features*float,
        bucket_boundaries: num_features*float) -> buckets: num_features*int32
    num_features: int >= 0
""",
    differentiable=False,
    devices="host",
)

quantile_handle_op.shape(scalar_shape)
quantile_handle_op.kernel(handle_kernel("quantile streams"))


def _check_handle(node: Node) -> None:
    if not node.planning:
        dims_lib.with_rank(node.dims(0), 0)


@create_quantile_stream_resource_op.check
@quantile_flush_op.check
def check_scalars(node: Node) -> None:
    _check_handle(node)
    for index in range(1, len(node.inputs)):
        dims_lib.with_rank(node.dims(index), 0)


is_quantile_resource_initialized_op.check(_check_handle)
is_quantile_resource_initialized_op.shape(scalar_shape)
is_quantile_resource_initialized_op.kernel(is_filled_kernel)


@create_quantile_stream_resource_op.kernel
def create_quantile_stream_resource_kernel(node: Node) -> Kernel:
    most = node.max_elements

    def create(slot: Any, epsilon: Any, count: Any) -> None:
        error, streams = float(number(epsilon, "epsilon")), int(number(count, "num_streams"))
        if streams < 0:
            raise refused("Num_streams input cannot be a negative integer")
        Stream(error, most)  # raises an error for invalid settings, even without features
        slot.fill(lambda: Streams(error, most, streams))

    return create


# ---- MakeQuantileSummaries


@make_quantile_summaries_op.check
def make_quantile_summaries_check(node: Node) -> None:
    if node.planning:
        return  # the kernel asks for less
    count = node.num_features
    for index in range(count + 1):
        dims_lib.with_rank(node.dims(index), 1)
    dims_lib.with_rank(node.dims(count + 1), 0)


@make_quantile_summaries_op.shape
@flush_quantile_summaries_op.shape
def summaries_shape(node: Node) -> OutputDims:
    return [(None, 4)] * node.num_features


@make_quantile_summaries_op.kernel
def make_quantile_summaries_kernel(node: Node) -> Kernel:
    count = node.num_features

    def make(*given: Any) -> list[torch.Tensor]:
        *values, weights, epsilon = given
        if not count:
            raise internal("Got empty feature list")
        features = [to_stored(each).ravel() for each in values]
        weights = to_stored(weights).ravel()
        examples = len(features[0])
        if len(weights) not in (1, examples):
            raise refused("Weights should be a single value or same size as features.")
        if any(len(feature) < examples for feature in features):
            raise refused("float_values must be as many for each feature as for the first")
        error = float(number(epsilon, "epsilon"))
        weights = np.resize(weights, examples)
        summaries = [_summarized(each[:examples], weights, error) for each in features]
        return tensors(summaries, np.float32)

    return make


def _summarized(values: Any, weights: Any, error: float) -> Array:
    stream = Stream(error, len(values) + 1)
    stream.push_values(values, weights)
    return stream.finish().rows()


@make_quantile_summaries_op.samples
def make_quantile_summaries_samples() -> Samples:
    values = [np.array([3, 1, 2, 1], np.float32), np.array([0.5, 0.5, 0.5, 0.5], np.float32)]
    yield Sample(values, np.array([1, 2, 1, 0], np.float32), np.float32(0.1))
    yield Sample(values, np.array([1], np.float32), np.float32(0.1))
    yield Bad(values, np.array([1, 2], np.float32), np.float32(0.1), match="single value")


# ---- streams


@flush_quantile_summaries_op.kernel
def flush_quantile_summaries_kernel(node: Node) -> Kernel:
    count = node.num_features

    def flush(slot: Any) -> list[torch.Tensor]:
        with slot.lock:
            _check_count(slot.state, count)
            found = [stream.finish().rows() for stream in slot.state.streams]
            slot.state.begin()
        return tensors(found, np.float32)

    return flush


def _check_count(streams: Streams, count: int) -> None:
    if streams.count != count:
        raise internal(f"Expected num_streams == num_features_, got {streams.count} vs {count}")


@quantile_add_summaries_op.check
def quantile_add_summaries_check(node: Node) -> None:
    _check_handle(node)
    for index in range(1, node.num_features + 1):
        dims_lib.with_rank(node.dims(index), 2)


@quantile_add_summaries_op.kernel
def quantile_add_summaries_kernel(node: Node) -> Kernel:
    def add(slot: Any, *summaries: Any) -> None:
        with slot.lock:
            streams = slot.state.streams
            if len(streams) != len(summaries):
                raise internal(
                    "Expected num_streams == summaries_list.size(), got "
                    f"{len(streams)} vs {len(summaries)}"
                )
            rows = [array(each, "summaries", 2) for each in summaries]
            for each in rows:
                if each.shape[1] != 4:
                    raise internal(f"Expected tensor_shape.dim_size(1) == 4, got {each.shape[1]}")
            for stream, each in zip(streams, rows, strict=True):
                if not stream.is_final:
                    stream.push(summary_of(each))

    return add


@quantile_resource_deserialize_op.check
def quantile_resource_deserialize_check(node: Node) -> None:
    if not node.planning:  # TF requires a scalar, and so accepts only an unknown shape
        dims_lib.with_rank(node.dims(0), 0)
        dims_lib.with_rank(node.dims(1), 0)


@quantile_resource_deserialize_op.kernel
def quantile_resource_deserialize_kernel(node: Node) -> Kernel:
    def read(slot: Any, *boundaries: Any) -> None:
        with slot.lock:
            streams = slot.state
            _check_count(streams, len(boundaries))
            streams.boundaries = [_boundaries(*each) for each in enumerate(boundaries)]

    return read


def _boundaries(index: int, value: Any) -> Array:
    found = to_stored(value)
    if found.ndim != 1:
        raise refused(
            "bucket boundaries for each stream must be a vector, received shape "
            f"{list(found.shape)} for stream {index}"
        )
    return np.array(found, np.float32)


@quantile_flush_op.kernel
def quantile_flush_kernel(node: Node) -> Kernel:
    as_quantiles = node.generate_quantiles

    def flush(slot: Any, count: Any) -> None:
        wanted = int(number(count, "num_buckets"))
        if wanted < 1:
            raise refused(f"num_buckets must be positive, got {wanted}")
        with slot.lock:
            streams = slot.state
            found = [stream.finish() for stream in streams.streams]
            if as_quantiles:
                streams.boundaries = [each.quantiles(wanted - 1) for each in found]
            else:
                streams.boundaries = [distinct(each.boundaries(wanted)) for each in found]
            streams.begin()

    return flush


@get_bucket_boundaries_op.check
def get_bucket_boundaries_check(node: Node) -> None:
    _check_handle(node)


@get_bucket_boundaries_op.shape
def get_bucket_boundaries_shape(node: Node) -> OutputDims:
    return [(None,)] * node.num_features


@get_bucket_boundaries_op.kernel
def get_bucket_boundaries_kernel(node: Node) -> Kernel:
    count = node.num_features

    def boundaries(slot: Any) -> list[torch.Tensor]:
        with slot.lock:
            _check_count(slot.state, count)
            return tensors(slot.state.boundaries, np.float32)

    return boundaries


# ---- Bucketize


@bucketize_op.check
def bucketize_check(node: Node) -> None:
    for index in range(0 if node.planning else node.num_features):
        (count,) = dims_lib.with_rank(node.dims(index), 1)
        dims_lib.merge_dim(count, dims_lib.dim(node.dims(0), 0))


@bucketize_op.shape
def bucketize_shape(node: Node) -> OutputDims:
    return [(dims_lib.dim(node.dims(index), 0),) for index in range(node.num_features)]


@bucketize_op.kernel
def bucketize_kernel(node: Node) -> Kernel:
    count = node.num_features

    def bucketize(*given: Any) -> torch.Tensor | list[torch.Tensor]:
        values, boundaries = given[:count], given[count:]
        if count and boundaries[0].ndim != 1:
            raise refused("Buckets should be flat vectors.")
        if not all(each.ndim for each in values):
            raise refused("float_values must be vectors")
        found = [_buckets(*pair) for pair in zip(values, boundaries, strict=True)]
        return found[0] if count == 1 else found

    return bucketize


def _buckets(values: Any, limits: Any) -> torch.Tensor:
    """Return the bucket of the first numbers, as many as there are rows; limits need not ascend."""
    limits = limits.reshape(-1)
    found = lower_bound(limits, values.reshape(-1)[: len(values)], out_int32=True)
    return found.clamp_(max=max(0, len(limits) - 1))


@bucketize_op.samples
def bucketize_samples() -> Samples:
    values = [np.array([0.5, 3, 7], np.float32), np.array([1, 2, 3], np.float32)]
    yield Sample(values, [np.array([1, 3, 5], np.float32), np.zeros(0, np.float32)])
    yield Sample(values, [np.array([1, 100, 5], np.float32), np.zeros((0, 2), np.float32)])
    yield Sample(values[:1], [np.array([1, 5], np.float32)])
    yield Bad(values, [np.zeros((0, 2), np.float32)] * 2, match="should be flat vectors")
