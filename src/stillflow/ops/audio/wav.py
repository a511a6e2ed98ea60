"""DecodeWav, EncodeWav: sound from and to WAV files of 16-bit samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.files import wav
from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.input_ranks import kernel_ranks
from stillflow.ops.samples import Bad, Sample, Samples

decode_wav_op = op("""
    DecodeWav(contents: string) -> audio: float, sample_rate: int32
    desired_channels: int = -1
    desired_samples: int = -1
""")
encode_wav_op = op("""
    EncodeWav(audio: float, sample_rate: int32) -> contents: string
""")


decode_wav_op.check(kernel_ranks((0, 0, "contents must be scalar, got shape {}")))
encode_wav_op.check(
    kernel_ranks(
        (0, 2, "audio must be 2-dimensional{}"),
        (1, 0, "Input sample_rate should be a scalar tensor, got {} instead."),
    )
)


@decode_wav_op.shape
def decode_wav_shape(node: Node) -> OutputDims:
    dims_lib.with_rank(node.dims(0), 0)
    for name, value in (("channels", node.desired_channels), ("samples", node.desired_samples)):
        if value < -1:
            raise ValueError(f"{name} must be non-negative, got {value}")
    wanted = (node.desired_samples, node.desired_channels)
    return [tuple(None if size == -1 else size for size in wanted), ()]


@decode_wav_op.kernel
def decode_wav_kernel(node: Node) -> Kernel:
    frames, channels, device = node.desired_samples, node.desired_channels, node.device

    def run(contents: Any) -> tuple[torch.Tensor, torch.Tensor]:
        sound, rate = wav.decode(contents.item())
        if channels != -1:  # missing channels repeat the last one
            sound = sound[:, np.minimum(np.arange(channels), sound.shape[1] - 1)]
        if frames != -1:  # silence follows
            sound = np.pad(sound[:frames], ((0, max(0, frames - len(sound))), (0, 0)))
        signed = np.uint32(rate).astype(np.int32)
        return torch.from_numpy(sound).to(device), torch.tensor(signed, device=device)

    return run


@encode_wav_op.shape
def encode_wav_shape(node: Node) -> OutputDims:
    dims_lib.with_rank(node.dims(0), 2)
    dims_lib.with_rank(node.dims(1), 0)
    return ()


@encode_wav_op.kernel
def encode_wav_kernel(node: Node) -> Kernel:
    def run(audio: Any, sample_rate: Any) -> Array:
        result = np.empty((), object)
        result[()] = wav.encode(audio.cpu().numpy(), int(sample_rate))
        return result

    return run


# ---- Samples and public functions


def _sound(channels: int) -> np.ndarray:
    return np.sin(np.arange(12 * channels, dtype=np.float32)).reshape(12, channels)


@decode_wav_op.samples
def decode_wav_samples() -> Samples:
    for channels in (1, 2):
        data = np.array(wav.encode(_sound(channels), 8000), object)
        yield Sample(data)
        yield Sample(data, desired_channels=3, desired_samples=5)
        yield Sample(data, desired_channels=1, desired_samples=20)
    yield Bad(np.array(b"RIFX", object), match="Header mismatch: Expected RIFF but found RIFX")
    yield Bad(np.array(b"RIFF", object), match="Data too short when trying to read string")
    yield Bad(data, desired_channels=-2, match="channels must be non-negative, got -2")


@encode_wav_op.samples
def encode_wav_samples() -> Samples:
    yield Sample(_sound(2), np.int32(8000))
    yield Bad(_sound(1), np.int32(0), match="sample_rate must be in")
    yield Bad(_sound(1)[:0], np.int32(1), match="num_frames must be positive")


@export("audio.decode_wav")
def decode_wav(
    contents: Any, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Read a WAV file of 16-bit samples.

    Args:
      contents: string, a scalar: the file.
      desired_channels: how many channels to give; those of the file if -1.
      desired_samples: how many frames to give; those of the file if -1.
      name: of the operation.

    Returns:
      float32 [frames, channels] from -1 up to 1, and the sample rate, an int32 scalar.

    Raises:
      InvalidArgumentError: when run, if it is no such file.
    """
    return decode_wav_op(contents, desired_channels=desired_channels,
                         desired_samples=desired_samples, name=name)  # fmt: skip


@export("audio.encode_wav")
def encode_wav(audio: Any, sample_rate: Any, name: str | None = None) -> Tensor:
    """Write a WAV file of 16-bit samples.

    Args:
      audio: float32 [frames, channels]; other values are clipped.
      sample_rate: int32, a scalar: frames a second.
      name: of the operation.

    Raises:
      InvalidArgumentError: when run, if there are no frames or the rate is not positive.
    """
    return encode_wav_op(audio, sample_rate, name=name)
