"""Summaries of numbers: scalars and histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.dims import shape_text
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.samples import Sample, Samples
from stillflow.ops.summary.encoding import simple_value, value
from stillflow.ops.summary.histograms import counts_fast, histogram_summary
from stillflow.ops.summary.kernels import in_numpy, one_string, shown, string
from stillflow.ops.summary.names import collect_summary, of_first_replica, summary_scope

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
def scalar_summary_shape(node: Node) -> OutputDims:
    return ()


@scalar_summary_op.kernel
def scalar_summary_kernel(node: Node) -> Kernel:
    def summarize(tags: Any, values: Any) -> Array:
        values = in_numpy(values)
        if tags.shape != values.shape:
            tag = f" (tag '{shown(tags.reshape(-1)[0])}')" if tags.size == 1 else ""
            raise errors.InvalidArgumentError(
                None,
                None,
                f"tags and values not the same shape: {shape_text(tags.shape)} != "
                f"{shape_text(values.shape)}{tag}",
            )
        with np.errstate(over="ignore"):
            numbers = values.reshape(-1).astype(np.float32)
        pairs = zip(tags.reshape(-1), numbers.tolist())
        return string(b"".join(value(tag, simple_value(number)) for tag, number in pairs))

    return summarize


@scalar_summary_op.samples
def scalar_summary_samples() -> Samples:
    yield Sample("loss", np.float32(1.5))
    yield Sample(["a", "b"], np.array([1, 2], np.int32))


@export("summary.scalar")
@of_first_replica
def scalar(
    name: str, tensor: Any, collections: Sequence[str] | None = None, family: str | None = None
) -> Tensor:
    """Return a summary of one number.

    Args:
      name: the name of the operation; with its scopes it is the summary's tag.
      tensor: a real number.
      collections: the graph collections to add the summary to, by default that of all summaries.
      family: the prefix of the tag.

    Returns:
      A string: a serialized `tf.summary.Summary`.

    Example:
      >>> text = tf.Session().run(tf.summary.scalar("loss", tf.constant(0.5)))
      >>> [(value.tag, value.simple_value) for value in tf.Summary.FromString(text).value]
      [('loss', 0.5)]
    """
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        summary = scalar_summary_op(tag, tensor, name=scope)
        return collect_summary(summary, collections)


# ---- HistogramSummary


histogram_summary_op = op(
    f"""
    HistogramSummary(tag: string, values: T) -> summary: string
    T: {_NUMBERS} = float
""",
    differentiable=False,
    beside=lambda node: not counts_fast(node.inputs[1].dtype.as_numpy_dtype),
)


@histogram_summary_op.shape
def histogram_summary_shape(node: Node) -> OutputDims:
    return ()


@histogram_summary_op.kernel
def histogram_summary_kernel(node: Node) -> Kernel:
    def summarize(tag: Any, values: Any) -> Array:
        label = one_string(tag, "tags must be scalar")
        return string(histogram_summary(label, values, node.name))

    return summarize


@histogram_summary_op.samples
def histogram_summary_samples() -> Samples:
    yield Sample("weights", np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4))
    yield Sample("none", np.zeros([0], np.float32))


@export("summary.histogram")
@of_first_replica
def histogram(
    name: str, values: Any, collections: Sequence[str] | None = None, family: str | None = None
) -> Tensor:
    """Return a summary of how numbers are spread.

    Args:
      name: the name of the operation; with its scopes it is the summary's tag.
      values: real numbers, any shape; finite ones.
      collections: the graph collections to add the summary to, by default that of all summaries.
      family: the prefix of the tag.

    Returns:
      A string: a serialized `tf.summary.Summary`.

    Example:
      >>> text = tf.Session().run(tf.summary.histogram("weights", [1.0, 2.0, 2.0]))
      >>> value, = tf.Summary.FromString(text).value
      >>> value.tag, value.histo.num, value.histo.max
      ('weights', 3.0, 2.0)
    """
    with summary_scope(name, family, values=[values], default_name="HistogramSummary") as (
        tag,
        scope,
    ):
        summary = histogram_summary_op(tag, values, name=scope)
        return collect_summary(summary, collections)
