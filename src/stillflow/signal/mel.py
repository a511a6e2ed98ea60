"""Conversion of linear frequencies to the mel scale."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import float32
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.ops.arrays.pad import pad
from stillflow.ops.arrays.sequences import linspace
from stillflow.ops.arrays.shape import expand_dims, reshape
from stillflow.ops.arrays.splitting import split
from stillflow.ops.math.binary import maximum, minimum
from stillflow.ops.math.unary import log
from stillflow.signal.arguments import Rule, check
from stillflow.signal.frames import frame

# The mel scale is mel = 1127 ln(1 + f / 700 Hz).
_BREAK_HERTZ = 700.0
_HIGH_Q = 1127.0


def hertz_to_mel(frequencies_hertz: Any, name: str | None = None) -> Tensor:
    """Frequencies in Hertz on the mel scale."""
    with name_scope(name, "hertz_to_mel", [frequencies_hertz]):
        frequencies: Any = convert_to_tensor(frequencies_hertz)
        return _HIGH_Q * log(1.0 + (frequencies / _BREAK_HERTZ))


_RULES: list[Rule] = [
    (lambda a: a.bins <= 0, "num_mel_bins must be positive. Got: {a.bins}"),
    (lambda a: a.rate <= 0.0, "sample_rate must be positive. Got: {a.rate}"),
    (lambda a: a.lower < 0.0, "lower_edge_hertz must be non-negative. Got: {a.lower}"),
    (
        lambda a: a.lower >= a.upper,
        "lower_edge_hertz {a.lower:.1f} >= upper_edge_hertz {a.upper:.1f}",
    ),
    (
        lambda a: a.upper > a.rate / 2,
        (
            "upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). "
            "Got: {a.upper} for sample_rate: {a.rate}"
        ),
    ),
    (
        lambda a: not a.dtype.is_floating,
        "dtype must be a floating point type. Got: {a.dtype}",
    ),
]


@export("signal.linear_to_mel_weight_matrix", "contrib.signal.linear_to_mel_weight_matrix")
def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: Any = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: Any = float32,
    name: str | None = None,
) -> Tensor:
    """Return triangular filters of the mel scale, `[num_spectrogram_bins, num_mel_bins]`.

    Args:
      num_mel_bins: how many triangles.
      num_spectrogram_bins: how many frequencies the spectrogram has, from 0 to half the rate.
      sample_rate: samples a second, known while the graph is built.
      lower_edge_hertz: where the lowest triangle begins.
      upper_edge_hertz: where the highest one ends.

    Raises:
      ValueError: for edges out of order or above the Nyquist frequency, or bad numbers.
    """
    with name_scope(name, "linear_to_mel_weight_matrix") as scope:
        if isinstance(sample_rate, Tensor):
            sample_rate = static_value(sample_rate)
            if sample_rate is None:
                raise ValueError(
                    "`sample_rate` was a non-constant Tensor. Must be a Python float or a "
                    "constant Tensor."
                )
        arguments = SimpleNamespace(
            bins=num_mel_bins,
            rate=sample_rate,
            lower=lower_edge_hertz,
            upper=upper_edge_hertz,
            dtype=dtype,
        )
        check(_RULES, arguments)
        rate: Any = convert_to_tensor(sample_rate, dtype, name="sample_rate")
        lower = convert_to_tensor(lower_edge_hertz, dtype, name="lower_edge_hertz")
        upper = convert_to_tensor(upper_edge_hertz, dtype, name="upper_edge_hertz")
        zero = convert_to_tensor(0.0, dtype)
        nyquist = rate / 2.0
        # Frequency zero is in no triangle.
        linear = linspace(zero, nyquist, num_spectrogram_bins)[1:]
        bins = expand_dims(hertz_to_mel(linear), 1)
        edges = linspace(hertz_to_mel(lower), hertz_to_mel(upper), num_mel_bins + 2)
        triples = frame(edges, frame_length=3, frame_step=1)
        start, center, end = [
            reshape(part, [1, num_mel_bins]) for part in split(triples, 3, axis=1)
        ]
        rising = (bins - start) / (center - start)
        falling = (end - bins) / (end - center)
        weights = maximum(zero, minimum(rising, falling))
        return pad(weights, [[1, 0], [0, 0]], name=scope)
