from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.ops.strings.regex import compiled


@pytest.mark.parametrize("pattern, text, expected", [
    (r"\p{Lu}", "aBc\u00c4", ["B", "\u00c4"]), (r"\pN+", "a12\u0663", ["12\u0663"]),
    (r"[\p{Ll}_]+", "ab_C\u00e9", ["ab_", "\u00e9"]), (r"\P{L}", "a1b", ["1"]),
    (r"\p{^L}", "a1b", ["1"]), (r"[^\pL]", "a-b", ["-"]), (r"\p{Any}", "a", ["a"]),
])  # fmt: skip
def test_categories_of_unicode(pattern: str, text: str, expected: list[str]) -> None:
    assert compiled(pattern.encode()).findall(text) == expected


@pytest.mark.parametrize("pattern", [r"\p{Greek}", r"\p", r"\p{"])
def test_what_is_no_category_is_refused_by_name(pattern: str) -> None:
    with pytest.raises(ValueError, match="Invalid pattern"):
        compiled(pattern.encode())


@pytest.mark.parametrize("pattern, rewrite, text, expected", [
    ("a*", r"\1", "aab", "b"), ("a*", r"a\qb", "aab", "aba"), ("a", r"\2-", "xaab", "x--b"),
    (r"\b", "X", "ab c", "XabX XcX"), ("a|", "-", "baab", "-b--b-"), (r"\Ba*", "-", "aab", "a-b"),
    ("(a)|(b)", r"<\2\1>", "abc", "<a><b>c"), ("b", r"\\", "abc", r"a\c"),
    ("b", "$1&", "abc", "a$1&c"), ("b", r"\g<0>", "abc", "ac"),
    ("\u00e9", "e", "\u00e9t\u00e9", "ete"),
])  # fmt: skip
def test_all_matches_are_replaced(session, pattern, rewrite, text, expected):
    assert session.run(tf.regex_replace(text, pattern, rewrite)).decode() == expected
