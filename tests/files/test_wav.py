"""WAV files: written ones are read, and broken ones raise TensorFlow's errors."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from stillflow.files import wav

SOUND = np.array([[0.0, 0.5], [-1.0, 0.25], [0.999, -0.5]], np.float32)


def broken(offset, format_, value):
    """Return a file with another number at an offset."""
    data = bytearray(wav.encode(SOUND, 8000))
    struct.pack_into(format_, data, offset, value)
    return bytes(data)


def test_reads_what_is_written():
    sound, rate = wav.decode(wav.encode(SOUND, 44100))
    np.testing.assert_allclose(sound, SOUND, atol=1 / 32768)
    assert rate == 44100


def test_passes_over_other_chunks_and_half_frames():
    data = wav.encode(SOUND, 8000)
    more = data[:36] + b"LIST\x03\0\0\0abc" + data[36:40] + struct.pack("<I", 13) + data[44:] + b"x"
    np.testing.assert_array_equal(wav.decode(more[:-1])[0], wav.decode(data)[0])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "Data too short"),
        (b"RIFX0000WAVE", "Expected RIFF but found RIFX"),
        (b"RIFF0000WAVX", "Expected WAVE but found WAVX"),
        (broken(16, "<I", 17), "Expected 16 or 18, but got17"),
        (broken(20, "<H", 3), r"Expected 1 \(PCM\), but got3"),
        (broken(22, "<H", 0), "Expected at least 1, but got 0"),
        (broken(28, "<I", 1), "Bad bytes per second in WAV header"),
        (broken(32, "<H", 2), "Bad bytes per sample in WAV header"),
        (broken(34, "<H", 8), "Can only read 16-bit WAV files, but received 8"),
        (broken(36, "<I", 0), "No data chunk found"),
        (broken(40, "<I", 1 << 31), "is too large"),
        (broken(40, "<I", 1000), "Data too short"),
        (wav.encode(SOUND, 8000) + wav.encode(SOUND, 8000)[36:], "More than one data chunk"),
    ],
)
def test_refuses(data, message):
    with pytest.raises(ValueError, match=message):
        wav.decode(data)


def test_no_truncation_gives_a_wrong_sound():
    data = wav.encode(SOUND, 8000)
    for length in range(len(data)):
        with pytest.raises(ValueError, match=r"Data too short|No data chunk"):
            wav.decode(data[:length])
