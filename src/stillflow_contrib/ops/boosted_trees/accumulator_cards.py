"""Quantile accumulators of tf.contrib.boosted_trees, and the operations on them.

An accumulator has a stamp. Statistics with an older one come too late, and have no effect.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.boosted_trees.quantiles import EMPTY, Stream, Summary, distinct
from stillflow.ops.boosted_trees.resources import (
    handle_kernel,
    is_filled_kernel,
    number,
    refused,
    scalar_shape,
    string,
    tensor,
)
from stillflow.ops.io.stored import to_stored
from stillflow_contrib.ops.boosted_trees.quantile_messages import (
    MESSAGES,
    message_of,
    parsed,
    serialized,
    summary_in,
)

quantile_stream_resource_handle_op = op(
    """
    QuantileStreamResourceHandleOp() -> resource: resource
    container: string = ""
    shared_name: string = ""
    flags: stateful
""",
    differentiable=False,
)
quantile_accumulator_is_initialized_op = op(
    """
    QuantileAccumulatorIsInitialized(quantile_accumulator_handle: resource) -> is_initialized: bool
    flags: stateful
""",
    differentiable=False,
)
create_quantile_accumulator_op = op(
    """
    CreateQuantileAccumulator(quantile_accumulator_handle: resource, stamp_token: int64)
    container: string = ""
    shared_name: string = ""
    max_elements: int = 1099511627776
    epsilon: float
    num_quantiles: int
    generate_quantiles: bool = false
    flags: stateful
""",
    differentiable=False,
)
quantile_accumulator_add_summaries_op = op(
    """
    QuantileAccumulatorAddSummaries(
        quantile_accumulator_handles: num_resource_handles*resource, stamp_token: int64,
        summaries: num_resource_handles*string)
    num_resource_handles: int >= 1
    flags: stateful
""",
    differentiable=False,
)
quantile_accumulator_get_buckets_op = op(
    """
    QuantileAccumulatorGetBuckets(
        quantile_accumulator_handles: num_resource_handles*resource, stamp_token: int64)
        -> (are_buckets_ready: num_resource_handles*bool, buckets: num_resource_handles*float)
    num_resource_handles: int >= 1
    flags: stateful
""",
    differentiable=False,
)
quantile_accumulator_flush_op = op(
    """
    QuantileAccumulatorFlush(quantile_accumulator_handle: resource, stamp_token: int64,
                             next_stamp_token: int64)
    flags: stateful
""",
    differentiable=False,
)
quantile_accumulator_flush_summary_op = op(
    """
    QuantileAccumulatorFlushSummary(quantile_accumulator_handle: resource, stamp_token: int64,
                                    next_stamp_token: int64) -> output: string
    flags: stateful
""",
    differentiable=False,
)
quantile_accumulator_serialize_op = op(
    """
    QuantileAccumulatorSerialize(quantile_accumulator_handle: resource)
        -> (stamp_token: int64, stream_state: string, are_buckets_ready: bool, buckets: float)
    flags: stateful
""",
    differentiable=False,
)
quantile_accumulator_deserialize_op = op(
    """
    QuantileAccumulatorDeserialize(quantile_accumulator_handle: resource, stamp_token: int64,
        stream_state: string, are_buckets_ready: bool, buckets: float)
    flags: stateful
