"""Quantiles of a stream of values, which several tasks may add to."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.ops.raw_ops import positional
from stillflow.train.saveables import SaveableObject, SaveSpec
from stillflow.train.tracking.base import Trackable
from stillflow.variables.resources import register_resource
from stillflow_contrib.boosted_trees.scheduling import ScheduledStampedResourceOp
from stillflow_contrib.ops.boosted_trees import accumulator_cards as cards
from stillflow_contrib.ops.boosted_trees.feature_quantile_cards import make_quantile_summaries_op

# The functions that TensorFlow generates, whose arguments go by position.


def _operation(name: str) -> Callable[..., Any]:
    function = positional(name)
    assert function is not None
    return function


bucketize_with_input_boundaries = _operation("BucketizeWithInputBoundaries")
create_quantile_accumulator = _operation("CreateQuantileAccumulator")
make_quantile_summaries = _operation("MakeQuantileSummaries")
quantile_accumulator_add_summaries = _operation("QuantileAccumulatorAddSummaries")
quantile_accumulator_deserialize = _operation("QuantileAccumulatorDeserialize")
quantile_accumulator_flush = _operation("QuantileAccumulatorFlush")
quantile_accumulator_flush_summary = _operation("QuantileAccumulatorFlushSummary")
quantile_accumulator_get_buckets = _operation("QuantileAccumulatorGetBuckets")
quantile_accumulator_is_initialized = _operation("QuantileAccumulatorIsInitialized")
quantile_accumulator_serialize = _operation("QuantileAccumulatorSerialize")
quantile_buckets = _operation("QuantileBuckets")
quantile_stream_resource_handle_op = _operation("QuantileStreamResourceHandleOp")
quantiles = _operation("Quantiles")

_NOT_IN_NAMES = re.compile(r"[\W_]+")
_SUFFIXES = ("_stamp", "_state", "_are_buckets_ready", "buckets")


class QuantileAccumulatorSaveable(SaveableObject):
    """All that an accumulator holds.

    Args:
      resource_handle: the accumulator.
      create_op: the operation that creates it.
      name: under which it is saved.
    """

    def __init__(self, resource_handle: Any, create_op: Any, name: str) -> None:
        self._resource_handle = resource_handle
        self._create_op = create_op
        parts = cards.quantile_accumulator_serialize_op(resource_handle)
        specs = [
            SaveSpec(part, "", name + suffix) for part, suffix in zip(parts, _SUFFIXES, strict=True)
        ]
        super().__init__(resource_handle, specs, name)

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Operation:
        """Set the state that was read."""
        stamp, state, is_ready = (restored_tensors[place : place + 1] for place in range(3))
        with tf.control_dependencies([self._create_op]):
            return cards.quantile_accumulator_deserialize_op(
                self._resource_handle, stamp, state, is_ready, restored_tensors[3]
            )


class QuantileAccumulator(Trackable):
    """A stream of weighted values, and the quantiles of the one before.

    Every operation on it has a stamp; one with an older stamp has no effect.

    Args:
      init_stamp_token: the first stamp.
      epsilon: the error of ranks, relative to the weight of all.
      num_quantiles: how many buckets are wanted.
      max_elements: how many values come at most.
      name: under which it is saved.
      container: of the resource.
      generate_quantiles: whether buckets are the values of exact ranks, `num_quantiles` + 1 of
        them, and not about as many boundaries.
    """

    def __init__(
        self, init_stamp_token: Any, epsilon: float, num_quantiles: int,
        max_elements: int | None = None, name: Any = None, container: str | None = None,
        generate_quantiles: bool = False,
    ) -> None:  # fmt: skip
        self._init_stamp_token = init_stamp_token
        self._epsilon = epsilon
        self._settings: dict[str, Any] = {
            "epsilon": epsilon, "max_elements": max_elements, "num_quantiles": num_quantiles,
            "generate_quantiles": generate_quantiles,
        }  # fmt: skip
        name = _NOT_IN_NAMES.sub("", name)
        with tf.name_scope(name, "QuantileAccumulator") as scope:
            self.resource_handle = cards.quantile_stream_resource_handle_op(
                container=container, shared_name=scope, name=scope
            )
            self._init_op = self._initialize()
            is_initialized = self.is_initialized()
        register_resource(self.resource_handle, self._init_op, is_initialized)
        self._saveable = QuantileAccumulatorSaveable(self.resource_handle, self._init_op, scope)
        tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, self._saveable)

    def _initialize(self) -> Operation:
        return cards.create_quantile_accumulator_op(
            self.resource_handle, self._init_stamp_token, **self._settings
        )

    @property
    def initializer(self) -> Operation:
        """The operation that creates it."""
        return self._init_op

    def is_initialized(self) -> Tensor:
        """Return True if that was done, a boolean scalar."""
        return cards.quantile_accumulator_is_initialized_op(self.resource_handle)

    def get_buckets(self, stamp_token: Any) -> tuple[Any, Any]:
        """Return True (a scalar tensor) if there are buckets, and float32 [buckets]."""
        ready, buckets = cards.quantile_accumulator_get_buckets_op(
            [self.resource_handle], stamp_token
        )
        return ready[0], buckets[0]

    def schedule_get_buckets(self) -> ScheduledStampedResourceOp:
        """Return the same together with others' requests."""
        return ScheduledStampedResourceOp(self.resource_handle, quantile_accumulator_get_buckets)

    def _summary(self, column: Any, example_weights: Any) -> Tensor:
        error = self._epsilon / 2
        if isinstance(column, SparseTensor):
            return make_quantile_summaries_op(
                [], [column.indices], [column.values], [column.dense_shape], example_weights,
                epsilon=error,
            ).sparse_summaries[0]  # fmt: skip
        return make_quantile_summaries_op(
            [column], [], [], [], example_weights, epsilon=error
        ).dense_summaries[0]

    def add_summary(self, stamp_token: Any, column: Any, example_weights: Any) -> Operation:
        """Add values.

        Args:
          stamp_token: an int64 scalar.
          column: a feature, float32 [examples, 1], or sparse.
          example_weights: float32 [examples, 1].

        Returns:
          The operation.
        """
        return self.add_prebuilt_summary(stamp_token, self._summary(column, example_weights))

    def add_prebuilt_summary(self, stamp_token: Any, summary: Any) -> Operation:
        """Add values whose summary was made before, a string scalar."""
        return cards.quantile_accumulator_add_summaries_op(
            [self.resource_handle], stamp_token, [summary]
        )

    def schedule_add_summary(
        self, stamp_token: Any, column: Any, example_weights: Any
    ) -> ScheduledStampedResourceOp:
        """Add values together with others' values."""
        summary = self._summary(column, example_weights)
        return ScheduledStampedResourceOp(
            self.resource_handle, quantile_accumulator_add_summaries, summaries=summary
        )

    def flush(self, stamp_token: Any, next_stamp_token: Any) -> Operation:
        """Make buckets of all that has come; a new stream begins.

        Args:
          stamp_token: an int64 scalar.
          next_stamp_token: the stamp of the new stream.

        Returns:
          The operation.
        """
        return cards.quantile_accumulator_flush_op(
            self.resource_handle, stamp_token, next_stamp_token
        )

    def flush_summary(self, stamp_token: Any, next_stamp_token: Any) -> Tensor:
        """Return the summary of all that has come, a string scalar; a new stream begins."""
        return cards.quantile_accumulator_flush_summary_op(
            self.resource_handle, stamp_token, next_stamp_token
        )
