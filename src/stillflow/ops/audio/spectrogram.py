"""AudioSpectrogram: how much of each frequency is in each window of a sound."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.input_ranks import kernel_ranks
from stillflow.ops.samples import Bad, Sample, Samples

audio_spectrogram_op = op(
    """
    AudioSpectrogram(input: float) -> spectrogram: float
    window_size: int
    stride: int
    magnitude_squared: bool = false
""",
    devices="host",
)


def _fft_length(window: int) -> int:
    """Return the power of two that is not below the window."""
    return 1 << max(window - 1, 0).bit_length()


audio_spectrogram_op.check(kernel_ranks((0, 2, "input must be 2-dimensional{}")))


@audio_spectrogram_op.shape
def audio_spectrogram_shape(node: Node) -> OutputDims:
    frames, channels = dims_lib.with_rank(node.dims(0), 2)
    window, stride = node.window_size, node.stride
    if node.planning and (window < 2 or stride < 1):
        raise ValueError(
            f"Spectrogram initialization failed for window size {window} and stride {stride}"
        )
    if frames is not None and stride < 1:
        raise ValueError(f"Dimension {1 + (frames - window) // (stride or -1)} must be >= 0")
    if frames is not None:
        frames = 0 if frames < window else 1 + (frames - window) // stride
    return (channels, frames, 1 + _fft_length(window) // 2)


def _check_heights(frames: int, channels: int, size: int, stride: int) -> int:
    """Return the number of consecutive windows that end in each channel."""
    height = 0 if frames < size else 1 + (frames - size) // stride
    ended = height
    for channel in range(2, channels + 1):
        windows = channel * frames - size
        total = 0 if windows < 0 else 1 + windows // stride
        if total - ended != height:
            raise ValueError(
                f"Spectrogram size calculation failed: Expected height {height} but got "
                f"{total - ended}"
            )
        ended = total
    return height


@audio_spectrogram_op.kernel
def audio_spectrogram_kernel(node: Node) -> Kernel:
    size, stride, squared = node.window_size, node.stride, node.magnitude_squared
    length = _fft_length(size)
    window = torch.hann_window(size, periodic=True, dtype=torch.float64, device=node.device)

    def run(sound: Any) -> torch.Tensor:
        count, channels = sound.shape
        height = _check_heights(count, channels, size, stride)
        if not height:
            return sound.new_zeros((channels, 0, 1 + length // 2))
        # A window may begin in the channel before.
        frames = sound.T.reshape(-1).double().unfold(0, size, stride) * window
        power = torch.fft.rfft(frames, length).abs().square().float()
        power = power.view(channels, height, -1)
        return power if squared else power.sqrt()

    return run


@audio_spectrogram_op.samples
def audio_spectrogram_samples() -> Samples:
    sound = np.sin(np.arange(60, dtype=np.float32)).reshape(30, 2)
    yield Sample(sound, window_size=6, stride=4)
    yield Sample(sound, window_size=8, stride=30)
    yield Sample(sound[:, :1], window_size=7, stride=3, magnitude_squared=True)
    yield Sample(sound[:, :1], window_size=40, stride=3)
    yield Bad(sound, window_size=8, stride=4, match="Expected height 6 but got 8|must be 3")
    yield Bad(sound, window_size=1, stride=1, match="Spectrogram initialization failed")
    yield Bad(sound[0], window_size=4, stride=1, match="must be rank 2|must be 2-dimensional")


def audio_spectrogram(
    input: Any, window_size: int, stride: int, magnitude_squared: bool = False,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return the magnitudes of the frequencies in each window, under Hann's window.

    Args:
      input: float32 [frames, channels].
      window_size: how many frames a window has; it is filled up to a power of two.
      stride: how many frames lie between the beginnings of windows.
      magnitude_squared: whether magnitudes are squared.
      name: of the operation.

    Returns:
      float32 [channels, windows, frequencies].

    Raises:
      ValueError: if a window has fewer than two frames, or the stride is not positive.
    """
    return audio_spectrogram_op(
        input, window_size=window_size, stride=stride, magnitude_squared=magnitude_squared,
        name=name,
    )  # fmt: skip
