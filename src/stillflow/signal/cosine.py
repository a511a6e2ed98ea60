"""Discrete cosine transforms and cepstral coefficients of speech."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import dimension_value
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.pad import pad
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import expand_dims, shape
from stillflow.ops.math.cast import cast
from stillflow.ops.math.complex import complex as complex_
from stillflow.ops.math.complex import real
from stillflow.ops.math.unary import exp, rsqrt, sqrt
from stillflow.signal.arguments import Rule, check
from stillflow.signal.real_fourier import irfft, rfft

_INVERSE_TYPES = {1: 1, 2: 3, 3: 2}

_RULES: list[Rule] = [
    (lambda a: a.n is not None and a.n < 1, "n should be a positive integer or None"),
    (lambda a: a.type not in _INVERSE_TYPES, "Only Types I, II and III (I)DCT are supported."),
    (
        lambda a: a.type == 1 and a.norm == "ortho",
        "Normalization is not supported for the Type-I DCT.",
    ),
    (
        lambda a: a.type == 1 and (size := a.input.shape[-1]) is not None and size < 2,
        "Type-I DCT requires the dimension to be greater than one.",
    ),
    (
        lambda a: a.norm not in (None, "ortho"),
        "Unknown normalization. Expected None or 'ortho', got: {a.norm}",
    ),
]


def _check(axis: Any, **arguments: Any) -> None:
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    check(_RULES, SimpleNamespace(**arguments))


def _length(x: Any) -> Any:
    return dimension_value(x.shape[-1]) or shape(x)[-1]


def _of_length(x: Any, n: int) -> Any:
    """`x` cropped or padded with zeros to `n` elements."""
    length = _length(x)
    if n <= length:
        return x[..., 0:n]
    padding = [[0, 0] for _ in range(len(x.shape))]
    padding[-1][1] = n - length
    return pad(x, paddings=convert_to_tensor(padding, dtype=dtypes.int32))


def _weights(first: Any, factor: float, length: Any) -> Tensor:
    """`first`, then `first * sqrt(factor)` for all other frequencies."""
    rest = first * sqrt(factor)
    return pad(expand_dims(first, 0), [[0, length - 1]], constant_values=rest)


def _waves(length: Any, sign: int) -> Tensor:
    count = range_(length)
    angle = (-count if sign < 0 else count) * math.pi * 0.5 / length
    return 2.0 * exp(complex_(0.0, angle))


def _dct2(x: Any, length: Any, length_float: Any, norm: Any) -> Tensor:
    waves = _waves(length_float, -1)
    result = real(rfft(x, fft_length=[2 * length])[..., :length] * waves)
    if norm == "ortho":
        result *= _weights(0.5 * rsqrt(length_float), 2.0, length)
    return result


def _dct3(x: Any, length: Any, length_float: Any, norm: Any) -> Tensor:
    if norm == "ortho":
        x *= _weights(sqrt(length_float), 0.5, length)
    else:
        x *= length_float
    waves = _waves(length_float, 1)
    spectrum = waves * complex_(x, 0.0)
    return real(irfft(spectrum, fft_length=[2 * length]))[..., :length]


@export("signal.dct", "spectral.dct")
def dct(
    input: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the discrete cosine transform of type 1, 2 or 3 over the last dimension.

    Args:
      input: float32, `[..., samples]`.
      n: a length to crop or pad the samples to.
      norm: None, or "ortho" for an orthonormal transform (not for type 1).

    Raises:
      ValueError: for an unknown type or normalization, or fewer than two samples for type 1.
      NotImplementedError: for any other axis than the last.
    """
    _check(axis, input=input, type=type, n=n, norm=norm)
    with name_scope(name, "dct", [input]):
        x: Any = convert_to_tensor(input, dtype=dtypes.float32)
        if n is not None:
            x = _of_length(x, n)
        else:
            _length(x)
        length = _length(x)
        length_float = cast(length, dtypes.float32)
        if type == 1:
            return real(rfft(concat([x, x[..., -2:0:-1]], axis=-1)))
        return (_dct2 if type == 2 else _dct3)(x, length, length_float, norm)


@export("signal.idct", "spectral.idct")
def idct(
    input: Any,
    type: int = 2,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the inverse of `dct` up to scale: exact with `norm="ortho"`."""
    _check(axis, input=input, type=type, n=n, norm=norm)
    return dct(input, type=_INVERSE_TYPES[type], n=n, axis=axis, norm=norm, name=name)


@export("signal.mfccs_from_log_mel_spectrograms", "contrib.signal.mfccs_from_log_mel_spectrograms")
def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: str | None = None) -> Tensor:
    """Mel-frequency cepstral coefficients.

    Args:
      log_mel_spectrograms: float32, `[..., num_mel_bins]`.

    Raises:
      ValueError: if there are no mel bins.
    """
    with name_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]):
        spectrograms = convert_to_tensor(log_mel_spectrograms, dtype=dtypes.float32)
        dims = spectrograms._dims
        if dims and dims[-1] is not None:
            bins: Any = dims[-1]
            if bins == 0:
                raise ValueError(f"num_mel_bins must be positive. Got: {spectrograms}")
        else:
            bins = shape(spectrograms)[-1]
        cepstrum = dct(spectrograms, type=2)
        return cepstrum * rsqrt(cast(bins, dtypes.float32) * 2.0)
