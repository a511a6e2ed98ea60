"""Patterns of one class after another match in many texts at once as in each by itself."""

from __future__ import annotations

import random

import numpy as np
import pytest
from tests.running import run

import stillflow as tf
from stillflow.ops.strings import regex

pytestmark = pytest.mark.usefixtures("graph", "either_way")

PATTERNS = [
    "l*", "l+", "l?", "l", "lo", "[al]*", "[^a]", "[^a]*", r"\s+", r"\W+", ".", ".*", r"\.",
    "[[:alpha:]]", "[[:alpha:] ]*", "a.l", "a*l?o+", ".*l.*", "[a-o]+[ .]?", r"\d*", "a?a?a?aa",
    r"[\.]+", "é", "(l)", "l{2}", "^a", "a$", r"\bl", "[^a]?l", "x*",
]  # fmt: skip


def texts(count: int, are_utf_8: bool) -> list[bytes]:
    """Return random texts, also empty ones, ones beyond ASCII and ones that are not UTF-8."""
    choose = random.Random(0)
    letters = [b"a", b"l", b"o", b" ", b".", b"-", "é".encode(), b"\n", b"1", "𝄞".encode(), b"_"]
    if not are_utf_8:
        letters += [b"\xff", b"\xf0\x9d", b"\xed\xa0\x80"]
    return [b"".join(choose.choices(letters, k=choose.randrange(8))) for _ in range(count)]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("everywhere", [True, False], ids=["all", "first"])
@pytest.mark.parametrize("are_utf_8", [True, False])
def test_replacements_in_many_texts_are_those_in_each(pattern, everywhere, are_utf_8):
    given = texts(60, are_utf_8)
    for rewrite in (b"-", b"", b"<>", rb"\\", rb"[\0]", rb"\q"):
        found = regex._all_replaced(pattern.encode(), rewrite, everywhere)(given)
        each = regex._replacer(pattern.encode(), rewrite, everywhere)
        assert found == [each(text) for text in given]


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("are_utf_8", [True, False])
def test_matches_of_many_texts_are_those_of_each(pattern, are_utf_8):
    given = texts(200, are_utf_8)
    found = regex._full_matcher(pattern.encode())(np.array(given, object).reshape(20, 10))
    expected = []
    for text in given:
        decoded, is_broken = regex._decoded(text)
        expected.append(bool(regex.compiled(pattern.encode(), is_broken).fullmatch(decoded)))
    assert found.reshape(-1).tolist() == expected
    assert found.shape == (20, 10)


def test_zero_bytes_are_part_of_texts():
    given = [b"a\0l", b"l", b""] * 8
    replaced, matched = run(
        [tf.strings.regex_replace(given, "l*", "-"), tf.strings.regex_full_match(given, "l*")]
    )
    assert replaced[:3].tolist() == [b"-a-\0-", b"-", b"-"]
    assert matched[:3].tolist() == [False, True, True]


def test_a_long_sequence_of_classes_matches():
    given = [b"ab" * 40, b"ab" * 39] * 10
    assert run(tf.strings.regex_full_match(given, "ab" * 40)).tolist() == [True, False] * 10
