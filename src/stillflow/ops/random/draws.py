"""Arrays of draws from the basic distributions, each a fixed function of a Philox stream.

Every function gives exactly the numbers TF 1.15 computes on a CPU for the same stream position.
The result never depends on the number of threads: draw i comes from a block that i alone decides.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from stillflow.ops.random import native_kernels
from stillflow.ops.random.philox import LARGEST_RUN, Philox, fill_blocks, gather_blocks
from stillflow.ops.random.single_precision import log_of_unit, sin_cos
from stillflow.ops.random.threads import in_pieces

# A kernel reserves this many blocks a draw, used or not, so that rejection has room.
RESERVED_BLOCKS = 256
TRUNCATION = 2.0
FLOAT_MANTISSA = 23
_EPSILON = 1e-7
_TWO_PI = 2 * np.pi
# A block's words in the order in which 64-bit numbers keep them: a double's upper half comes first
# in the stream, an integer's lower half does.
_DOUBLE_ORDER = (1, 0, 3, 2)
_WORD_ORDER = (0, 1, 2, 3)
# Takes a stream, the number of draws, the function's other arguments, and the number of threads.
Draw = TypeVar("Draw", bound=Callable[..., np.ndarray])


def _by(loop: Callable[..., np.ndarray | None]) -> Callable[[Draw], Draw]:
    """Decorate a function to draw by a native loop, where it is built."""

    def decorate(function: Draw) -> Draw:
        @functools.wraps(function)
        def draw(*args: Any, **kwargs: Any) -> np.ndarray:
            drawn = loop(*args, **kwargs)
            return function(*args, **kwargs) if drawn is None else drawn

        return cast(Draw, draw)

    return decorate


@_by(native_kernels.words)
def words32(stream: Philox, count: int, threads: int = 1) -> np.ndarray:
    """`count` uint32, uniform over all values."""
    return _filled(stream, count, np.uint32, _WORD_ORDER, None, threads)


@_by(native_kernels.words64)
def words64(stream: Philox, count: int, threads: int = 1) -> np.ndarray:
    """`count` uint64, uniform over all values."""
    return _filled(stream, count, np.uint64, _WORD_ORDER, None, threads)


@_by(native_kernels.uniform_float)
def uniform_float(
    stream: Philox, count: int, mantissa: int = FLOAT_MANTISSA, threads: int = 1
) -> np.ndarray:
    """`count` float32 in [0, 1), multiples of 2**-mantissa made of the words' lowest bits."""
    mask = np.uint32((1 << mantissa) - 1)
    unused = np.uint32(FLOAT_MANTISSA - mantissa)
    one = np.uint32(127 << FLOAT_MANTISSA)

    def finish(rows: np.ndarray) -> None:
        rows &= mask
        if unused:
            rows <<= unused
        rows |= one
        values = rows.view(np.float32)
        values -= np.float32(1.0)

    return _filled(stream, count, np.uint32, _WORD_ORDER, finish, threads).view(np.float32)


@_by(native_kernels.uniform_double)
def uniform_double(stream: Philox, count: int, threads: int = 1) -> np.ndarray:
    """`count` float64 in [0, 1), made of 52 bits of two words each."""
    return _filled(stream, count, np.uint64, _DOUBLE_ORDER, _unit_doubles, threads).view(np.float64)


def unit_doubles(words: np.ndarray) -> np.ndarray:
    """Return the float64 in [0, 1) of pairs of words: uint32 [4, n] to float64 [2, n]."""
    bits = words[0::2].astype(np.uint64)
    bits <<= np.uint64(32)
    bits |= words[1::2]
    _unit_doubles(bits)
    return bits.view(np.float64)


def _unit_doubles(bits: np.ndarray) -> None:
    """Turn uint64 into the doubles in [0, 1) that their lower 52 bits stand for, in place."""
    bits &= np.uint64((1 << 52) - 1)
    bits |= np.uint64(1023 << 52)
    values = bits.view(np.float64)
    values -= 1.0


def uniform_int32(stream: Philox, count: int, low: int, high: int, threads: int = 1) -> np.ndarray:
    """`count` int32 in [low, high): a word modulo the range, so small values are favoured."""
    return _uniform_int(words32(stream, count, threads), low, high).view(np.int32)


def uniform_int64(stream: Philox, count: int, low: int, high: int, threads: int = 1) -> np.ndarray:
    """`count` int64 in [low, high): two words modulo the range."""
    return _uniform_int(words64(stream, count, threads), low, high).view(np.int64)


def _uniform_int(words: np.ndarray, low: int, high: int) -> np.ndarray:
    unsigned = words.dtype.type
    size = unsigned(high - low)
    quotient = words // size  # numpy divides by one number much faster than it takes remainders
    quotient *= size
    words -= quotient
    words += unsigned(low % (1 << 8 * words.itemsize))
    return words


@_by(native_kernels.normal_float)
def normal_float(stream: Philox, count: int, threads: int = 1) -> np.ndarray:
    """`count` standard normal float32."""
    return _normal(stream, count, 4, np.float32, _box_muller_float, threads)


def normal_double(stream: Philox, count: int, threads: int = 1) -> np.ndarray:
    """`count` standard normal float64."""
    return _normal(stream, count, 2, np.float64, _box_muller_double, threads)


