"""Numbers of elements that are processed at a time."""

from __future__ import annotations

from stillflow.ops.data.run_length import RunLength


def test_runs_grow_while_they_are_short() -> None:
    run = RunLength()
    for expected in (2, 4, 8, 16, 32, 64, 64):
        run.took(100_000, run.size)
        assert run.size == expected


def test_long_runs_are_halved() -> None:
    run = RunLength(8)
    run.took(2_000_000, 8)
    assert run.size == 8
    run.took(9_000_000, 8)
    assert run.size == 4
    for _ in range(5):
        run.took(9_000_000, run.size)
    assert run.size == 1
    run.took(100, 2)
    assert run.size == 2


def test_a_run_that_was_cut_short_says_nothing_of_longer_ones() -> None:
    run = RunLength(8)
    run.took(100, 3)
    assert run.size == 8
