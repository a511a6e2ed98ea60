"""Calls of pandas as before its versions 2 and 3."""

from __future__ import annotations

from pathlib import Path

import pytest

from stillflow.facade.revive import old_scipy

HERE = Path(__file__).parent


def test_calls_give_what_they_gave(launcher):
    pytest.importorskip("pandas")
    out, said = launcher.program((HERE / "old_frames.py").read_text())
    assert out == (HERE / "old_frames.txt").read_text()
    assert said.count(".fillna(method=) was removed") == 1


def test_functions_that_roll_over_a_window(launcher):
    pytest.importorskip("pandas")
    out, _ = launcher.program("""
        import pandas as pd
        numbers = pd.Series([1.0, 2.0, 4.0])
        print(pd.rolling_mean(numbers, 2).tolist(), pd.rolling_max(numbers, 2, 1).tolist())
        print(pd.ewma(numbers, span=1).tolist())
        """)
    assert out == "[nan, 1.5, 3.0] [1.0, 2.0, 4.0]\n[1.0, 2.0, 4.0]\n"


def test_statistics_of_scipy():
    pytest.importorskip("scipy")
    assert old_scipy.itemfreq([3, 1, 3]).tolist() == [[1, 1], [3, 2]]
    assert old_scipy.binom_test(3, 3) == 0.25
    assert old_scipy.binom_test([3, 0], p=0.5, alternative="greater") == 0.125
    assert old_scipy.median_absolute_deviation([1.0, 2.0, 4.0]) == 1.4826
