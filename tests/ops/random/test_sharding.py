"""The divisions of work that TensorFlow 1.15.5 was seen to make."""

from __future__ import annotations

import pytest

from stillflow.ops.random.sharding import host_threads, shards


@pytest.mark.parametrize(
    ("total", "cost", "threads", "size", "count"),
    [
        (333, 50498, 1, 333, 1),
        (333, 50498, 2, 42, 8),
        (333, 50498, 3, 28, 12),
        (333, 50498, 4, 21, 16),
        (333, 50498, 8, 14, 24),
        (2000, 11910, 8, 63, 32),
        (700, 3910, 3, 59, 12),
        (40, 50498, 3, 7, 6),
        (40, 50498, 8, 3, 14),
        (64, 1000, 8, 64, 1),  # not worth a second thread
        (1, 10**9, 8, 1, 1),
    ],
)
def test_size_and_number_of_shards(
    total: int, cost: int, threads: int, size: int, count: int
) -> None:
    divided = list(shards(total, cost, threads))
    assert divided[0] == (0, size)
    assert len(divided) == count


@pytest.mark.parametrize("total", [1, 2, 7, 100, 12345])
@pytest.mark.parametrize("cost", [0, 1, 5000, 10**6])
def test_shards_cover_everything_once_in_order(total: int, cost: int) -> None:
    position = 0
    for start, stop in shards(total, cost, 6):
        assert start == position < stop
        position = stop
    assert position == total


def test_there_is_a_thread() -> None:
    assert host_threads() >= 1