@_by(native_kernels.truncated_normal_float)
def truncated_normal_float(stream: Philox, count: int, threads: int = 1) -> np.ndarray:
    """`count` standard normal float32 of which those beyond two deviations were drawn again."""
    return _truncated(stream, count, 4, np.float32, _box_muller_float, threads)


def truncated_normal_double(stream: Philox, count: int, threads: int = 1) -> np.ndarray:
    """`count` standard normal float64 of which those beyond two deviations were drawn again."""
    return _truncated(stream, count, 2, np.float64, _box_muller_double, threads)


def _filled(
    stream: Philox,
    count: int,
    dtype: type[np.generic],
    order: tuple[int, ...],
    finish: Callable[[np.ndarray], None] | None,
    threads: int,
) -> np.ndarray:
    """`count` values of `dtype`, whose words stand in `order`, with `finish` applied in place."""
    per_block = 16 // np.dtype(dtype).itemsize
    blocks = -(-count // per_block)
    result = np.empty((blocks, per_block), dtype)
    words = result.view(np.uint32)

    def work(start: int, stop: int) -> None:
        columns = words[start:stop].T
        fill_blocks(stream, start, 1, [columns[i] for i in order])
        if finish is not None:
            finish(result[start:stop])

    in_pieces(blocks, LARGEST_RUN, threads, work)
    return result.reshape(-1)[:count]


def _box_muller_float(words: np.ndarray, normals: np.ndarray) -> None:
    """Turn uint32 [4, n] into float32 normals [4, n]."""
    words &= np.uint32((1 << FLOAT_MANTISSA) - 1)
    words |= np.uint32(127 << FLOAT_MANTISSA)
    units = words.view(np.float32)
    units -= np.float32(1.0)
    first = np.maximum(units[0::2], np.float32(_EPSILON)).reshape(-1)
    radius = log_of_unit(first)
    radius *= np.float32(-2.0)
    np.sqrt(radius, out=radius)
    angle = units[1::2].astype(np.float64)
    angle *= _TWO_PI
    sine, cosine = sin_cos(angle.astype(np.float32).reshape(-1))
    sine *= radius
    cosine *= radius
    normals[0::2] = sine.reshape(2, -1)
    normals[1::2] = cosine.reshape(2, -1)


def _box_muller_double(words: np.ndarray, normals: np.ndarray) -> None:
    """Turn uint32 [4, n] into float64 normals [2, n]."""
    radius, angle = polar_normals(words)
    np.multiply(np.sin(angle), radius, out=normals[0])
    np.multiply(np.cos(angle), radius, out=normals[1])


def polar_normals(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Radius and angle of a point of the plane whose coordinates are two standard normals.

    The first normal of the block is radius * sin(angle), the second radius * cos(angle).
    """
    units = unit_doubles(words)
    radius = np.maximum(units[0], _EPSILON)
    np.log(radius, out=radius)
    radius *= -2.0
    np.sqrt(radius, out=radius)
    angle = units[1]
    angle *= _TWO_PI
    return radius, angle


def _normal(
    stream: Philox,
    count: int,
    group: int,
    dtype: type[np.floating],
    box_muller: Callable[[np.ndarray, np.ndarray], None],
    threads: int,
) -> np.ndarray:
    """Draws normals, `group` of each block."""
    blocks = -(-count // group)
    result = np.empty((blocks, group), dtype)

    def work(start: int, stop: int) -> None:
        words = np.empty((4, stop - start), np.uint32)
        fill_blocks(stream, start, 1, words)
        box_muller(words, result[start:stop].T)

    in_pieces(blocks, LARGEST_RUN // 2, threads, work)
    return result.reshape(-1)[:count]


def _truncated(
    stream: Philox,
    count: int,
    group: int,
    dtype: type[np.floating],
    box_muller: Callable[[np.ndarray, np.ndarray], None],
    threads: int,
) -> np.ndarray:
    """Draws groups of `group` normals; each group has its own blocks to draw again from."""
    groups = -(-count // group)
    stride = group * RESERVED_BLOCKS // 4
    result = np.empty((groups, group), dtype)

    def draw(start: int, stop: int) -> None:
        words = np.empty((4, stop - start), np.uint32)
        fill_blocks(stream, start * stride, stride, words)
        box_muller(words, result[start:stop].T)

    in_pieces(groups, LARGEST_RUN // 2, threads, draw)
    # A group's truth values are compared together, as one integer.
    inside = (np.abs(result) < TRUNCATION).view(f"u{group}").reshape(-1)
    rejected = np.nonzero(inside != np.ones(group, bool).view(f"u{group}"))[0]

    def redraw(start: int, stop: int) -> None:
        """Draws more blocks until a group has enough accepted candidates; keeps the first."""
        pending = rejected[start:stop]
        candidates = result[pending]
        block = 0
        while len(pending):
            block += 1
            words = gather_blocks(stream, (pending * stride + block).astype(np.uint64))
            more = np.empty((len(pending), group), dtype)
            box_muller(words, more.T)
            candidates = np.concatenate([candidates, more], axis=1)
            inside = np.abs(candidates) < TRUNCATION
            counts = inside.sum(axis=1)
            done = counts >= group
            firsts = np.cumsum(counts) - counts
            order = np.flatnonzero(inside)[firsts[done, None] + np.arange(group)]
            result[pending[done]] = candidates.reshape(-1)[order]
            pending, candidates = pending[~done], candidates[~done]

    in_pieces(len(rejected), LARGEST_RUN // 2, threads, redraw)
    return result.reshape(-1)[:count]
