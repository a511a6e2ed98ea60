"""Merging of summaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from stillflow import errors
from stillflow.graph.api import get_collection, name_scope
from stillflow.graph.card import op
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.samples import Sample, Samples
from stillflow.ops.summary.kernels import string
from stillflow.ops.summary.names import clean_tag, collect, of_first_replica
from stillflow.protos import Summary

merge_summary_op = op(
    """
    MergeSummary(inputs: N*string) -> summary: string
    N: int >= 1
""",
    differentiable=False,
)


@merge_summary_op.shape
def merge_summary_shape(node: Node) -> OutputDims:
    return ()


@merge_summary_op.kernel
def merge_summary_kernel(node: Node) -> Kernel:
    def merge(*inputs: Any) -> Any:
        merged = Summary()
        tags: set[str] = set()
        for content in (item for value in inputs for item in value.reshape(-1)):
            try:
                values = Summary.FromString(content).value
            except DecodeError:
                raise errors.InvalidArgumentError(
                    None, None, "Could not parse one of the summary inputs"
                ) from None
            merged.value.extend(values)  # and nothing else that may be there
            for value in values:
                tag = value.tag
                if tag and tag in tags:
                    raise errors.InvalidArgumentError(
                        None, None, f"Duplicate tag {tag} found in summary inputs"
                    )
                tags.add(tag)
        return string(merged.SerializeToString())

    return merge


@merge_summary_op.samples
def merge_summary_samples() -> Samples:
    one = Summary(value=[Summary.Value(tag="a", simple_value=1)]).SerializeToString()
    two = Summary(value=[Summary.Value(tag="b", simple_value=2)]).SerializeToString()
    yield Sample([np.array(one, object), np.array([two], object)])
    yield Sample([np.array(b" 2", object)])  # a field that summaries do not have


@export("summary.merge")
@of_first_replica
def merge(inputs: Any, collections: Sequence[str] | None = None, name: str | None = None) -> Tensor:
    """One summary of several.

    Args:
      inputs: serialized summaries, strings; their tags have to differ.
      collections: the graph collections to add it to; none by default.
      name: of the operation.

    Returns:
      A string: a serialized `tf.summary.Summary`.

    Example:
      >>> both = tf.summary.merge([tf.summary.scalar("loss", 0.5), tf.summary.scalar("rate", 0.25)])
      >>> [value.tag for value in tf.Summary.FromString(tf.Session().run(both)).value]
      ['loss', 'rate']
    """
    _refuse_eager()
    name = clean_tag(name)
    with name_scope(name, "Merge", inputs):
        return collect(merge_summary_op(inputs, name=name), collections, ())


@export("summary.merge_all")
def merge_all(
    key: str = GraphKeys.SUMMARIES, scope: str | None = None, name: str | None = None
) -> Tensor | None:
    """One summary of all in a graph collection.

    Args:
      key: the collection.
      scope: a regular expression that the names of those meant begin with.
      name: of the operation.

    Returns:
      A string: a serialized `tf.summary.Summary`; None if there are no summaries.

    Example:
      >>> loss, rate = tf.summary.scalar("loss", 0.5), tf.summary.scalar("rate", 0.25)
      >>> text = tf.Session().run(tf.summary.merge_all())
      >>> [value.tag for value in tf.Summary.FromString(text).value]
      ['loss', 'rate']
    """
    _refuse_eager()
    summaries = get_collection(key, scope=scope)
    return merge(summaries, name=name) if summaries else None


def _refuse_eager() -> None:
    if executing_eagerly():
        raise RuntimeError(
            "Merging tf.summary.* ops is not compatible with eager execution. Use "
            "tf.contrib.summary instead."
        )
