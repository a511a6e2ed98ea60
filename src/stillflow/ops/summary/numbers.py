"""Summaries of numbers: scalars and histograms."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.ops.samples import Bad, Sample
from stillflow.ops.summary.kernels import (
    in_numpy,
    one_string,
    serialized,
    shape_text,
    text,
)
from stillflow.ops.summary.names import collect, summary_scope
from stillflow.protos import HistogramProto, Summary

_NUMBERS = (
    "{float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"
)

# ---- ScalarSummary

scalar_summary_op = op(
    f"""
    ScalarSummary(tags: string, values: T) -> summary: string
    T: {_NUMBERS}
""",
    differentiable=False,
)


@scalar_summary_op.shape
def scalar_summary_shape(node: Node) -> Any:
    return ()


@scalar_summary_op.kernel
def scalar_summary_kernel(node: Node) -> Any:
    def summarize(tags: Any, values: Any) -> Any:
        values = in_numpy(values)
        if tags.shape != values.shape:
            tag = f" (tag '{text(tags.reshape(-1)[0])}')" if tags.size == 1 else ""
            raise errors.InvalidArgumentError(
                None, None,
                f"tags and values not the same shape: {shape_text(tags.shape)} != "
                f"{shape_text(values.shape)}{tag}",
            )
        summary = Summary()
        with np.errstate(over="ignore"):
            numbers = values.reshape(-1).astype(np.float32)
        for tag, number in zip(tags.reshape(-1), numbers.tolist()):
            summary.value.add(tag=text(tag), simple_value=number)
        return serialized(summary)

    return summarize


@scalar_summary_op.samples
def scalar_summary_samples() -> Iterator[Sample | Bad]:
    yield Sample("loss", np.float32(1.5))
    yield Sample(["a", "b"], np.array([1, 2], np.int32))


@export("summary.scalar")
def scalar(
    name: str, tensor: Any, collections: Sequence[str] | None = None, family: str | None = None
) -> Tensor:
    """A summary of one number.

    Args:
      name: the name of the operation; with its scopes it is the summary's tag.
      tensor: a real number.
      collections: the graph collections to add the summary to, by default that of all summaries.
      family: what the tag begins with.

    Returns:
      A string: a serialized `tf.summary.Summary`.
    """
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        summary = scalar_summary_op(tag, tensor, name=scope)
        return collect(summary, collections)


# ---- HistogramSummary

histogram_summary_op = op(
    f"""
    HistogramSummary(tag: string, values: T) -> summary: string
    T: {_NUMBERS} = float
""",
    differentiable=False,
)


@histogram_summary_op.shape
def histogram_summary_shape(node: Node) -> Any:
    return ()


@functools.cache
def bucket_limits() -> np.ndarray[Any, Any]:
    """The upper ends of the buckets: 0, powers of 1.1 from 1e-12 to 1e20 and their negatives."""
    powers = []
    limit = 1e-12
    while limit < 1e20:
        powers.append(limit)
        limit *= 1.1  # so rounded, not as 1.1**n
    powers.append(sys.float_info.max)
    return np.array([*(-power for power in reversed(powers)), 0.0, *powers])


def histogram_proto(values: np.ndarray[Any, Any]) -> Any:
    """Counts finite values, a vector of float64, into a `HistogramProto`."""
    limits = bucket_limits()
    if not values.size:
        counts = np.zeros(limits.size)
        low, total, squares = sys.float_info.max, 0.0, 0.0
        high = -sys.float_info.max
    else:
        ordered = np.sort(values)
        below = np.searchsorted(ordered, limits)
        below[-1] = values.size  # the last bucket takes the largest number too
        counts = np.diff(below, prepend=0).astype(np.float64)
        low, high = values[values.argmin()], values[values.argmax()]
        # One after the other: pairwise sums would be rounded otherwise.
        with np.errstate(over="ignore"):
            total = np.add.accumulate(values)[-1]
            squares = np.add.accumulate(values * values)[-1]
    # Of several empty buckets in a row only the last is told.
    kept = counts > 0
    kept[:-1] |= counts[1:] > 0
    kept[-1] = True
    return HistogramProto(
        min=low, max=high, num=values.size, sum=total, sum_squares=squares,
        bucket_limit=limits[kept].tolist(), bucket=counts[kept].tolist(),
    )


@histogram_summary_op.kernel
def histogram_summary_kernel(node: Node) -> Any:
    name = node.name

    def summarize(tag: Any, values: Any) -> Any:
        label = one_string(tag, "tags must be scalar")
        numbers = in_numpy(values).reshape(-1).astype(np.float64)
        finite = np.isfinite(numbers)
        if not finite.all():
            first = numbers[finite.argmin()]
            what = "Nan" if np.isnan(first) else "Infinity"
            raise errors.InvalidArgumentError(
                None, None, f"{what} in summary histogram for: {name}"
            )
        summary = Summary()
        summary.value.add(tag=label, histo=histogram_proto(numbers))
        return serialized(summary)

    return summarize


@histogram_summary_op.samples
def histogram_summary_samples() -> Iterator[Sample | Bad]:
    yield Sample("weights", np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4))
    yield Sample("none", np.zeros([0], np.float32))


@export("summary.histogram")
def histogram(
    name: str, values: Any, collections: Sequence[str] | None = None, family: str | None = None
) -> Tensor:
    """A summary of how numbers are spread.

    Args:
      name: the name of the operation; with its scopes it is the summary's tag.
      values: real numbers, any shape; finite ones.
      collections: the graph collections to add the summary to, by default that of all summaries.
      family: what the tag begins with.

    Returns:
      A string: a serialized `tf.summary.Summary`.
    """
    with summary_scope(name, family, values=[values], default_name="HistogramSummary") as (
        tag, scope,
    ):
        summary = histogram_summary_op(tag, values, name=scope)
        return collect(summary, collections)
