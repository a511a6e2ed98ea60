from __future__ import annotations

from typing import Any

import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


def run(fetch: Any) -> Any:
    with tf.Session(graph=fetch.flat_values.graph) as session:
        return session.run(fetch).to_list()


def test_words() -> None:
    lines = ["a b  c", "", "d"]
    expected = [[b"a", b"b", b"c"], [], [b"d"]]
    assert run(tf.compat.v2.strings.split(lines)) == expected
    assert run(tf.strings.split(lines, result_type="RaggedTensor")) == expected
    assert isinstance(tf.strings.split(lines), tf.SparseTensor)
    with pytest.raises(ValueError, match="result_type must be"):
        tf.string_split(lines, result_type="dense")


def test_bytes_and_characters() -> None:
    text = "h\u00f6".encode()
    assert run(tf.strings.bytes_split([text, ""])) == [[b"h", b"\xc3", b"\xb6"], []]
    assert run(tf.strings.unicode_split([text, ""], "UTF-8")) == [[b"h", b"\xc3\xb6"], []]
    codes, starts = tf.strings.unicode_decode_with_offsets([text, b"a"], "UTF-8")
    assert run(codes) == [[104, 246], [97]]
    assert run(starts) == [[0, 1], [0]]


def test_code_points_of_unknown_rank_are_refused() -> None:
    unknown = tf.placeholder(tf.string)
    with pytest.raises(ValueError, match="statically known"):
        tf.strings.unicode_decode(unknown, "UTF-8")


def test_runs_of_words() -> None:
    words = tf.ragged.constant([["a", "b", "c"], ["d"]])
    assert run(tf.strings.ngrams(words, 2)) == [[b"a b", b"b c"], []]
    assert run(tf.strings.ngrams(words, 2, pad_values=("<", ">"), separator="")) == [
        [b"<a", b"ab", b"bc", b"c>"], [b"<d", b"d>"],
    ]  # fmt: skip
    with pytest.raises(ValueError, match="greater than 0"):
        tf.strings.ngrams(words, [0])
