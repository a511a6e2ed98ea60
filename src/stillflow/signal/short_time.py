"""Short-time Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.arrays.pad import pad
from stillflow.ops.arrays.shape import rank as rank_of
from stillflow.ops.arrays.shape import reshape, shape
from stillflow.ops.arrays.tile import tile
from stillflow.ops.constants import constant
from stillflow.ops.math.binary import maximum
from stillflow.ops.math.binary import pow as pow_
from stillflow.ops.math.cast import cast
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ops.math.unary import ceil, log, square
from stillflow.signal.arguments import scalar
from stillflow.signal.frames import frame, overlap_and_add
from stillflow.signal.real_fourier import irfft, rfft
from stillflow.signal.windows import hann_window


def _enclosing_power_of_two(value: Any) -> Tensor:
    known = static_value(value)
    if known is not None:
        return constant(int(2 ** np.ceil(np.log(known) / np.log(2.0))), value.dtype)
    exponent = ceil(log(cast(value, dtypes.float32)) / log(2.0))
    return cast(pow_(2.0, exponent), value.dtype)


@export("signal.stft", "contrib.signal.stft")
def stft(
    signals: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """Spectra of overlapping, windowed frames.

    Args:
      signals: float32, `[..., samples]`.
      frame_length: samples in a frame.
      frame_step: samples from frame to frame.
      fft_length: the transform's length; by default the power of two that holds a frame.
      window_fn: `f(frame_length, dtype=...)` gives a window; None for none.
      pad_end: whether the last frames are padded with zeros.

    Returns:
      complex64, `[..., frames, fft_length // 2 + 1]`.
    """
    with name_scope(name, "stft", [signals, frame_length, frame_step]):
        signals = convert_to_tensor(signals, name="signals")
        signals.shape.with_rank_at_least(1)
        frame_length = scalar(frame_length, "frame_length")
        frame_step = scalar(frame_step, "frame_step")
        if fft_length is None:
            fft_length = _enclosing_power_of_two(frame_length)
        else:
            fft_length = convert_to_tensor(fft_length, name="fft_length")
        frames: Any = frame(signals, frame_length, frame_step, pad_end=pad_end)
        if window_fn is not None:
            frames *= window_fn(frame_length, dtype=frames.dtype)
        return rfft(frames, [fft_length])


def _energy(window: Any, length: Any, step: Any) -> Tensor:
    """Return the sum of the squares of all the windows that overlap at each sample."""
    squares = square(window)
    hops = -(-length // step)
    by_hop = reshape(pad(squares, [(0, hops * step - length)]), [hops, step])
    total = reduce_sum(by_hop, 0, keepdims=True)
    return reshape(tile(total, [hops, 1]), [hops * step])[:length]


@export("signal.inverse_stft_window_fn", "contrib.signal.inverse_stft_window_fn")
def inverse_stft_window_fn(
    frame_step: Any, forward_window_fn: Callable[..., Any] = hann_window, name: str | None = None
) -> Callable[..., Any]:
    """Return the window function for `inverse_stft` that undoes the one that `stft` was given.

    Args:
      frame_step: samples from frame to frame.
      forward_window_fn: the window function of the forward transform.
    """
    scope = partial(name_scope, name, "inverse_stft_window_fn", [forward_window_fn])
    with scope():
        step = scalar(frame_step, "frame_step")

    def inverse_window(frame_length: Any, dtype: Any) -> Tensor:
        with scope():
            length = scalar(frame_length, "frame_length")
            window = forward_window_fn(length, dtype=dtype)
            return window / _energy(window, length, step)

    return inverse_window


def _to_frame_length(frames: Any, length: Any) -> Tensor:
    """Crops or pads the inverse transforms to the frames' length."""
    known, dims = static_value(length), frames._dims
    if known is None or dims is None or dims[-1] is None:
        frames = frames[..., :length]
        rank, sizes = rank_of(frames), shape(frames)
        before = zeros([rank - 1, 2], dtype=length.dtype)
        missing = maximum(0, length - sizes[-1])
        frames = pad(frames, concat([before, [[0, missing]]], 0))
    elif dims[-1] > known:
        frames = frames[..., :known]
    elif dims[-1] < known:
        frames = pad(frames, [[0, 0]] * (len(dims) - 1) + [[0, int(known) - dims[-1]]])
    if known is not None and frames.shape.ndims is not None:
        frames.set_shape([None] * (frames.shape.ndims - 1) + [int(known)])
    return frames


@export("signal.inverse_stft", "contrib.signal.inverse_stft")
def inverse_stft(
    stfts: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Callable[..., Any] | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """Return the signal of short-time spectra; see `inverse_stft_window_fn` for exact inversion.

    Args:
      stfts: complex64, `[..., frames, fft_length // 2 + 1]`.
      frame_length: samples in a frame.
      frame_step: samples from frame to frame.
      fft_length: the length of the forward transform.
      window_fn: `f(frame_length, dtype=...)` gives a window; None for none.

    Returns:
      float32, `[..., samples]`.
    """
    with name_scope(name, "inverse_stft", [stfts]):
        stfts = convert_to_tensor(stfts, name="stfts")
        stfts.shape.with_rank_at_least(2)
        frame_length = scalar(frame_length, "frame_length")
        frame_step = scalar(frame_step, "frame_step")
        if fft_length is None:
            fft_length = _enclosing_power_of_two(frame_length)
        else:
            fft_length = scalar(fft_length, "fft_length")
        frames = _to_frame_length(irfft(stfts, [fft_length]), frame_length)
        if window_fn is not None:
            frames *= window_fn(frame_length, dtype=stfts.dtype.real_dtype)
        return overlap_and_add(frames, frame_step)
