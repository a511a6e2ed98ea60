"""Philox 4x32-10, the counter-based generator behind every random operation.

Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC'11). A 128-bit counter and a
64-bit key give a block of four 32-bit words, and any block can be computed without the ones
before it. Blocks are computed here many at a time with numpy, in arrays that fit a core's cache.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from stillflow.ops.random import native_kernels

WORDS_PER_BLOCK = 4
ROUNDS = 10
MASK32 = 0xFFFFFFFF
MASK64 = 0xFFFFFFFFFFFFFFFF
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
# Blocks per pass of numpy calls: 1.3 MB of arrays, which measured fastest (a second-level cache).
LARGEST_RUN = 16384
_ROUND = 256

# Targets of a block's four words: four one-dimensional uint32 arrays of one length.
Columns: TypeAlias = np.ndarray | Sequence[np.ndarray]


def philox_block(counter: Sequence[int], key: Sequence[int]) -> tuple[int, int, int, int]:
    """Return the four 32-bit words that `counter` (four words) gives under `key` (two words)."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(ROUNDS):
        p0 = MULTIPLIERS[0] * c0
        p1 = MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK32, (p0 >> 32) ^ c3 ^ k1, p0 & MASK32
        k0 = (k0 + KEY_STEPS[0]) & MASK32
        k1 = (k1 + KEY_STEPS[1]) & MASK32
    return c0, c1, c2, c3


