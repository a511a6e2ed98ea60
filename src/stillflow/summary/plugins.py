"""Summaries of `tf.compat.v2.summary` by kind, as TensorBoard's plugins want them.

TensorFlow 1.15 has these functions of an installed TensorBoard. Each writes a tensor in its
plugin's form, with the plugin's name in the metadata.
"""

from __future__ import annotations

import functools
from typing import Any

from stillflow.functional.map_fn import map_fn
from stillflow.graph import dtypes
from stillflow.graph.compat_v2 import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.image.types import convert_image_dtype
from stillflow.ops.arrays.compat_v2 import shape as shape_of
from stillflow.ops.arrays.compat_v2 import size as size_of
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.one_hot import one_hot
from stillflow.ops.arrays.sequences import linspace
from stillflow.ops.arrays.shape import reshape
from stillflow.ops.arrays.stack import stack
from stillflow.ops.arrays.tile import tile
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.audio.wav import encode_wav
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.debugging.compat_v2 import (
    assert_non_negative,
    assert_rank,
    assert_scalar,
    assert_type,
)
from stillflow.ops.image.png_gif_bmp import encode_png
from stillflow.ops.math.binary import minimum
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal
from stillflow.ops.math.reductions import reduce_max, reduce_min, reduce_sum
from stillflow.ops.math.unary import floor
from stillflow.ops.strings.numbers import as_string
from stillflow.protos import SummaryMetadata
from stillflow.summary.writing import summary_scope, write

_BUCKETS = 30
_WAV = b"\x10\x0b"  # AudioPluginData with the encoding WAV; other plugins' data are empty


def _metadata(plugin: str, description: str | None, content: bytes = b"") -> SummaryMetadata:
    """Return the metadata that names the plugin of a summary."""
    told = SummaryMetadata(summary_description=description or "")
    told.plugin_data.plugin_name = plugin
    told.plugin_data.content = content
    return told


@export("compat.v2.summary.scalar")
def scalar(name: str, data: Any, step: Any = None, description: str | None = None) -> Tensor:
    """Write a number.

    Args:
      name: the summary's name.
      data: a number of any type that can be cast to float32.
      step: an int64; by default that of `set_step`.
      description: text in TensorBoard, in Markdown.

    Returns:
      A bool tensor: whether it was written.

    Raises:
      ValueError: if `data` is no scalar, or there is a writer but no step.
    """
    with summary_scope(name, "scalar_summary", values=[data, step]) as (tag, _):
        assert_scalar(data)
        number = cast(data, dtypes.float32)
        return write(tag, number, step, metadata=_metadata("scalars", description))


@export("compat.v2.summary.histogram")
def histogram(
    name: str, data: Any, step: Any = None, buckets: int | None = None,
    description: str | None = None,
) -> Tensor:  # fmt: skip
    """Write how often values are found in ranges of equal width.

    Args:
      name: the summary's name.
      data: numbers, of any shape.
      step: an int64; by default that of `set_step`.
      buckets: how many ranges, 30 by default; if all values are the same there is one.
      description: text in TensorBoard, in Markdown.

    Returns:
      A bool tensor: whether it was written.

    Raises:
      ValueError: if there is a writer but no step.
    """
    with summary_scope(name, "histogram_summary", values=[data, buckets, step]) as (tag, _):
        counted = _count(data, _BUCKETS if buckets is None else buckets)
        return write(tag, counted, step, metadata=_metadata("histograms", description))


def _count(data: Any, buckets: Any) -> Tensor:
    """Rows (lower edge, upper edge, count), float64 [buckets, 3]."""
    with name_scope("buckets"):
        assert_scalar(buckets)
        assert_type(buckets, dtypes.int32)
        values = cast(reshape(data, [-1]), dtypes.float64)
        return cond(
            equal(size_of(values), 0),
            lambda: constant([], dtypes.float64, (0, 3)),
            lambda: _count_some(values, buckets),
        )


