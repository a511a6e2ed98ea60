from __future__ import annotations

import numpy as np
import pytest

from stillflow.ops.random.philox import (
    LARGEST_RUN,
    MASK32,
    Philox,
    fill_blocks,
    gather_blocks,
    philox_block,
)


def blocks_one_by_one(stream: Philox, numbers: list[int]) -> list[list[int]]:
    result = []
    for number in numbers:
        counter = (stream.low | stream.high << 64) + number & (1 << 128) - 1
        words = [counter >> shift & MASK32 for shift in (0, 32, 64, 96)]
        result.append(list(philox_block(words, (stream.key & MASK32, stream.key >> 32))))
    return result


# From the authors' known-answer tests of Philox 4x32 with ten rounds.
@pytest.mark.parametrize(
    ("counter", "key", "block"),
    [
        ((0,) * 4, (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((MASK32,) * 4, (MASK32, MASK32), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_known_answers(counter: tuple, key: tuple, block: tuple) -> None:
    assert philox_block(counter, key) == block


@pytest.mark.parametrize("step", [1, 64, 128])
@pytest.mark.parametrize(
    ("low", "high"),
    [
        (0, 0),
        (5, 2**63 + 12345),
        (2**32 - 3, 7),  # the first word overflows
        (2**64 - 3, 2**64 - 1),  # all words overflow
        (2**64 - 500, 9),
    ],
)
def test_many_blocks_are_those_computed_one_by_one(low: int, high: int, step: int) -> None:
    stream = Philox(0x123456789ABCDEF0, low, high)
    words = np.empty((4, 11), np.uint32)
    fill_blocks(stream, 2, step, words)
    numbers = [2 + step * i for i in range(11)]
    assert words.T.tolist() == blocks_one_by_one(stream, numbers)
    assert (gather_blocks(stream, np.array(numbers, np.uint64)) == words).all()


def test_runs_longer_than_a_workspace() -> None:
    stream = Philox.from_seeds(1, 2)
    count = LARGEST_RUN + 5
    words = np.empty((4, count), np.uint32)
    fill_blocks(stream, 0, 1, words)
    chosen = [0, 1, LARGEST_RUN - 1, LARGEST_RUN, count - 1]
    assert words[:, chosen].T.tolist() == blocks_one_by_one(stream, chosen)
    assert (gather_blocks(stream, np.arange(count, dtype=np.uint64)) == words).all()


def test_no_blocks() -> None:
    assert gather_blocks(Philox.from_seeds(1, 2), np.empty(0, np.uint64)).shape == (4, 0)
    assert Philox.from_seeds(1, 2).words(0).shape == (0,)


def test_skipping_is_moving_block_by_block() -> None:
    stream = Philox.from_seeds(3, 4)
    before = stream.words(48)
    stream.skip(10)
    assert (stream.words(8) == before[40:]).all()


def test_reserving_returns_the_position_before() -> None:
    stream = Philox.from_seeds(3, 4)
    first, second = stream.reserve(2), stream.reserve(2)
    assert (
        np.concatenate([first.words(8), second.words(8)]) == Philox.from_seeds(3, 4).words(16)
    ).all()
    assert stream.low == 4


def test_skipping_carries_into_the_upper_half() -> None:
    stream = Philox(1, 2**64 - 1, 6)
    stream.skip(2)
    assert (stream.low, stream.high) == (1, 7)


def test_state_is_read_back() -> None:
    stream = Philox(2**64 - 2, 2**63, 5)
    state = stream.state()
    assert state == [-(2**63), 5, -2]
    again = Philox.from_state(state)
    assert (again.key, again.low, again.high) == (stream.key, stream.low, stream.high)


def test_seeds_of_zero_are_unpredictable() -> None:
    first, second = Philox.from_seeds(0, 0), Philox.from_seeds(0, 0)
    assert first.key != second.key
    assert Philox.from_seeds(0, 1).key == 0
