"""Functions that make summaries with the caller's tags, unique or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import get_collection, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow.ops.summary.media import audio_summary_v2_op, image_summary_op
from stillflow.ops.summary.merging import merge_summary_op
from stillflow.ops.summary.names import collect, collect_summary
from stillflow.ops.summary.numbers import histogram_summary_op, scalar_summary_op
from stillflow.util.deprecation import Function, deprecated


def _instead(name: str, more: str = "") -> Callable[[Function], Function]:
    return deprecated(
        "2016-11-30",
        f"Please switch to tf.summary.{name}. Note that tf.summary.{name} uses the node name "
        "instead of the tag. This means that TensorFlow will automatically de-duplicate summary "
        f"names based on the scope they are created in.{more}",
    )


@export("contrib.deprecated.scalar_summary")
@_instead(
    "scalar",
    " Also, passing a tensor or list of tags to a scalar summary op is no longer supported.",
)
def scalar_summary(
    tags: Any, values: Any, collections: Sequence[str] | None = None, name: str | None = None
) -> Tensor:
    """Return a summary of numbers.

    Args:
      tags: strings.
      values: real numbers, in the tags' shape.
      collections: the graph collections to add the summary to, by default that of all summaries.
      name: of the operation.

    Returns:
      A string: a serialized `tf.Summary`.
    """
    with name_scope(name, "ScalarSummary", [tags, values]) as scope:
        return collect_summary(scalar_summary_op(tags, values, name=scope), collections)


@export("contrib.deprecated.histogram_summary")
@_instead("histogram")
def histogram_summary(
    tag: Any, values: Any, collections: Sequence[str] | None = None, name: str | None = None
) -> Tensor:
    """Return a summary of how numbers are spread.

    Args:
      tag: a string.
      values: real numbers, any shape; finite ones.
      collections: the graph collections to add the summary to, by default that of all summaries.
      name: of the operation.

    Returns:
      A string: a serialized `tf.Summary`.
    """
    with name_scope(name, "HistogramSummary", [tag, values]) as scope:
        return collect_summary(histogram_summary_op(tag, values, name=scope), collections)


@export("contrib.deprecated.image_summary")
@_instead("image", " Also, the max_images argument was renamed to max_outputs.")
def image_summary(
    tag: Any, tensor: Any, max_images: int = 3, collections: Sequence[str] | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return a summary of pictures.

    Args:
      tag: a string, the prefix of the tags.
      tensor: uint8 or float32 [batch, height, width, channels].
      max_images: how many of the batch to take.
      collections: the graph collections to add the summary to, by default that of all summaries.
      name: of the operation.

    Returns:
      A string: a serialized `tf.Summary`.
    """
    with name_scope(name, "ImageSummary", [tag, tensor]) as scope:
        summary = image_summary_op(tag, tensor, max_images=max_images, name=scope)
        return collect_summary(summary, collections)


@export("contrib.deprecated.audio_summary")
@_instead("audio")
def audio_summary(
    tag: Any, tensor: Any, sample_rate: Any, max_outputs: int = 3,
    collections: Sequence[str] | None = None, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return a summary of sounds.

    Args:
      tag: a string, the prefix of the tags.
      tensor: float32 [batch, frames, channels] or [batch, frames], between -1 and 1.
      sample_rate: frames a second.
      max_outputs: how many of the batch to take.
      collections: the graph collections to add the summary to, by default that of all summaries.
      name: of the operation.

    Returns:
      A string: a serialized `tf.Summary`.
    """
    with name_scope(name, "AudioSummary", [tag, tensor]) as scope:
        rate = convert_to_tensor(sample_rate, dtype=dtypes.float32, name="sample_rate")
        summary = audio_summary_v2_op(tag, tensor, rate, max_outputs=max_outputs, name=scope)
        return collect_summary(summary, collections)


@export("contrib.deprecated.merge_summary")
def merge_summary(
    inputs: Any, collections: Sequence[str] | None = None, name: str | None = None
) -> Tensor:
    """One summary of several.

    Args:
      inputs: serialized summaries, strings; their tags have to differ.
      collections: the graph collections to add it to; none by default.
      name: of the operation.

    Returns:
      A string: a serialized `tf.Summary`.
    """
    with name_scope(name, "MergeSummary", inputs):
        return collect(merge_summary_op(inputs, name=name), collections, ())


@export("contrib.deprecated.merge_all_summaries")
def merge_all_summaries(key: str = GraphKeys.SUMMARIES) -> Any:
    """One summary of all in a graph collection; None if there are none.

    Args:
      key: the collection.
    """
    summaries = get_collection(key)
    return merge_summary(summaries) if summaries else None