def _count_some(values: Any, buckets: Any) -> Tensor:
    low, high = reduce_min(values), reduce_max(values)
    width = high - low

    def in_ranges() -> Tensor:
        step = width / cast(buckets, dtypes.float64)
        places = cast(floor((values - low) / step), dtypes.int32)
        hits = one_hot(minimum(places, buckets - 1), depth=buckets)
        counts = cast(reduce_sum(hits, axis=0), dtypes.float64)
        edges = linspace(low, high, buckets + 1)
        edges = concat([edges[:-1], [high]], 0)  # the sum may miss the last one
        return transpose(stack([edges[:-1], edges[1:], counts]))

    def in_one() -> Tensor:
        lower, upper = stack([low - 0.5]), stack([low + 0.5])
        count = stack([cast(size_of(values), dtypes.float64)])
        return transpose(stack([lower, upper, count]))

    return cond(equal(width, 0), in_one, in_ranges)


@export("compat.v2.summary.image")
def image(
    name: str, data: Any, step: Any = None, max_outputs: Any = 3, description: str | None = None
) -> Tensor:
    """Write pictures, as PNG.

    Args:
      name: the summary's name.
      data: [pictures, height, width, channels]; numbers from 0 to 1, or uint8.
      step: an int64; by default that of `set_step`.
      max_outputs: how many pictures are written at most.
      description: text in TensorBoard, in Markdown.

    Returns:
      A bool tensor: whether they were written.

    Raises:
      ValueError: if `data` has another rank, or there is a writer but no step.
    """
    with summary_scope(name, "image_summary", values=[data, max_outputs, step]) as (tag, _):
        assert_rank(data, 4)
        assert_non_negative(max_outputs)
        pictures = convert_image_dtype(data, dtypes.uint8, saturate=True)
        coded = _coded(encode_png, pictures[:max_outputs], "encode_each_image")
        shape = shape_of(pictures)
        size = [
            as_string(shape[2], name="width"),
            as_string(shape[1], name="height"),
        ]
        content = concat([stack(size, name="dimensions"), coded], axis=0)
        return write(tag, content, step, metadata=_metadata("images", description))


@export("compat.v2.summary.audio")
def audio(
    name: str, data: Any, sample_rate: Any, step: Any = None, max_outputs: Any = 3,
    encoding: str | None = None, description: str | None = None,
) -> Tensor:  # fmt: skip
    """Write sounds, as WAV.

    Args:
      name: the summary's name.
      data: [sounds, frames, channels], float32 from -1 to 1.
      sample_rate: frames a second, an int32.
      step: an int64; by default that of `set_step`.
      max_outputs: how many sounds are written at most.
      encoding: "wav".
      description: text in TensorBoard, in Markdown.

    Returns:
      A bool tensor: whether they were written.

    Raises:
      ValueError: for another encoding, if `data` has another rank, or for a writer without a step.
    """
    if encoding not in (None, "wav"):
        raise ValueError(f"Unknown encoding: {encoding!r}")
    inputs = [data, sample_rate, max_outputs, step]
    with summary_scope(name, "audio_summary", values=inputs) as (tag, _):
        assert_rank(data, 3)
        assert_non_negative(max_outputs)
        sounds = data[:max_outputs]
        encode = functools.partial(encode_wav, sample_rate=sample_rate)
        coded = _coded(encode, sounds, "encode_each_audio")
        labels = tile([""], shape_of(sounds)[:1])
        content = transpose(stack([coded, labels]))
        return write(tag, content, step, metadata=_metadata("audio", description, _WAV))


def _coded(encode: Any, parts: Any, name: str) -> Tensor:
    """Each part as a string; a vector even if there is none."""
    coded = map_fn(encode, parts, dtype=dtypes.string, name=name)
    some = shape_of(coded)[0] > 0
    return cond(some, lambda: coded, lambda: constant([], dtypes.string))


@export("compat.v2.summary.text")
def text(name: str, data: Any, step: Any = None, description: str | None = None) -> Tensor:
    """Write texts.

    Args:
      name: the summary's name.
      data: strings, of any shape.
      step: an int64; by default that of `set_step`.
      description: text in TensorBoard, in Markdown.

    Returns:
      A bool tensor: whether they were written.

    Raises:
      ValueError: if there is a writer but no step.
      TypeError: if `data` are no strings.
    """
    with summary_scope(name, "text_summary", values=[data, step]) as (tag, _):
        assert_type(data, dtypes.string)
        return write(tag, data, step, metadata=_metadata("text", description))
