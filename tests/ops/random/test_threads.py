from __future__ import annotations

import threading

import pytest

from stillflow.ops.random.threads import in_pieces


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("total", [0, 1, 9, 10, 11, 100])
def test_every_piece_is_done_once(total: int, threads: int) -> None:
    done = []
    in_pieces(total, 10, threads, lambda start, stop: done.append((start, stop)))
    assert sorted(done) == [(i, min(i + 10, total)) for i in range(0, total, 10)]


def test_small_work_stays_in_the_caller() -> None:
    seen = []
    in_pieces(10, 10, 8, lambda start, stop: seen.append(threading.current_thread()))
    assert seen == [threading.current_thread()]


def test_failures_reach_the_caller() -> None:
    def fail(start: int, stop: int) -> None:
        raise ValueError(f"piece {start}")

    with pytest.raises(ValueError, match="piece"):
        in_pieces(100, 10, 3, fail)
