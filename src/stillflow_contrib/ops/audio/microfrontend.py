"""AudioMicrofrontend: features of speech as microcontrollers compute them."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow_contrib.ops.audio.fixed_frontend import Frontend, Settings

audio_microfrontend_op = op(
    """
    AudioMicrofrontend(audio: int16) -> filterbanks: out_type
    sample_rate: int = 16000;  window_size: int = 25;  window_step: int = 10
    num_channels: int = 32;  upper_band_limit: float = 7500;  lower_band_limit: float = 125
    smoothing_bits: int = 10;  even_smoothing: float = 0.025;  odd_smoothing: float = 0.06
    min_signal_remaining: float = 0.05;  enable_pcan: bool = false
    pcan_strength: float = 0.95;  pcan_offset: float = 80;  gain_bits: int = 21
    enable_log: bool = true;  scale_shift: int = 6;  left_context: int = 0
    right_context: int = 0;  frame_stride: int = 1;  zero_padding: bool = false
    out_scale: int = 1;  out_type: {uint16, float} = uint16
""",
    devices="host",
)


@audio_microfrontend_op.shape
def audio_microfrontend_shape(node: Node) -> OutputDims:
    if node.planning and node.dims(0) is not None and len(node.dims(0) or ()) != 1:
        raise ValueError("audio is not a vector")
    (samples,) = dims_lib.with_rank(node.dims(0), 1)
    per_ms = node.sample_rate // 1000
    size, step = node.window_size * per_ms, node.window_step * per_ms
    width = node.num_channels * (1 + node.left_context + node.right_context)
    if samples is None:
        return (None, width)  # TensorFlow says 0, which nobody can rely on
    if samples >= size and min(step, node.frame_stride) <= 0:
        divisor = step if step <= 0 else node.frame_stride
        raise ValueError(f"Divisor must be positive but is {divisor}")
    frames = 0 if samples < size else (samples - size) // step // node.frame_stride + 1
    return (frames, width)


@audio_microfrontend_op.kernel
def audio_microfrontend_kernel(node: Node) -> Kernel:
    sizes = {
        name: getattr(node, name) * node.sample_rate // 1000
        for name in ("window_size", "window_step")
    }
    settings = Settings(**{name: sizes.get(name, getattr(node, name)) for name in Settings._fields})
    out = node.out_type.as_numpy_dtype
    positive = (*sizes.values(), node.num_channels, node.frame_stride, node.out_scale)
    try:
        frontend = Frontend(settings) if min(positive) > 0 else None
    except ValueError:  # there are bands that the transform has no frequencies for
        frontend = None
    if frontend is None:
        raise errors.internal("failed to populate frontend state")
    scale = np.array(node.out_scale, out)
    width = node.num_channels * (1 + node.left_context + node.right_context)
    offsets = np.arange(-node.left_context, node.right_context + 1)

    def run(audio: Any) -> torch.Tensor:
        frames = frontend.frames(audio.cpu().numpy())
        values = frames.astype(out)
        values = values // scale if out == np.uint16 else values / scale
        places = np.arange(0, len(values), node.frame_stride)[:, np.newaxis] + offsets
        stacked = values[places.clip(0, max(len(values) - 1, 0))]
        if node.zero_padding:
            stacked[(places < 0) | (places >= len(values))] = 0
        return torch.from_numpy(stacked.reshape(len(places), width)).to(audio.device)

    return run


@audio_microfrontend_op.samples
def audio_microfrontend_samples() -> Samples:
    sound = (np.sin(np.arange(2000) * 0.3) * np.linspace(0, 9000, 2000)).astype(np.int16)
    yield Sample(sound)
    yield Sample(sound, out_type="float", out_scale=64, left_context=1, right_context=2,
                 frame_stride=2, zero_padding=True, enable_pcan=True)  # fmt: skip
    yield Bad(sound[np.newaxis], match="must be rank 1 but is rank 2")
