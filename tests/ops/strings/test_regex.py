from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.strings import regex
from stillflow.ops.strings.regex import compiled


@pytest.mark.parametrize("pattern, text, expected", [
    (r"\p{Lu}", "aBc\u00c4", ["B", "\u00c4"]), (r"\pN+", "a12\u0663", ["12\u0663"]),
    (r"[\p{Ll}_]+", "ab_C\u00e9", ["ab_", "\u00e9"]), (r"\P{L}", "a1b", ["1"]),
    (r"\p{^L}", "a1b", ["1"]), (r"[^\pL]", "a-b", ["-"]), (r"\p{Any}", "a", ["a"]),
])  # fmt: skip
def test_categories_of_unicode(pattern: str, text: str, expected: list[str]) -> None:
    assert compiled(pattern.encode()).findall(text) == expected


@pytest.mark.parametrize("pattern, text, expected", [
    (r"\p{Greek}+", "a\u03b1\u03b2c", ["\u03b1\u03b2"]),
    (r"[\p{Han}a]+", "a\u6f22\u30ab", ["a\u6f22"]),
    (r"\P{Han}", "\u6f22\u30ab", ["\u30ab"]), (r"\p{^Han}", "\u6f22\u30ab", ["\u30ab"]),
    (r"[^\p{Latin}]", "a\u00e91", ["1"]), (r"\p{Zanabazar_Square}", "\U00011a00", ["\U00011a00"]),
    (r"\p{Common}", "a1", ["1"]),
])  # fmt: skip
def test_scripts_of_unicode(pattern: str, text: str, expected: list[str]) -> None:
    """TensorFlow 1.15.5 has the same code points in each of the 148."""
    assert compiled(pattern.encode()).findall(text) == expected


@pytest.mark.parametrize("pattern, said", [
    (r"\p{Nope}", r"invalid character class range: \p{Nope}"),
    (r"[\P{^Nope}]", r"invalid character class range: \P{^Nope}"),
    (r"\pX", r"invalid character class range: \pX"), (r"\p", r"invalid character class range: \p"),
    (r"\p{}", r"invalid character class range: \p{}"),
    (r"\p{Greek", r"invalid character class range: \p{Greek"),
    (r"\X", r"invalid escape sequence: \X"), (r"[\C]", r"invalid escape sequence: \C"),
    (r"\C", r"Stillflow does not support the escape sequence \C, a single byte"),
])  # fmt: skip
def test_what_is_no_category_is_refused_by_name(pattern: str, said: str) -> None:
    """But for the last the words are those of TensorFlow 1.15.5."""
    with pytest.raises(ValueError) as refused:
        compiled(pattern.encode())
    assert str(refused.value) == f"Invalid pattern: {pattern}, error: {said}"


@pytest.mark.parametrize("pattern, rewrite, text, expected", [
    ("a*", r"\1", "aab", "b"), ("a*", r"a\qb", "aab", "aba"), ("a", r"\2-", "xaab", "x--b"),
    (r"\b", "X", "ab c", "XabX XcX"), ("a|", "-", "baab", "-b--b-"), (r"\Ba*", "-", "aab", "a-b"),
    ("(a)|(b)", r"<\2\1>", "abc", "<a><b>c"), ("b", r"\\", "abc", r"a\c"),
    ("b", "$1&", "abc", "a$1&c"), ("b", r"\g<0>", "abc", "ac"),
    ("\u00e9", "e", "\u00e9t\u00e9", "ete"),
])  # fmt: skip
def test_all_matches_are_replaced(session, pattern, rewrite, text, expected):
    assert session.run(tf.regex_replace(text, pattern, rewrite)).decode() == expected


def test_older_horizons_build_older_graphs():
    with tf.Graph().as_default():
        with tf.compat.forward_compatibility_horizon(2018, 11, 1):
            older = tf.strings.regex_full_match("foo", "[a-z]*")
        assert older.op.type == "RegexFullMatch"
        assert tf.strings.regex_full_match("foo", "[a-z]*").op.type == "StaticRegexFullMatch"
        with tf.Session() as session:
            assert session.run(older)


PATTERNS = (
    "[0-9]+", "[^a-z ]", "a.c", r"\d\D", r"\W+x", r"\S\s", "^a", "c$", r"\Aa|c\z", "(a)?b(c)?",
    "(?:ab|c)+", "[[:alpha:]]{2}", "[^[:digit:]]a", "é[xé]", "(a(b))|c", "(?i)A", "a*", "l?$",
    r"\ba", r"[\w-]b", r"[\D]a", "(?s)a.b", r"\x00a", "[]a]b", "<br />", r"\pL+x", "(?m)^a$",
)  # fmt: skip
REWRITES = (b"#", rb"<\0>", rb"\2-\1", b"", b"\\\\", b"a\0b")


@pytest.mark.parametrize("pattern", PATTERNS)
def test_many_texts_at_once_are_replaced_as_one_by_one(pattern):
    letters = ["a", "b", "c", "x", "A", "é", "1", "2", " ", "-", "\n", "<br />", "ab", "abc"]
    random = np.random.RandomState(0)
    texts = ["".join(random.choice(letters, random.randint(8))).encode() for _ in range(200)]
    texts += [b"", b"\xff", b"a\xc3", b"\xa9b"]
    for rewrite in REWRITES:
        one = regex._replacer(pattern.encode(), rewrite, True)
        all_ = regex._all_replaced(pattern.encode(), rewrite, True)
        for given in (texts, [*texts, b"a\0b"], texts[:3]):
            assert all_(given) == list(map(one, given))


@pytest.mark.parametrize("pattern", PATTERNS)
def test_many_texts_at_once_match_as_one_by_one(pattern):
    texts = ["", "a", "b", "ab", "abc", "aa", "12", "7", "a c", "a\nb", "x", "-b", "É", "A", "la"]
    texts = [text.encode() for text in texts * 2] + [b"\xff", b"a\xc3", b"\xa9b", b"<br />"]
    match = regex._full_matcher(pattern.encode())
    for given in (texts, texts[::-1], [*texts, b"a\0b", b"\0a"]):
        many = match(np.array(given, object).reshape(2, -1))
        assert many.reshape(-1).tolist() == [bool(match(np.array([x], object))) for x in given]


def test_replacements_at_once_are_what_usual_patterns_take():
    taken = [pattern for pattern in PATTERNS if regex._within_texts(regex.compiled(
        pattern.encode()).pattern) is not None]  # fmt: skip
    assert len(taken) > len(PATTERNS) / 2
