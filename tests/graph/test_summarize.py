"""Values as they stand in messages, compared with what TensorFlow 1.15.5 prints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stillflow.graph.summarize import summarize

CUBE = np.arange(12).reshape(2, 3, 2)
ONE_LINE: list[tuple[Any, int, str]] = [
    (np.arange(5), 3, "0 1 2..."),
    (np.arange(5), -1, "0 1 2 3 4"),
    (CUBE, 4, "[[0 1][2 3]]..."),
    (CUBE, 100, "[[0 1][2 3][4 5]][[6 7][8 9][10 11]]"),
    (
        np.float32([0.1, 1e10, 3, np.nan, -np.inf, 1 / 3]),
        10,
        "0.1 1e+10 3 nan -inf 0.333333343",
    ),
    (np.float64([0.1, 1 / 3, 1e100]), 10, "0.1 0.33333333333333331 1e+100"),
    (np.float16([0.1, 2]), 3, "0.0999755859 2"),
    (np.array([True, False]), 5, "1 0"),
    (np.array([b"a\n", b'\x01"'], object), 5, 'a\\n \\001\\"'),
    (np.array(7), 3, "7"),
    (np.zeros((2, 0), np.float32), 3, ""),
    (np.complex64([1 + 2j]), 3, "?"),
]
BLOCKS: list[tuple[Any, int, str]] = [
    (np.arange(5), 1, "[0 ... 4]"),
    (np.arange(5), 3, "[0 1 2 3 4]"),
    (CUBE, 4, "[[[0 1]\n  [2 3]\n  [4 5]]\n\n [[6 7]\n  [8 9]\n  [10 11]]]"),
    (
        np.arange(24).reshape(2, 3, 4),
        1,
        "[[[0 ... 3]\n  ...\n  [8 ... 11]]\n\n [[12 ... 15]\n  ...\n  [20 ... 23]]]",
    ),
    (np.arange(4).reshape(2, 2), -1, "[[0 1]\n [2 3]]"),
    (np.zeros((2, 0), np.float32), 3, "[\n ...]"),
    (np.zeros((0,), np.float32), 3, "[]"),
    (np.array([b"a\n", b'\x01"'], object), 5, '["a\\n" "\\001\\""]'),
    (np.array(7), 3, "7"),
    (np.complex64([1 + 2j]), 3, "[?]"),
]


@pytest.mark.parametrize(("array", "entries", "text"), ONE_LINE)
def test_one_line(array: Any, entries: int, text: str) -> None:
    assert summarize(array, entries) == text


@pytest.mark.parametrize(("array", "entries", "text"), BLOCKS)
def test_blocks_as_tf_print_writes_them(array: Any, entries: int, text: str) -> None:
    assert summarize(array, entries, v2=True) == text