class Philox:
    """A position in a Philox stream: a 64-bit key and the 128-bit counter of the next block."""

    __slots__ = ("high", "key", "low")

    def __init__(self, key: int, low: int, high: int) -> None:
        self.key = key & MASK64
        self.low = low & MASK64
        self.high = high & MASK64

    @classmethod
    def from_seeds(cls, seed: int, seed2: int) -> Philox:
        """Return the stream of an operation with these seeds.

        0 and 0 ask for an unpredictable one.
        """
        if seed == 0 and seed2 == 0:
            seed, seed2 = secrets.randbits(64), secrets.randbits(64)
        return cls(seed, 0, seed2)

    @classmethod
    def from_stateless_seed(cls, seed0: int, seed1: int) -> Philox:
        """Return the stream of a stateless operation: a block under a fixed key mixes the seeds."""
        counter = (*_halves(seed0 & MASK64), *_halves(seed1 & MASK64))
        mixed = philox_block(counter, (0x3EC8F720, 0x02461E29))
        return cls(mixed[0] | mixed[1] << 32, 0, mixed[2] | mixed[3] << 32)

    @classmethod
    def from_state(cls, state: Sequence[int]) -> Philox:
        """Return the stream that three int64 describe: lower counter, upper counter, key."""
        return cls(int(state[2]), int(state[0]), int(state[1]))

    def state(self) -> list[int]:
        """Return the three int64 that `from_state` reads."""
        words = (self.low, self.high, self.key)
        return [word - (1 << 64) if word >> 63 else word for word in words]

    def copy(self) -> Philox:
        """Return a second position at the same place of the same stream."""
        return Philox(self.key, self.low, self.high)

    def skip(self, blocks: int) -> None:
        """Move on by `blocks`, taken modulo 2**64."""
        count = blocks & MASK64
        c0, c1 = _halves(self.low)
        count_low, count_high = _halves(count)
        c0 = (c0 + count_low) & MASK32
        if c0 < count_low:
            count_high = (count_high + 1) & MASK32
        c1 = (c1 + count_high) & MASK32
        if c1 < count_high:
            self.high = (self.high + 1) & MASK64
        self.low = c0 | c1 << 32

    def reserve(self, blocks: int) -> Philox:
        """Move on by `blocks`; return the position before."""
        before = self.copy()
        self.skip(blocks)
        return before

    def words(self, count: int) -> np.ndarray:
        """Return the next `count` words of the stream as uint32, without moving on."""
        drawn = native_kernels.words(self, count)
        if drawn is not None:
            return drawn
        blocks = np.empty((-(-count // WORDS_PER_BLOCK), WORDS_PER_BLOCK), np.uint32)
        fill_blocks(self, 0, 1, blocks.T)
        return blocks.reshape(-1)[:count]

    def runs(
        self, first: int, step: int, count: int, longest: int = LARGEST_RUN
    ) -> Iterator[tuple[int, int, int, int, int]]:
        """Split blocks first, first+step, ... where the upper 96 bits of the counter change.

        Yields the index of a run's first block, the run's length (at most `longest`), c0 of its
        first block, its c1 and its upper 64 bits.
        """
        index = 0
        while index < count:
            position = self.low + first + step * index
            room = -(-((1 << 32) - (position & MASK32)) // step)
            length = min(count - index, room, longest)
            high = (self.high + (position >> 64)) & MASK64
            yield index, length, position & MASK32, (position >> 32) & MASK32, high
            index += length


def fill_blocks(stream: Philox, first: int, step: int, columns: Columns) -> None:
    """Write the blocks first, first + step, first + 2*step ... of `stream` to `columns`."""
    count = len(columns[0])
    for index, length, c0, c1, high in stream.runs(first, step, count):
        work = _workspace(length)
        if step == 1:
            np.add(work.iota, np.uint64(c0), out=work.counters[0])
        else:
            np.multiply(work.iota, np.uint64(step), out=work.counters[0])
            np.add(work.counters[0], np.uint64(c0), out=work.counters[0])
        part = columns if length == count else [c[index : index + length] for c in columns]
        _rounds(work, stream.key, (c1, *_halves(high)), part)


def gather_blocks(stream: Philox, blocks: np.ndarray) -> np.ndarray:
    """Return the words of any `blocks` (uint64, relative to the position), as uint32 [4, n]."""
    low = blocks + np.uint64(stream.low)
    if not len(low):
        return np.empty((WORDS_PER_BLOCK, 0), np.uint32)
    c1 = low >> np.uint64(32)
    carried = low < blocks
    if c1.min() == c1.max() and not carried.any():
        return _gather_run(stream, low, int(c1[0]), stream.high)
    words = np.empty((WORDS_PER_BLOCK, len(blocks)), np.uint32)
    for upper, carry in sorted(set(zip(c1.tolist(), carried.tolist(), strict=True))):
        chosen = np.nonzero((c1 == upper) & (carried == carry))[0]
        words[:, chosen] = _gather_run(stream, low[chosen], upper, stream.high + carry)
    return words


def _gather_run(stream: Philox, low: np.ndarray, c1: int, high: int) -> np.ndarray:
    """Blocks whose counters differ in c0 only, the lower half of `low`."""
    # Odd numbers of blocks are rounded up, so that their workspaces are made once.
    count = len(low)
    words = np.empty((WORDS_PER_BLOCK, -(-count // _ROUND) * _ROUND), np.uint32)
    for start in range(0, count, LARGEST_RUN):
        part = low[start : start + LARGEST_RUN]
        columns = words[:, start : start + LARGEST_RUN]
        work = _workspace(columns.shape[1])
        np.bitwise_and(part, _MASK, out=work.counters[0, : len(part)])
        work.counters[0, len(part) :] = 0
        _rounds(work, stream.key, (c1, *_halves(high & MASK64)), columns)
    return words[:, :count]


def _halves(word: int) -> tuple[int, int]:
    return word & MASK32, word >> 32


_SHIFT = np.uint64(32)
_MASK = np.uint64(MASK32)
_FACTORS = np.array([[MULTIPLIERS[0]], [MULTIPLIERS[1]]], np.uint64)
# On little-endian machines, as all that torch runs on.
_LOW_HALF = slice(0, None, 2)
_HIGH_HALF = slice(1, None, 2)


class _Workspace:
    """Arrays for one pass over `count` blocks.

    The multiplied words of a counter, c0 and c2, stand in the lower halves of uint64; the other two
    are the lower halves of the products of the round before, so they are never copied. Views named
    `flipped_*` swap the two rows, as a round does. `odd` and `even` are 32-bit views of a row from
    its second and first half on: combined, they pair high halves with low halves, and between
    those something that is masked away. That is faster than views with gaps.
    """

    __slots__ = (
        "counters",
        "even",
        "flipped_even",
        "flipped_high",
        "flipped_low",
        "flipped_odd",
        "iota",
        "products",
    )

    def __init__(self, count: int) -> None:
        self.iota = np.arange(count, dtype=np.uint64)
        self.counters = np.zeros((2, count), np.uint64)
        self.even = self.counters.view(np.uint32)[:, :-1]
        self.products = [np.zeros((2, count), np.uint64) for _ in range(2)]
        flipped = [product.view(np.uint32)[::-1] for product in self.products]
        self.flipped_even = [row[:, :-1] for row in flipped]
        self.flipped_odd = [row[:, 1:] for row in flipped]
        self.flipped_low = [row[:, _LOW_HALF] for row in flipped]
        self.flipped_high = [row[:, _HIGH_HALF] for row in flipped]


class _Workspaces(threading.local):
    def __init__(self) -> None:
        self.by_count: dict[int, _Workspace] = {}


_workspaces = _Workspaces()


def _workspace(count: int) -> _Workspace:
    by_count = _workspaces.by_count
    work = by_count.get(count)
    if work is None:
        if len(by_count) >= 16:
            del by_count[next(iter(by_count))]
        work = by_count[count] = _Workspace(count)
    return work


def _rounds(work: _Workspace, key: int, upper: tuple[int, int, int], columns: Columns) -> None:
    """Ten rounds over counters: c0 stands in work.counters[0], the other words are `upper`.

    Since only c0 varies, half of the first two rounds is done on plain integers.
    """
    c1, c2, c3 = upper
    keys = [
        ((key + r * KEY_STEPS[0]) & MASK32, ((key >> 32) + r * KEY_STEPS[1]) & MASK32)
        for r in range(ROUNDS)
    ]
    multiply, xor, shift = np.multiply, np.bitwise_xor, np.right_shift
    counters, products = work.counters, work.products
    even, flipped_even, flipped_odd = work.even, work.flipped_even, work.flipped_odd
    first, second = counters[0], counters[1]

    product = MULTIPLIERS[1] * c2
    c0, c1 = (product >> 32) ^ c1 ^ keys[0][0], product & MASK32
    multiply(first, _FACTORS[0], products[0][0])
    shift(products[0][0], _SHIFT, second)
    xor(second, np.uint64(c3 ^ keys[0][1]), second)

    product = MULTIPLIERS[0] * c0
    multiply(second, _FACTORS[1], products[1][1])
    shift(products[1][1], _SHIFT, first)
    xor(first, np.uint64(c1 ^ keys[1][0]), first)
    np.bitwise_and(products[0][0], _MASK, second)
    xor(second, np.uint64((product >> 32) ^ keys[1][1]), second)
    products[1][0] = product & MASK32

    round_keys = np.array(keys, np.uint64)[:, :, None]
    now, before = 0, 1
    for r in range(2, ROUNDS - 1):
        multiply(counters, _FACTORS, products[now])
        xor(flipped_odd[now], flipped_even[before], even)
        np.bitwise_and(counters, _MASK, counters)
        xor(counters, round_keys[r], counters)
        now, before = before, now
    multiply(counters, _FACTORS, products[now])
    for row, word in enumerate((0, 2)):
        column = columns[word]
        xor(work.flipped_high[now][row], work.flipped_low[before][row], column)
        xor(column, np.uint32(keys[-1][row]), column)
        columns[word + 1][...] = work.flipped_low[now][row]
