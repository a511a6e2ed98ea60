"""Summaries of pictures and sounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.files import png, wav
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dims import shape_text
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.tensor_proto import make_ndarray
from stillflow.ops.samples import Sample, Samples
from stillflow.ops.summary.encoding import AUDIO, IMAGE, message, value
from stillflow.ops.summary.kernels import in_numpy, one_string, string
from stillflow.ops.summary.names import collect_summary, of_first_replica, summary_scope
from stillflow.protos import Summary

_DARK = np.float32(1e-6)  # where the brightest is below, everything is black


def _refuse(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, message)


def _tag(base: bytes, kind: str, index: int, several: bool) -> bytes:
    return base + (f"/{kind}/{index}" if several else f"/{kind}").encode()


# ---- ImageSummary

image_summary_op = op(
    """
    ImageSummary(tag: string, tensor: T) -> summary: string
    max_images: int >= 1 = 3
    T: {uint8, float, half, double} = float
    bad_color: tensor = uint8 [255, 0, 0, 255]
""",
    differentiable=False,
    beside=True,
)


@image_summary_op.shape
def image_summary_shape(node: Node) -> OutputDims:
    return ()


@image_summary_op.kernel
def image_summary_kernel(node: Node) -> Kernel:
    limit = node.max_images
    bad_color = _color(node.bad_color)

    def summarize(tag: Any, tensor: Any) -> Array:
        base = one_string(tag, "Tags must be a scalar")
        return string(image_values(base, in_numpy(tensor), limit, bad_color))

    return summarize


def image_values(base: bytes, images: Array, limit: int, bad_color: Array) -> bytes:
    """Return up to `limit` images [batch, height, width, channels] as a `Summary`.

    `base` is the prefix of the tags; `bad_color`, uint8, replaces pixels that are not finite.
    InvalidArgumentError for images of another shape.
    """
    _check_images(images, bad_color)
    _, height, width, depth = images.shape
    values = []
    for index, one in enumerate(images[:limit]):
        pixels = one if one.dtype == np.uint8 else in_bytes(one, bad_color[:depth])
        content = Summary.Image(
            height=height,
            width=width,
            colorspace=depth,
            encoded_image_string=png.encode(np.ascontiguousarray(pixels)),
        )
        tag = _tag(base, "image", index, limit > 1)
        values.append(value(tag, message(IMAGE, content.SerializeToString())))
    return b"".join(values)


def _color(given: Any) -> Array:
    color = given if isinstance(given, np.ndarray) else make_ndarray(given)
    if color.dtype != np.uint8:
        raise _refuse(f"bad_color must be uint8, got {dtypes.cpp_name(color.dtype)}")
    return checked_color(color)


def checked_color(color: Array) -> Array:
    """Return a color; InvalidArgumentError unless it is a vector."""
    if color.ndim != 1:
        raise _refuse(f"bad_color must be a vector, got shape {shape_text(color.shape)}")
    return color


def _check_images(images: Array, bad_color: Array) -> None:
    shape = images.shape
    if images.ndim != 4 or shape[3] not in (1, 3, 4):
        raise _refuse(f"Tensor must be 4-D with last dim 1, 3, or 4, not {shape_text(shape)}")
    if max(shape[:3]) >= 1 << 31 or shape[1] * shape[2] >= 1 << 29:
        raise _refuse(f"Tensor too large for summary {shape_text(shape)}")
    if not shape[1] * shape[2]:
        found = ", ".join(map(str, shape))
        raise _refuse(f"input tensor must have non-zero dims. Found: [{found}].")
    if images.dtype != np.uint8 and bad_color.size < shape[3]:
        raise _refuse(
            f"expected depth <= bad_color.size, got depth = {shape[3]}, "
            f"bad_color.size = {bad_color.size}"
        )


def in_bytes(image: Array, bad_color: Array) -> Array:
    """Return an image [height, width, channels] of floating-point numbers, scaled to bytes.

    From 0 to its largest value, or, where there are negative ones, symmetrically around 128.
    `bad_color`, a byte a channel, is for pixels that are not finite.
    """
    kind = image.dtype.type
    finite = np.isfinite(image).all(2)
    chosen = ... if finite.all() else finite  # all at once are not copied first
    with np.errstate(over="ignore", invalid="ignore"):
        values = image[chosen].astype(np.float32, copy=False)
    low, high = (values.min(), values.max()) if values.size else (np.float32(0), np.float32(0))
    largest = max(abs(low), abs(high)) if low < 0 else high
    span, offset = (127, 128) if low < 0 else (255, 0)
    scale = kind(0) if largest < _DARK else kind(np.float32(span) / largest)
    result = np.empty(image.shape, np.uint8)
    result[:] = bad_color
    result[chosen] = (image[chosen] * scale + kind(offset)).astype(np.uint8)
    return result


@image_summary_op.samples
def image_summary_samples() -> Samples:
    yield Sample("picture", np.linspace(0, 1, 24, dtype=np.float32).reshape(1, 2, 3, 4))
    yield Sample("picture", np.arange(24, dtype=np.uint8).reshape(2, 3, 4, 1), max_images=1)


@export("summary.image")
@of_first_replica
def image(
    name: str,
    tensor: Any,
    max_outputs: int = 3,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> Tensor:
    """Return a summary of pictures.

    Args:
      name: the name of the operation; with its scopes it is the prefix of the tags.
      tensor: uint8, or floating-point numbers which are scaled, [batch, height, width, channels]
        with 1 (grey), 3 (RGB) or 4 (RGBA) channels.
      max_outputs: how many of the batch to take.
      collections: the graph collections to add the summary to, by default that of all summaries.
      family: the prefix of the tags.

    Returns:
      A string: a serialized `tf.summary.Summary`.

    Example:
      >>> text = tf.Session().run(tf.summary.image("digits", tf.zeros([2, 28, 28, 1])))
      >>> [(x.tag, x.image.width, x.image.colorspace) for x in tf.Summary.FromString(text).value]
      [('digits/image/0', 28, 1), ('digits/image/1', 28, 1)]
    """
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        summary = image_summary_op(tag, tensor, max_images=max_outputs, name=scope)
        return collect_summary(summary, collections)


# ---- AudioSummary, AudioSummaryV2

audio_summary_op = op(
    """
    AudioSummary(tag: string, tensor: float) -> summary: string
    sample_rate: float
    max_outputs: int >= 1 = 3
