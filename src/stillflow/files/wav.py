"""WAV files of 16-bit samples: writing them."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

_HEADER = struct.Struct("<4sI4s4sIHHIIHH4sI")
_BYTES = 2
_LARGEST = 1 << 15


def encode(samples: np.ndarray[Any, Any], sample_rate: int) -> bytes:
    """Returns sound as a WAV file.

    Args:
      samples: float32 [frames, channels] between -1 and 1; what is beyond is cut off.
      sample_rate: frames a second.

    Raises:
      ValueError: If there are no frames or channels, or more than such a file can have.
    """
    frames, channels = samples.shape
    if not 0 < sample_rate < 1 << 32:
        raise ValueError(f"sample_rate must be in (0, 2^32), got: {sample_rate}")
    if not 0 < channels < 1 << 16:
        raise ValueError(f"num_channels must be in (0, 2^16), got: {channels}")
    if not frames:
        raise ValueError("num_frames must be positive.")
    size = frames * channels * _BYTES
    if size + _HEADER.size >= 1 << 32:
        raise ValueError("Provided channels and frames cannot be encoded as a WAV.")
    header = _HEADER.pack(
        b"RIFF", size + _HEADER.size - 8, b"WAVE", b"fmt ", 16, 1, channels, sample_rate,
        sample_rate * _BYTES * channels, _BYTES * channels, 8 * _BYTES, b"data", size,
    )
    scaled = samples.astype(np.float32) * np.float32(_LARGEST)
    # Halves are rounded away from zero.
    rounded = np.trunc(scaled + np.copysign(np.float32(0.5), scaled))
    return header + np.clip(rounded, -_LARGEST, _LARGEST - 1).astype("<i2").tobytes()
