"""tf.lite.experimental.microfrontend: features of speech as microcontrollers compute them."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph import dtypes
from stillflow.graph.operation import Tensor
from stillflow_contrib.ops.audio.microfrontend import audio_microfrontend_op

__all__ = ["audio_microfrontend"]


def audio_microfrontend(
    audio: Tensor, sample_rate: int = 16000, window_size: int = 25, window_step: int = 10,
    num_channels: int = 32, upper_band_limit: float = 7500.0, lower_band_limit: float = 125.0,
    smoothing_bits: int = 10, even_smoothing: float = 0.025, odd_smoothing: float = 0.06,
    min_signal_remaining: float = 0.05, enable_pcan: bool = True, pcan_strength: float = 0.95,
    pcan_offset: float = 80.0, gain_bits: int = 21, enable_log: bool = True, scale_shift: int = 6,
    left_context: int = 0, right_context: int = 0, frame_stride: int = 1,
    zero_padding: bool = False, out_scale: int = 1, out_type: Any = dtypes.uint16,
) -> Tensor:  # fmt: skip
    """Cuts sound into windows, and gives features of each.

    Args:
      audio: int16, of known rank; more than one dimension is read as one.
      sample_rate: samples a second.
      window_size, window_step: of the windows, in milliseconds.
      num_channels: how many bands the frequencies are summed in.
      upper_band_limit, lower_band_limit: which frequencies count, in Hertz.
      smoothing_bits: how much finer than the signal the noise is estimated.
      even_smoothing, odd_smoothing: how fast the estimate follows, in every other band.
      min_signal_remaining: what at least is left of the signal when noise is taken away.
      enable_pcan: whether the gain follows the noise: `pcan_strength`, `pcan_offset` and
        `gain_bits` say how.
      enable_log: whether to take the logarithm, times `2**scale_shift`.
      left_context, right_context: how many windows before and behind are given with each.
      frame_stride: which windows are given: every so many.
      zero_padding: whether windows before the first and behind the last are zeros, not copies.
      out_scale: what the features are divided by.
      out_type: uint16 or float32.

    Returns:
      `[windows, features]`.

    Raises:
      ValueError: If the rank of `audio` is not known.
    """
    settings = dict(locals())
    rank = settings.pop("audio").shape.ndims
    if rank is None:
        raise ValueError("Input to `AudioMicrofrontend` should have known rank.")
    if rank > 1:
        audio = tf.reshape(audio, [-1])
    return audio_microfrontend_op(audio, **settings)