""",
    differentiable=False,
)
audio_summary_v2_op = op(
    """
    AudioSummaryV2(tag: string, tensor: float, sample_rate: float) -> summary: string
    max_outputs: int >= 1 = 3
""",
    differentiable=False,
    beside=True,
)


@audio_summary_op.shape
@audio_summary_v2_op.shape
def audio_summary_shape(node: Node) -> OutputDims:
    return ()


@audio_summary_op.kernel
def audio_summary_kernel(node: Node) -> Kernel:
    rate, limit = np.float32(node.sample_rate), node.max_outputs
    return lambda tag, tensor: _audio(tag, tensor, rate, limit)


@audio_summary_v2_op.kernel
def audio_summary_v2_kernel(node: Node) -> Kernel:
    limit = node.max_outputs
    return lambda tag, tensor, rate: _audio(tag, tensor, in_numpy(rate).reshape(-1)[0], limit)


def _audio(tag: Any, tensor: Any, rate: Any, limit: int) -> Array:
    base = one_string(tag, "Tag must be a scalar")
    return string(audio_values(base, in_numpy(tensor), rate, limit))


def audio_values(base: bytes, clips: Any, rate: Any, limit: int) -> bytes:
    """Return up to `limit` clips as a `Summary`; `rate` is in frames a second.

    Clips are [batch, frames, channels] or [batch, frames]; `base` is the prefix of the tags.
    InvalidArgumentError for clips of another shape, or such a rate.
    """
    if clips.ndim not in (2, 3):
        raise _refuse(f"Tensor must be 3-D or 2-D, got: {shape_text(clips.shape)}")
    if not rate > 0:
        raise _refuse("sample_rate must be > 0")
    if not rate < 2.0**32:
        shown = int(min(rate, 2.0**63))
        raise _refuse(f"sample_rate must be in (0, 2^32), got: {shown}")
    if clips.ndim == 2:
        clips = clips[:, :, None]
    _, frames, channels = clips.shape
    values = []
    for index, clip in enumerate(clips[:limit]):
        try:
            encoded = wav.encode(clip, max(1, int(np.rint(rate))))
        except ValueError as error:
            raise _refuse(str(error)) from None
        content = Summary.Audio(
            sample_rate=float(rate),
            num_channels=channels,
            length_frames=frames,
            encoded_audio_string=encoded,
            content_type="audio/wav",
        )
        tag = _tag(base, "audio", index, limit > 1)
        values.append(value(tag, message(AUDIO, content.SerializeToString())))
    return b"".join(values)


@audio_summary_v2_op.samples
def audio_summary_v2_samples() -> Samples:
    yield Sample("sound", np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4), np.float32(8000))


@export("summary.audio")
@of_first_replica
def audio(
    name: str,
    tensor: Any,
    sample_rate: Any,
    max_outputs: int = 3,
    collections: Sequence[str] | None = None,
    family: str | None = None,
) -> Tensor:
    """Return a summary of sounds.

    Args:
      name: the name of the operation; with its scopes it is the prefix of the tags.
      tensor: float32 [batch, frames, channels] or [batch, frames], between -1 and 1.
      sample_rate: frames a second.
      max_outputs: how many of the batch to take.
      collections: the graph collections to add the summary to, by default that of all summaries.
      family: the prefix of the tags.

    Returns:
      A string: a serialized `tf.summary.Summary`.
    """
    with summary_scope(name, family=family, values=[tensor]) as (tag, scope):
        rate = convert_to_tensor(sample_rate, dtype=dtypes.float32, name="sample_rate")
        summary = audio_summary_v2_op(tag, tensor, rate, max_outputs=max_outputs, name=scope)
        return collect_summary(summary, collections)
