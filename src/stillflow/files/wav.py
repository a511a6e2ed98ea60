"""WAV files of 16-bit samples: reading and writing them."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

_HEADER = struct.Struct("<4sI4s4sIHHIIHH4sI")
_FORMAT = struct.Struct("<HHIIHH")
_BYTES = 2
_LARGEST = 1 << 15


def encode(samples: np.ndarray[Any, Any], sample_rate: int) -> bytes:
    """Return float32 [frames, channels] as a WAV file; beyond -1 and 1 samples are clipped.

    ValueError if there are no frames or channels, or more than such a file can have.
    """
    frames, channels = samples.shape
    if not 0 < sample_rate < 1 << 32:
        raise ValueError(f"sample_rate must be in (0, 2^32), got: {sample_rate % (1 << 64)}")
    if not 0 < channels < 1 << 16:
        raise ValueError(f"num_channels must be in (0, 2^16), got: {channels}")
    if not frames:
        raise ValueError("num_frames must be positive.")
    size = frames * channels * _BYTES
    if size + _HEADER.size >= 1 << 32:
        raise ValueError("Provided channels and frames cannot be encoded as a WAV.")
    header = _HEADER.pack(
        b"RIFF",
        size + _HEADER.size - 8,
        b"WAVE",
        b"fmt ",
        16,
        1,
        channels,
        sample_rate,
        sample_rate * _BYTES * channels % (1 << 32),
        _BYTES * channels,
        8 * _BYTES,
        b"data",
        size,
    )
    scaled = samples.astype(np.float32) * np.float32(_LARGEST)
    # Halves are rounded away from zero.
    rounded = np.trunc(scaled + np.copysign(np.float32(0.5), scaled))
    return header + np.clip(rounded, -_LARGEST, _LARGEST - 1).astype("<i2").tobytes()


def decode(data: bytes) -> tuple[np.ndarray[Any, Any], int]:
    """Return the sound of a WAV file, float32 [frames, channels] in -1 to 1, and its rate.

    The file is PCM of 16 bits; other chunks than format and data are passed over. ValueError if it
    is no such file, or is cut off.
    """
    offset = _expect(data, 0, b"RIFF")
    _read(data, offset, 4)  # how long the file says it is
    offset = _expect(data, offset + 4, b"WAVE")
    offset = _expect(data, offset, b"fmt ")
    size = _number(data, offset)
    if size not in (16, 18):
        raise ValueError(f"Bad file size for WAV: Expected 16 or 18, but got{size}")
    channels, rate = _checked_format(_read(data, offset + 4, _FORMAT.size))
    samples = _data_chunk(data, offset + 4 + size, _BYTES * channels)
    frames = len(samples) // (_BYTES * channels)
    values = np.frombuffer(samples, "<i2", frames * channels).reshape(frames, channels)
    return values.astype(np.float32) / np.float32(_LARGEST), rate


def _checked_format(chunk: bytes) -> tuple[int, int]:
    kind, channels, rate, bytes_per_second, bytes_per_frame, bits = _FORMAT.unpack(chunk)
    if kind != 1:
        raise ValueError(f"Bad audio format for WAV: Expected 1 (PCM), but got{kind}")
    if channels < 1:
        raise ValueError(f"Bad number of channels for WAV: Expected at least 1, but got {channels}")
    if bits != 8 * _BYTES:
        raise ValueError(f"Can only read 16-bit WAV files, but received {bits}")
    expected = _BYTES * channels
    if bytes_per_frame != expected:
        raise ValueError(
            f"Bad bytes per sample in WAV header: Expected {expected} but got {bytes_per_frame}"
        )
    if bytes_per_second != (expected * rate) % (1 << 32):
        raise ValueError(
            f"Bad bytes per second in WAV header: Expected {expected * rate} but got "
            f"{bytes_per_second} (sample_rate={rate}, bytes_per_sample={bytes_per_frame})"
        )
    return channels, rate


def _data_chunk(data: bytes, offset: int, bytes_per_frame: int) -> bytes:
    """Return the samples, in whole frames."""
    found = None
    while offset < len(data):
        name, size = _read(data, offset, 4), _number(data, offset + 4)
        offset += 8
        if size >= 1 << 31:
            raise ValueError(
                f"WAV data chunk '{name.decode('latin-1')}' is too large: {size} bytes, but the "
                f"limit is {(1 << 31) - 1}"
            )
        if name == b"data":
            if found is not None:
                raise ValueError("More than one data chunk found in WAV")
            size -= size % bytes_per_frame
            found = _read(data, offset, size)
        offset += size
    if found is None:
        raise ValueError("No data chunk found in WAV")
    return found


def _read(data: bytes, offset: int, length: int) -> bytes:
    if offset + length > len(data):
        raise ValueError("Data too short when trying to read string")
    return data[offset : offset + length]


def _number(data: bytes, offset: int) -> int:
    return int.from_bytes(_read(data, offset, 4), "little")


def _expect(data: bytes, offset: int, text: bytes) -> int:
    found = _read(data, offset, len(text))
    if found != text:
        raise ValueError(
            f"Header mismatch: Expected {text.decode()} but found {found.decode('latin-1')}"
        )
    return offset + len(text)
