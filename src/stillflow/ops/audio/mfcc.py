"""Mfcc: the cepstral coefficients of a spectrogram on the mel scale, as speech recognizers use."""

from __future__ import annotations

import math
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

mfcc_op = op(
    """
    Mfcc(spectrogram: float, sample_rate: int32) -> output: float
    upper_frequency_limit: float = 4000
    lower_frequency_limit: float = 20
    filterbank_channel_count: int = 40
    dct_coefficient_count: int = 13
""",
    devices="host",
)

_FLOOR = 1e-12  # below it, no logarithm is taken


mfcc_op.check(
    kernel_ranks(
        (0, 3, "spectrogram must be 3-dimensional{}"),
        (1, 0, "Input sample_rate should be a scalar tensor, got {} instead."),
    )
)


@mfcc_op.shape
def mfcc_shape(node: Node) -> OutputDims:
    channels, frames, _ = dims_lib.with_rank(node.dims(0), 3)
    dims_lib.with_rank(node.dims(1), 0)
    return (channels, frames, node.dct_coefficient_count)


@mfcc_op.kernel
def mfcc_kernel(node: Node) -> Kernel:
    low, high = node.lower_frequency_limit, node.upper_frequency_limit
    bands, count = node.filterbank_channel_count, node.dct_coefficient_count
    known: dict[tuple[int, int], Any] = {}

    def run(spectrogram: Any, sample_rate: Any) -> torch.Tensor:
        key = (spectrogram.shape[2], int(sample_rate))
        if key not in known:
            if not (key[0] > 1 and key[1] > 0 and bands >= count > 0 and high > low >= 0):
                raise ValueError(
                    f"Mfcc initialization failed for channel count {key[0]} and sample rate "
                    f"{key[1]}"
                )
            matrices = _mel_filters(*key, bands, low, high), _cosines(bands, count)
            known[key] = [torch.from_numpy(m).to(spectrogram.device) for m in matrices]
        filters, cosines = known[key]
        if int(high / _width_of_bins(*key)) >= key[0]:  # there are no bins for all the bands
            return spectrogram.new_zeros((*spectrogram.shape[:2], count))
        energies = spectrogram.double().sqrt() @ filters
        return (energies.clamp_min(_FLOOR).log() @ cosines).float()

    return run


def _width_of_bins(bins: int, rate: int) -> float:
    return 0.5 * rate / (bins - 1)


def _mel(frequency: Any) -> np.float64:
    return 1127.0 * np.log1p(frequency / 700.0)


def _mel_filters(bins: int, rate: int, bands: int, low: float, high: float) -> np.ndarray:
    """Triangles on the mel scale, [bins, bands]: each bin counts for the two bands next to it."""
    edges = np.linspace(_mel(low), _mel(high), bands + 2)
    width = _width_of_bins(bins, rate)
    first, last = int(1.5 + low / width), min(int(high / width), bins - 1)
    result = np.zeros((bins, bands))
    for index in range(first, last + 1):
        mel = _mel(index * width)
        left = int(np.searchsorted(edges[1:-1], mel))  # how many centers are below
        share = (edges[left + 1] - mel) / (edges[left + 1] - edges[left])
        if left > 0:
            result[index, left - 1] = share
        if left < bands:
            result[index, left] = 1.0 - share
    return result


def _cosines(bands: int, count: int) -> np.ndarray:
    """Return the discrete cosine transform of type II, [bands, count]."""
    angles = np.outer(np.arange(bands) + 0.5, np.arange(count)) * (math.pi / bands)
    return math.sqrt(2.0 / bands) * np.cos(angles)


@mfcc_op.samples
def mfcc_samples() -> Samples:
    power = np.linspace(0.1, 2.0, 2 * 3 * 65, dtype=np.float32).reshape(2, 3, 65)
    yield Sample(power, np.int32(8000))
    yield Sample(power, np.int32(16000), upper_frequency_limit=7000.0, dct_coefficient_count=5,
                 filterbank_channel_count=10)  # fmt: skip
    yield Bad(power, np.int32(0), match="Mfcc initialization failed for channel count 65")
    yield Bad(power[0], np.int32(1), match="must be rank 3 but is rank 2")


def mfcc(
    spectrogram: Any, sample_rate: Any, upper_frequency_limit: float = 4000,
    lower_frequency_limit: float = 20, filterbank_channel_count: int = 40,
    dct_coefficient_count: int = 13, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return the cepstral coefficients on the mel scale.

    Args:
      spectrogram: float32 [channels, windows, frequencies], of squared magnitudes.
      sample_rate: int32, a scalar: frames a second of the sound.
      upper_frequency_limit, lower_frequency_limit: which frequencies count, in Hertz.
      filterbank_channel_count: over how many bands they are summed.
      dct_coefficient_count: how many coefficients to give, not more than bands.
      name: of the operation.

    Returns:
      float32 [channels, windows, coefficients].

    Raises:
      InvalidArgumentError: when run, if the numbers do not go together.
    """
    return mfcc_op(
        spectrogram, sample_rate, upper_frequency_limit=upper_frequency_limit,
        lower_frequency_limit=lower_frequency_limit,
        filterbank_channel_count=filterbank_channel_count,
        dct_coefficient_count=dct_coefficient_count, name=name,
    )  # fmt: skip
