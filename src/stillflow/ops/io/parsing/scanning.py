"""Looks at many places of an array of bytes at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stillflow.graph.lazy import torch

MARGIN = 10_240  # bytes after the last text: so far past its start something is looked for
WORD = 8  # bytes that are compared at once
LONGEST = 10  # bytes of a number
_FAR_BELOW = -(1 << 40)
_LENGTH_BYTES = 4  # of a length that is read here


def joined(texts: Sequence[bytes]) -> np.ndarray:
    """Texts one after the other, and a margin, as an array that can be written to."""
    return np.frombuffer(bytearray().join([*texts, bytes(MARGIN)]), np.uint8)


def margin(data: np.ndarray) -> int:
    """Return the start of the margin."""
    return len(data) - MARGIN


def windows(data: np.ndarray, starts: np.ndarray, width: int) -> np.ndarray:
    """So many bytes from each of these places on, uint8 [places, width]."""
    every = np.ndarray(len(data) - width + 1, f"V{width}", data, strides=(1,))
    return every[starts].view(np.uint8).reshape(len(starts), width)


def words(data: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the words that begin at these places, uint64."""
    return windows(data, starts, WORD).view("<u8").ravel()


def running_total(values: np.ndarray) -> np.ndarray:
    """Return `np.cumsum` of integers and booleans, faster."""
    # Converted by NumPy: torch would do it in several threads, which wait where cores are busy.
    whole = torch.from_numpy(values.astype(np.int64, copy=False))
    total: np.ndarray = whole.cumsum(0).numpy()
    return total


def lengths(data: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lengths written at these places, and where they end.

    Far below 0 for a longer one.
    """
    byte = data.take(at)
    value, stops = byte.astype(np.int64), at + 1
    more = byte > 127
    for place in range(1, _LENGTH_BYTES):
        if not more.any():
            return value, stops
        byte = data.take(stops)
        value += np.where(more, (byte.astype(np.int64) - 1) << 7 * place, 0)
        stops = stops + more
        more &= byte > 127
    value[more] = _FAR_BELOW
    return value, stops


def strings(data: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> list[bytes]:
    """Return the bytes of spans, each by itself."""
    text = data.data
    pairs = zip(starts.tolist(), (starts + sizes).tolist(), strict=True)
    return [bytes(text[start:stop]) for start, stop in pairs]


def places(starts: np.ndarray, counts: np.ndarray, width: int) -> np.ndarray:
    """Return the start of each item in spans with `counts` items of `width` bytes."""
    there = np.flatnonzero(counts)
    if not len(there):
        return there
    starts, counts = starts.take(there), counts.take(there)
    stops = running_total(counts)
    steps = np.full(stops[-1], width)
    steps[0] = starts[0]
    steps[stops[:-1]] = starts[1:] - starts[:-1] - (counts[:-1] - 1) * width
    return running_total(steps)


# ---- Numbers of seven bits a byte

# Merging of pairs of bit groups: bits to keep, shift of the others, mask of the result.
_SQUEEZES = [
    [np.uint64(number) for number in numbers]
    for numbers in (
        (0x007F007F007F007F, 1, 0x3F803F803F803F80),
        (0x00003FFF00003FFF, 2, 0x0FFFC0000FFFC000),
        (0x000000000FFFFFFF, 4, 0x00FFFFFFF0000000),
    )
]
_FIRST_BYTES = np.array([(1 << min(8 * n, 64)) - 1 for n in range(LONGEST + 1)], np.uint64)


class TooLong(Exception):
    """A number of more bytes than any has.

    Args:
      at: where it ends.
    """

    def __init__(self, at: int) -> None:
        super().__init__(at)
        self.at = at


def numbers(data: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return numbers that stand one after the other from the first byte on and end at `stops`."""
    more = data > 127
    if not (more[1:] & more[:-1]).any():
        return _short_numbers(data, more, stops)
    starts = np.concatenate(([0], stops[:-1]))
    digits = stops - starts
    longest = int(digits.max())
    if longest > LONGEST:
        raise TooLong(int(stops[digits > LONGEST][0]))
    found = words(np.concatenate((data, np.zeros(WORD, np.uint8))), starts)
    found &= _FIRST_BYTES.take(digits)
    for step, (low, shift, high) in enumerate(_SQUEEZES):
        if longest > 1 << step:
            found = found & low | found >> shift & high
    for place in range(WORD, longest):
        there = np.flatnonzero(digits > place)
        bits = data.take(starts.take(there) + place) & np.uint8(127)
        found[there] |= bits.astype(np.uint64) << np.uint64(7 * place)
    return found.view(np.int64)


def _short_numbers(data: np.ndarray, more: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Return the same of numbers of one byte or two."""
    before = more[:-1].view(np.uint8)
    values = data.astype(np.uint16)
    values[1:] <<= before * np.uint8(7)
    values[1:] |= (data[:-1] & np.uint8(127)) * before
    return values.take(stops - 1).astype(np.int64)
