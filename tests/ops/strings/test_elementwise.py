"""Strings in Base64 are those of Python's library, many at a time or not."""

from __future__ import annotations

import base64

import numpy as np
import pytest

import stillflow as tf

TEXTS = [bytes(range(250, 250 - size, -1)) for size in range(20)]


def strings(*items):
    return np.array(items, object)


@pytest.mark.parametrize("pad", [True, False])
def test_every_length_is_written_as_by_python(session, pad):
    found = session.run(tf.encode_base64(strings(*TEXTS), pad=pad))
    expected = [base64.urlsafe_b64encode(text) for text in TEXTS]
    assert found.tolist() == [text if pad else text.rstrip(b"=") for text in expected]


@pytest.mark.parametrize("pad", [True, False])
def test_what_is_written_is_read_again(session, pad):
    texts = strings(*TEXTS).reshape(4, 5)
    found = session.run(tf.decode_base64(tf.encode_base64(texts, pad=pad)))
    assert found.tolist() == texts.tolist()


@pytest.mark.parametrize("wrong, reason", [
    ((b"YWI", b"a+/b", b"a"), "Invalid character"), ((b"YWI", b"a", b"a+/b"), "1 modulo 4"),
    ((b"ab=",), "Invalid character"), ((b"=",), "1 modulo 4"), ((b"abcd+",), "1 modulo 4"),
    ((b"ab+d+",), "Invalid character"), ((b"a===",), "Invalid character"),
    ((b"ab=c",), "Invalid character"),
])  # fmt: skip
def test_the_first_text_that_is_no_base64_is_refused(session, wrong, reason):
    with pytest.raises(tf.errors.InvalidArgumentError, match=reason):
        session.run(tf.decode_base64(tf.placeholder_with_default(strings(*wrong), [None])))


def test_characters_are_counted_where_they_begin(session):
    texts = strings(b"", b"ab", "h\u00e9 \u4f60\U0001f600".encode(), b"\xffa\x80\x80")
    assert session.run(tf.strings.length(texts, unit="UTF8_CHAR")).tolist() == [0, 2, 5, 2]