""",
    differentiable=False,
)


class Accumulator:
    """A stream of values, the buckets of the one before, and the stamp.

    Args:
      error: the error of ranks.
      most: how many values come at most.
      count: of buckets.
      as_quantiles: whether these are the values of exact ranks.
      stamp: the first one.
    """

    def __init__(self, error: float, most: int, count: int, as_quantiles: bool, stamp: int) -> None:
        self._settings = error, most
        self._count, self._as_quantiles = count, as_quantiles
        self.buckets = np.zeros(0, np.float32)
        self.is_ready = False
        self.begin(stamp)

    def begin(self, stamp: int) -> None:
        """Forget all that has come; buckets stay."""
        self.stamp = stamp
        self.stream = Stream(*self._settings)

    def finish(self, stamp: int, following: int, operation: str) -> Summary:
        """Return the summary of all that has come; a new stream begins.

        Raises:
          InvalidArgumentError: for another stamp, after which TensorFlow ends the process.
        """
        if stamp != self.stamp:
            raise refused(
                f"Invalid stamp token in {operation}Op. Passed stamp token: {stamp} Current "
                f"token: {self.stamp}"
            )
        summary = self.stream.finish()
        self.begin(following)
        return summary

    def set_buckets(self, summary: Summary) -> None:
        """Make buckets of a summary."""
        self.is_ready = True
        if self._as_quantiles:
            self.buckets = summary.quantiles(self._count)
        else:
            self.buckets = distinct(summary.boundaries(self._count))


quantile_stream_resource_handle_op.shape(scalar_shape)
quantile_stream_resource_handle_op.kernel(handle_kernel("quantile accumulators"))
quantile_accumulator_is_initialized_op.shape(scalar_shape)
quantile_accumulator_is_initialized_op.kernel(is_filled_kernel)


@create_quantile_accumulator_op.check
@quantile_accumulator_add_summaries_op.check
def check_scalars(node: Node) -> None:
    for index in range(0 if node.planning else len(node.inputs)):
        dims_lib.with_rank(node.dims(index), 0)


@create_quantile_accumulator_op.kernel
def create_quantile_accumulator_kernel(node: Node) -> Kernel:
    settings = node.epsilon, node.max_elements, node.num_quantiles, node.generate_quantiles

    def create(slot: Any, stamp: Any) -> None:
        if settings[0] <= 0:
            raise refused("An epsilon value of zero is not allowed.")
        slot.fill(lambda: Accumulator(*settings, int(stamp)))

    return create


@quantile_accumulator_add_summaries_op.kernel
def quantile_accumulator_add_summaries_kernel(node: Node) -> Kernel:
    count = node.num_resource_handles

    def add(*given: Any) -> None:
        slots, stamp, summaries = given[:count], int(given[count]), given[count + 1 :]
        for slot, summary in zip(slots, summaries, strict=True):
            with slot.lock:
                if slot.state.stamp == stamp:
                    text = string(summary, "summaries")
                    problem = "Unable to parse quantile summary."
                    found = parsed(MESSAGES["QuantileSummaryState"], text, problem)
                    slot.state.stream.push(summary_in(found))

    return add


@quantile_accumulator_get_buckets_op.shape
def quantile_accumulator_get_buckets_shape(node: Node) -> OutputDims:
    count = node.num_resource_handles
    return [()] * count + [(None,)] * count


@quantile_accumulator_get_buckets_op.kernel
def quantile_accumulator_get_buckets_kernel(node: Node) -> Kernel:
    def get(*given: Any) -> Any:
        *slots, stamp = given
        ready, buckets = [], []
        for slot in slots:
            with slot.lock:
                is_ready = slot.state.stamp == int(stamp) and slot.state.is_ready
                ready.append(torch.tensor(is_ready))
                buckets.append(tensor(slot.state.buckets if is_ready else [], np.float32))
        return [*ready, *buckets]

    return get


@quantile_accumulator_flush_op.kernel
def quantile_accumulator_flush_kernel(node: Node) -> Kernel:
    def flush(slot: Any, stamp: Any, following: Any) -> None:
        with slot.lock:
            accumulator = slot.state
            summary = accumulator.finish(int(stamp), int(following), "QuantileAccumulatorFlush")
            accumulator.set_buckets(summary)

    return flush


@quantile_accumulator_flush_summary_op.shape
def quantile_accumulator_flush_summary_shape(node: Node) -> OutputDims:
    return None


@quantile_accumulator_flush_summary_op.kernel
def quantile_accumulator_flush_summary_kernel(node: Node) -> Kernel:
    def flush(slot: Any, stamp: Any, following: Any) -> Array:
        with slot.lock:
            operation = "QuantileAccumulatorFlushSummary"
            summary = slot.state.finish(int(stamp), int(following), operation)
        return serialized(message_of(summary))

    return flush


@quantile_accumulator_serialize_op.shape
def quantile_accumulator_serialize_shape(node: Node) -> OutputDims:
    return [None] * 4


@quantile_accumulator_serialize_op.kernel
def quantile_accumulator_serialize_kernel(node: Node) -> Kernel:
    def serialize(slot: Any) -> list[torch.Tensor | Array]:
        with slot.lock:
            accumulator = slot.state
            # TensorFlow writes the summary that rises through the levels, too; it is empty.
            levels = [*accumulator.stream.levels, EMPTY]
            state = MESSAGES["QuantileStreamState"](summaries=[message_of(each) for each in levels])
            buckets = accumulator.buckets if accumulator.is_ready else []
            return [
                torch.tensor(accumulator.stamp), serialized(state),
                torch.tensor(accumulator.is_ready), tensor(buckets, np.float32),
            ]  # fmt: skip

    return serialize


@quantile_accumulator_deserialize_op.kernel
def quantile_accumulator_deserialize_kernel(node: Node) -> Kernel:
    def read(slot: Any, stamp: Any, state: Any, is_ready: Any, buckets: Any) -> None:
        text = state.reshape(-1)[0]
        problem = "Unabnle to parse quantile stream state."  # so written in TensorFlow
        summaries = parsed(MESSAGES["QuantileStreamState"], text, problem).summaries
        if not summaries:
            raise refused("The state of a quantile stream has one summary at least")
        with slot.lock:
            accumulator = slot.state
            accumulator.stream.levels = [summary_in(each) for each in summaries[:-1]]
            accumulator.buckets = np.array(to_stored(buckets), np.float32)
            accumulator.stamp = int(number(stamp, "stamp_token"))
            accumulator.is_ready = bool(number(is_ready, "are_buckets_ready"))

    return read
