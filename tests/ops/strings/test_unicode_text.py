from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stillflow.ops.strings.unicode_text import characters, codec_of, encode, scripts_of

ENCODINGS = [
    b"UTF-8", b"UTF-16-BE", b"UTF-16-LE", b"UTF-32-BE", b"utf16", b"Shift_JIS", b"latin1",
]  # fmt: skip


@given(st.text(), st.sampled_from(ENCODINGS))
def test_characters_are_those_of_the_text_and_cover_it(text: str, encoding: bytes) -> None:
    codec = codec_of(encoding)
    data = text.encode(codec, "ignore")
    found = characters([b"", data, data], codec)
    expected = data.decode(codec)
    assert "".join(map(chr, found.codes)) == expected * 2
    assert found.counts.tolist() == [0, len(expected), len(expected)]
    assert found.sizes.sum() == (2 * len(data) if expected else 0)
    assert (found.starts()[: len(expected)] == found.starts()[len(expected) :]).all()


@given(st.binary(max_size=12), st.sampled_from(ENCODINGS[:4]))
def test_malformed_bytes_are_what_python_replaces(data: bytes, encoding: bytes) -> None:
    codec = codec_of(encoding)
    found = characters([data], codec)
    shown = np.where(found.malformed, 0xFFFD, found.codes)
    assert "".join(map(chr, shown)) == data.decode(codec, "replace")
    assert found.sizes.sum() == len(data)


@pytest.mark.parametrize("encoding", [b"klingon", b"idna", b"rot13", b"base64", b""])
def test_what_is_no_encoding_of_text_is_refused(encoding: bytes) -> None:
    with pytest.raises(ValueError, match="Could not create converter"):
        codec_of(encoding)


def test_halves_of_pairs_meet_or_are_replaced() -> None:
    codes, counts = np.array([0xD83D, 0xDE0A, 0xD800, 65]), [3, 0, 1]
    assert encode(codes, counts, b"UTF-8") == ["\U0001f60a\ufffd".encode(), b"", b"A"]
    assert encode(codes, counts, b"UTF-16-BE")[0] == b"\xd8\x3d\xde\x0a\xd8\x00"
    assert encode(codes, counts, b"UTF-32-BE")[0] == b"\0\x01\xf6\x0a\0\0\xd8\0"


def test_scripts_agree_with_the_names_of_letters() -> None:
    codes = np.arange(0x20000, dtype=np.int32)
    scripts = scripts_of(codes)
    for script, name in ((25, "LATIN"), (14, "GREEK"), (8, "CYRILLIC"), (19, "HEBREW")):
        letters = [
            code for code in codes[scripts == script].tolist() if chr(code).isalpha()
        ]  # fmt: skip
        named = sum(name in unicodedata.name(chr(code), "") for code in letters)
        assert named > 0.9 * len(letters) > 20
    assert scripts_of(np.array([-1, 0x110000], np.int32)).tolist() == [-1, -1]
