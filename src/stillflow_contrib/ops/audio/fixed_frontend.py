"""Features of speech in whole numbers, equal to small devices' to the bit.

Windows, a Fourier transform in 16 bits, bands on the mel scale, the subtraction of steady noise,
gain control and a logarithm: every step is done in integers of the widths that the devices have.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from stillflow import native
from stillflow.graph.arrays import Array

_WINDOW_BITS = 12
_BAND_BITS = 12
_NOISE_BITS = 14
_SNR_BITS, _GAIN_OUTPUT_BITS = 12, 6
_FRACTION_BITS = 15  # of the transform's numbers
_LOG_BITS, _LOG_SEGMENT_BITS = 16, 7
_LOG_OF_TWO = 45426  # in 1/65536
_WORD_BITS = 32


class Settings(NamedTuple):
    """Settings of the features; sizes are numbers of samples."""

    sample_rate: int
    window_size: int
    window_step: int
    num_channels: int
    upper_band_limit: float
    lower_band_limit: float
    smoothing_bits: int
    even_smoothing: float
    odd_smoothing: float
    min_signal_remaining: float
    enable_pcan: bool
    pcan_strength: float
    pcan_offset: float
    gain_bits: int
    enable_log: bool
    scale_shift: int


def _bits(values: Any) -> Array:
    """Return the number of bits of integers below 2**53."""
    return np.frexp(np.asarray(values, np.float64))[1].astype(np.int64)


def _word(values: Any) -> Array:
    return np.asarray(values, np.int64) & 0xFFFFFFFF


def _short(values: Any) -> Array:
    return np.asarray(values).astype(np.int16)


class Frontend:
    """Computation of features with given settings.

    Raises:
      ValueError: If the bands reach above the highest frequency.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.transform_size = 1 << max(int(settings.window_size - 1).bit_length(), 0)
        self.correction_bits = self.transform_size.bit_length() - 1 - _BAND_BITS // 2
        self.bands = _bands(settings, self.transform_size // 2 + 1)

    def frames(self, audio: Array) -> Array:
        """Return the features of each window, uint16 [windows, channels].

        Args:
          audio: int16, one sample after another.
        """
        s = self.settings
        count = (len(audio) - s.window_size) // s.window_step + 1
        if len(audio) < s.window_size or not count:
            return np.zeros((0, s.num_channels), np.uint16)
        if (library := native.library()) is not None and self._numbers is not None:
            audio, found = np.ascontiguousarray(audio), np.empty((count, s.num_channels), np.uint16)
            if not library.speech_features(
                self._numbers.ctypes.data, audio.ctypes.data, count, found.ctypes.data
            ):
                return found
        starts = np.arange(count)[:, np.newaxis] * s.window_step
        windows = audio[starts + np.arange(s.window_size)].astype(np.int32)
        windows = _short(windows * self.window >> _WINDOW_BITS)
        largest = np.abs(windows).max(1, initial=0)  # of -32768 that is itself, as in C
        shifts = 15 - _bits(np.maximum(largest, 0))[:, np.newaxis]
        padded = np.zeros((count, self.transform_size), np.int16)
        padded[:, : s.window_size] = _short(windows.astype(np.int64) << shifts)
        spectrum = real_transform(padded)
        energy = (spectrum.astype(np.int64) ** 2).sum(-1)
        signal = _rounded_root(energy @ self.bands) >> shifts
        signal, noise = self._without_noise(signal)
        if s.enable_pcan:
            signal = self._with_even_gain(signal, noise)
        if s.enable_log:
            signal = self._logarithm(signal)
        return np.minimum(signal, 0xFFFF).astype(np.uint16)

    @cached_property
    def window(self) -> Array:
        """The weights of a window's samples, in 1/4096."""
        size = self.settings.window_size
        step = np.float64(np.float32(np.pi * 2.0 / np.float32(size)))
        weights = np.float32(0.5 - 0.5 * np.cos(step * (np.arange(size) + 0.5)))
        return np.floor(weights * np.float32(1 << _WINDOW_BITS) + 0.5).astype(np.int32)

    @cached_property
    def _numbers(self) -> Array | None:
        """The `Frontend` of native/microfrontend.c; None for settings that it is not made for."""
        s, half = self.settings, self.transform_size // 2
        shift = s.gain_bits - self.correction_bits - _SNR_BITS
        if half < 2 or not all(
            0 <= bits < _WORD_BITS for bits in (s.smoothing_bits, s.scale_shift)
        ):
            return None
        if s.enable_pcan and not 0 <= shift < _WORD_BITS:
            return None
        used = self.bands != 0
        self._tables = [np.ascontiguousarray(table, np.int64) for table in (
            self.window, _twiddles(-2 * np.pi * np.arange(half) / half), _turns(half), self.bands,
            used.argmax(0), len(used) - used[::-1].argmax(0),
            self.gains if s.enable_pcan else np.zeros(0), _LOG_TABLE,
        )]  # fmt: skip
        return np.array(
            [s.window_size, s.window_step, 2 * half, s.num_channels, s.smoothing_bits,
             self.correction_bits, *self._shares, s.enable_pcan, shift, s.enable_log,
             s.scale_shift, *(table.ctypes.data for table in self._tables)], np.int64,
        )  # fmt: skip

    @property
    def _shares(self) -> list[int]:
        """The weights of even and odd channels in the noise, and what stays of the signal."""
        s, one = self.settings, np.float32(1 << _NOISE_BITS)
        shares = s.even_smoothing, s.odd_smoothing, s.min_signal_remaining
        return [int(np.float32(share) * one) & 0xFFFF for share in shares]

    def _without_noise(self, signal: Array) -> tuple[Array, Array]:
        """Return the signal less its constant part from window to window, and the latter."""
        s = self.settings
        channels = np.arange(s.num_channels)
        even, odd, least = self._shares
        smoothing = np.where(channels % 2 == 0, even, odd).astype(np.uint64)
        rest = np.uint64(1 << _NOISE_BITS) - smoothing
        estimate = np.zeros(s.num_channels, np.uint64)
        noise = np.empty(signal.shape, np.int64)
        scaled = _word(signal << s.smoothing_bits)
        for i, values in enumerate(scaled.astype(np.uint64)):
            estimate = (values * smoothing + estimate * rest) >> np.uint64(_NOISE_BITS)
            estimate &= np.uint64(0xFFFFFFFF)
            noise[i] = estimate
        left = (scaled - np.minimum(noise, scaled)) >> s.smoothing_bits
        return np.maximum(left, signal * least >> _NOISE_BITS), noise

    @cached_property
    def gains(self) -> Array:
        """A gain for each size of noise: parabolas between the powers of two."""
        bits = np.arange(2, _WORD_BITS + 1)
        low = 1 << (bits - 1)
        high = np.where(bits == _WORD_BITS, low + (low - 1), 2 * low)
        y0, y1, y2 = (self._gain(x) for x in (low, low + (low >> 1), high))
        a1 = 4 * (y1 - y0) - (y2 - y0)
        parts = np.stack([y0, _short(a1), _short(y2 - y0 - a1)], 1).astype(np.int64)
        first = self._gain(np.array([0, 1]))
        return np.concatenate([[[first[0], 0, 0], [first[1], 0, 0]], parts])

    def _gain(self, noise: Array) -> Array:
        s = self.settings
        unit = np.float32(1 << (s.smoothing_bits - self.correction_bits))
        reals = noise.astype(np.float32) / unit + np.float32(s.pcan_offset)
        gain = np.float32(1 << s.gain_bits) * np.power(reals, -np.float32(s.pcan_strength))
        return np.minimum(gain + np.float32(0.5), np.float32(0x7FFF)).astype(np.int64)

    def _with_even_gain(self, signal: Array, noise: Array) -> Array:
        bits = _bits(noise)
        y0, a1, a2 = np.moveaxis(self.gains[bits], -1, 0)
        fraction = (
            np.where(
                bits < 11, noise << np.maximum(11 - bits, 0), noise >> np.maximum(bits - 11, 0)
            )
            & 0x3FF
        )
        slope = ((a2 * fraction >> 5) + (a1 << 5)) * fraction
        gain = _short(((slope + (1 << 14)) >> 15) + y0).astype(np.int64)
        gain = np.where(noise <= 2, self.gains[np.minimum(noise, 2), 0], gain)
        shift = self.settings.gain_bits - self.correction_bits - _SNR_BITS
        ratio = _word(signal * _word(gain) >> shift)
        below = _word(ratio * ratio) >> (2 + 2 * _SNR_BITS - _GAIN_OUTPUT_BITS)
        above = (ratio >> (_SNR_BITS - _GAIN_OUTPUT_BITS)) - (1 << _GAIN_OUTPUT_BITS)
        return np.where(ratio < 2 << _SNR_BITS, below, above)

    def _logarithm(self, signal: Array) -> Array:
        shift = self.correction_bits
        values = _word(signal << shift) if shift >= 0 else signal >> -shift
        x = np.maximum(values, 1)
        whole = _bits(x) - 1
        fraction = x - (1 << whole)
        fraction = np.where(
            whole < _LOG_BITS,
            fraction << np.maximum(_LOG_BITS - whole, 0),
            fraction >> np.maximum(whole - _LOG_BITS, 0),
        )
        unit = _LOG_BITS - _LOG_SEGMENT_BITS
        segment = fraction >> unit
        low, high = _LOG_TABLE[segment], _LOG_TABLE[segment + 1]
        between = (high - low) * (fraction - (segment << unit)) >> _LOG_BITS
        logarithm = (whole << _LOG_BITS) + fraction + low + between
        half = 1 << (_LOG_BITS - 1)
        natural = (_LOG_OF_TWO * logarithm + half) >> _LOG_BITS
        scaled = _word(natural << self.settings.scale_shift) + half >> _LOG_BITS
        return np.where(values > 1, scaled, 0)


def _log_table() -> Array:
    """Return the excess of log2 over a straight line between two powers."""
    x = np.arange((1 << _LOG_SEGMENT_BITS) + 1) / (1 << _LOG_SEGMENT_BITS)
    table = np.floor((np.log2(1 + x) - x) * (1 << _LOG_BITS) + 0.5).astype(np.int64)
    return np.append(table, 0)


_LOG_TABLE = _log_table()


def _mel(frequency: Any) -> Any:
    return np.float32(1127.0 * np.log1p(np.float32(frequency).astype(np.float64) / 700.0))


def _bands(settings: Settings, spectrum_size: int) -> Array:
    """Return the weights of frequencies in channels, in 1/4096: int64 [frequencies, channels]."""
    count = settings.num_channels + 1
    low, high = _mel(settings.lower_band_limit), _mel(settings.upper_band_limit)
    spacing = np.float32((high - low) / np.float32(count))
    centers = low + spacing * np.arange(1, count + 1, dtype=np.float32)
    width = np.float32(0.5 * settings.sample_rate / (np.float32(spectrum_size) - 1))
    first = int(1.5 + float(np.float32(settings.lower_band_limit) / width))
    mels = _mel(np.arange(spectrum_size + 1, dtype=np.float32) * width)
    weights = np.zeros((spectrum_size, count + 1), np.int64)
    frequency, one = first, np.float32(1 << _BAND_BITS)
    for channel, center in enumerate(centers):
        below = centers[channel - 1] if channel else low
        while mels[min(frequency, spectrum_size)] <= center:
            if frequency >= spectrum_size - 1:
                raise ValueError("Filterbank end_index is above spectrum size.")
            share = np.float32((center - mels[frequency]) / (center - below))
            weights[frequency, channel] = np.floor(share * one + 0.5)
            weights[frequency, channel + 1] = np.floor((1.0 - np.float64(share)) * one + 0.5)
            frequency += 1
    # frequencies below the first center count for no channel but as rest
    return weights[:, 1:count]


def _rounded_root(values: Array) -> Array:
    """Return square roots rounded to whole numbers."""
    root = np.sqrt(values.astype(np.float64)).astype(np.int64)
    root -= root * root > values
    root += (root + 1) ** 2 <= values
    rounded = root + (values - root * root > root)
    return np.where((values < 1 << _WORD_BITS) & (root == 0xFFFF), root, rounded)


def _twiddles(phases: Array) -> Array:
    """Points on the unit circle, [phases, 2], in 1/32767."""
    points = np.stack([np.cos(phases), np.sin(phases)], -1)
    return np.floor(0.5 + 0x7FFF * points).astype(np.int64)


def _turns(half: int) -> Array:
    """Return the twiddles that part the transforms of two real numbers, [half / 2, 2]."""
    return _twiddles(-np.pi * (np.arange(1, half // 2 + 1) / half + 0.5))


def _times(a: Array, b: Array) -> Array:
    """Products of complex numbers, rounded to 16 bits."""
    half = 1 << (_FRACTION_BITS - 1)
    a, b = a.astype(np.int64), b.astype(np.int64)
    real = a[..., 0] * b[..., 0] - a[..., 1] * b[..., 1]
    imaginary = a[..., 0] * b[..., 1] + a[..., 1] * b[..., 0]
    return _short((np.stack([real, imaginary], -1) + half) >> _FRACTION_BITS)


def _divided(values: Array, by: int) -> Array:
    half = 1 << (_FRACTION_BITS - 1)
    return _short((values.astype(np.int64) * (0x7FFF // by) + half) >> _FRACTION_BITS)


def _turned(values: Array) -> Array:
    """Complex numbers times -i."""
    return np.stack([values[..., 1], -values[..., 0]], -1)


def _complex_transform(x: Array, twiddles: Array, stride: int) -> Array:
    """Return the Fourier transform of complex numbers [..., size, 2].

    The size is a power of two.
    """
    size = x.shape[-2]
    if size == 1:
        return x
    radix = 4 if size % 4 == 0 else 2
    part = size // radix
    parts = [
        _divided(_complex_transform(x[..., i::radix, :], twiddles, stride * radix), radix)
        for i in range(radix)
    ]
    places = np.arange(part) * stride
    first, *rest = [
        values if i == 0 else _times(values, twiddles[i * places]) for i, values in enumerate(parts)
    ]
    if radix == 2:
        return np.concatenate([first + rest[0], first - rest[0]], -2)
    even, odd = first + rest[1], rest[0] + rest[2]
    across, turned = first - rest[1], _turned(rest[0] - rest[2])
    return np.concatenate([even + odd, across + turned, even - odd, across - turned], -2)


def real_transform(x: Array) -> Array:
    """Return the Fourier transform of int16 [..., size], a power of two, in 16 bits.

    The result is int16 [..., size / 2 + 1, 2]: real and imaginary parts over the size.
    """
    half = x.shape[-1] // 2
    pairs = x.reshape(*x.shape[:-1], half, 2)
    packed = _complex_transform(pairs, _twiddles(-2 * np.pi * np.arange(half) / half), 1)
    packed = _divided(packed, 2)
    result = np.zeros((*x.shape[:-1], half + 1, 2), np.int16)
    result[..., 0, 0] = packed[..., 0, 0] + packed[..., 0, 1]
    result[..., half, 0] = packed[..., 0, 0] - packed[..., 0, 1]
    k = np.arange(1, half // 2 + 1)
    here, there = packed[..., k, :], packed[..., half - k, :] * np.array([1, -1], np.int16)
    total = (here + there).astype(np.int32)
    turned = _times(here - there, _turns(half)).astype(np.int32)
    result[..., k, :] = _short((total + turned) >> 1)
    mirrored = np.stack([total[..., 0] - turned[..., 0], turned[..., 1] - total[..., 1]], -1)
    result[..., half - k, :] = _short(mirrored >> 1)
    return result
