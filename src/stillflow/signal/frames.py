"""Cutting signals into overlapping frames, and adding frames up again."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import zeros, zeros_like
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.pad import pad
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import rank as rank_of
from stillflow.ops.arrays.shape import reshape, shape, size
from stillflow.ops.arrays.slicing import strided_slice
from stillflow.ops.arrays.splitting import split
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.control_flow.while_loop import while_loop
from stillflow.ops.math.binary import maximum
from stillflow.ops.math.comparison import greater
from stillflow.ops.math.division import floormod
from stillflow.ops.math.reductions import reduce_sum
from stillflow.signal.arguments import scalar


def gcd(a: Any, b: Any, name: str | None = None) -> Tensor:
    """Return the greatest common divisor of two integer scalars; ValueError for others."""
    with name_scope(name, "gcd", [a, b]):
        a, b = convert_to_tensor(a), convert_to_tensor(b)
        a.shape.assert_has_rank(0)
        b.shape.assert_has_rank(0)
        for letter, number in (("a", a), ("b", b)):
            if not number.dtype.is_integer:
                raise ValueError(f"{letter} must be an integer type. Got: {number.dtype}")
        known_a, known_b = static_value(a), static_value(b)
        if known_a is not None and known_b is not None:
            return convert_to_tensor(np.gcd(known_a, known_b))
        a, b = while_loop(
            lambda _, b: greater(b, zeros_like(b)),
            lambda a, b: [b, floormod(a, b)],
            [a, b],
            back_prop=False,
        )
        return a


def _frames_shape(signal: Any, length: Any, step: Any, pad_end: bool, axis: Any) -> Any:
    length, step, axis = static_value(length), static_value(step), static_value(axis)
    dims = signal._dims
    if dims is None:
        return None
    if axis is None:
        return [None] * (len(dims) + 1)
    axis = int(axis)
    samples, count = dims[axis], None
    if samples is not None and step is not None:
        if not step:  # an error of the run
            count = 0
        elif pad_end:
            count = max(0, -(-samples // int(step)))
        elif length is not None:
            count = max(0, (samples - int(length) + int(step)) // int(step))
    inner = dims[axis:][1:]
    return [*dims[:axis], count, None if length is None else int(length), *inner]


def _pad_end(
    signal: Any, samples: Any, length: Any, step: Any, value: Any, around: Any
) -> tuple[Tensor, Tensor]:
    """Pad so that every hop begins a whole frame; return the number of frames too."""
    fill = scalar(value, None, signal.dtype)
    hops = -(-samples // step)
    missing = maximum(0, length + step * (hops - 1) - samples)
    before, behind = (zeros([count, 2], dtype=missing.dtype) for count in around)
    paddings = concat([before, [[0, missing]], behind], 0)
    return pad(signal, paddings, constant_values=fill), hops


@export("signal.frame", "contrib.signal.frame")
def frame(
    signal: Any,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: Any = -1,
    name: str | None = None,
) -> Tensor:
    """Cuts a dimension into overlapping frames.

    Args:
      signal: `[..., samples, ...]`.
      frame_length: samples in a frame.
      frame_step: samples from one frame's begin to the next one's.
      pad_end: whether frames that begin inside but end outside are padded; else they are left out.
      pad_value: the padding value.
      axis: the dimension.

    Returns:
      `[..., frames, frame_length, ...]`.

    Raises:
      ValueError: if length, step, axis or padding value are no scalars.
    """
    with name_scope(name, "frame", [signal, frame_length, frame_step, pad_value]):
        signal = convert_to_tensor(signal, name="signal")
        length: Any = convert_to_tensor(frame_length, name="frame_length")
        step: Any = convert_to_tensor(frame_step, name="frame_step")
        axis = convert_to_tensor(axis, name="axis")
        signal.shape.with_rank_at_least(1)
        for scalar in (length, step, axis):
            scalar.shape.assert_has_rank(0)
        result_shape = _frames_shape(signal, length, step, pad_end, axis)
        rank = rank_of(signal)
        axis = range_(rank)[axis]
        whole = shape(signal)
        outer, samples, inner = split(whole, [axis, 1, rank - 1 - axis])
        samples = reshape(samples, [])
        around = size(outer), size(inner)
        if pad_end:
            signal, count = _pad_end(signal, samples, length, step, pad_value, around)
            whole = shape(signal)
            samples = whole[axis]
        else:
            count = maximum(0, 1 + (samples - length) // step)
        frames = _gather_frames(signal, whole, outer, samples, inner, length, step, count, axis)
        if result_shape:
            frames.set_shape(result_shape)
        return frames


def _gather_frames(
    signal: Any,
    whole: Any,
    outer: Any,
    samples: Any,
    inner: Any,
    length: Any,
    step: Any,
    count: Any,
    axis: Any,
) -> Tensor:
    """Gathers frames out of the largest pieces that all of them are made of."""
    piece = gcd(length, step)
    per_frame, per_hop = length // piece, step // piece
    pieces = samples // piece
    cut = concat([outer, [pieces * piece], inner], 0)
    in_pieces = concat([outer, [pieces, piece], inner], 0)
    cut_signal = strided_slice(signal, zeros_like(whole), cut)
    subframes = reshape(cut_signal, in_pieces)
    starts = reshape(range_(count) * per_hop, [count, 1])
    offsets = reshape(range_(per_frame), [1, per_frame])
    selector = starts + offsets
    gathered = gather(subframes, selector, axis=axis)
    return reshape(gathered, concat([outer, [count, length], inner], 0))


@export("signal.overlap_and_add", "contrib.signal.overlap_and_add")
def overlap_and_add(signal: Any, frame_step: Any, name: str | None = None) -> Tensor:
    """Add up frames that begin `frame_step` samples apart.

    Args:
      signal: `[..., frames, frame_length]`.
      frame_step: an integer scalar.

    Returns:
      `[..., frame_length + frame_step * (frames - 1)]`.

    Raises:
      ValueError: for fewer than two dimensions or a step that is no integer scalar.
    """
    with name_scope(name, "overlap_and_add", [signal, frame_step]):
        signal = convert_to_tensor(signal, name="signal")
        signal.shape.with_rank_at_least(2)
        step: Any = convert_to_tensor(frame_step, name="frame_step")
        step.shape.assert_has_rank(0)
        if not step.dtype.is_integer:
            raise ValueError(f"frame_step must be an integer. Got {step.dtype}")
        sizes = shape(signal)
        outer = sizes[:-2]
        rank = size(outer)
        length, frames = sizes[-1], sizes[-2]
        samples = length + step * (frames - 1)
        known, dims = static_value(step), signal._dims
        if known is not None and dims is not None and known == dims[-1]:
            return reshape(signal, concat([outer, [samples]], 0), name="fast_path")
        return _added(signal, outer, rank, length, frames, samples, step)


def _added(
    signal: Any, outer: Any, rank: Any, length: Any, frames: Any, samples: Any, step: Any
) -> Any:
    """Sum frames cut into segments of one step, skewed so that addends are in one column."""

    def shaped(x: Any, inner: list[Any]) -> Tensor:
        return reshape(x, concat([outer, inner], 0))

    segments = -(-length // step)
    paddings = [[0, segments], [0, segments * step - length]]
    no_padding = zeros([rank, 2], dtypes.int32)
    signal = pad(signal, concat([no_padding, paddings], 0))
    signal = shaped(signal, [frames + segments, segments, step])
    order = concat([range_(rank), rank + [1, 0, 2]], 0)
    signal = transpose(signal, order)
    signal = shaped(signal, [(frames + segments) * segments, step])
    signal = signal[..., : (frames + segments - 1) * segments, :]
    signal = shaped(signal, [segments, frames + segments - 1, step])
    signal = reduce_sum(signal, -3)
    signal = shaped(signal, [(frames + segments - 1) * step])
    return signal[..., :samples]
