"""Strings that loops in C find and make are those that Python knows."""

from __future__ import annotations

import gc
import sys

import numpy as np
import pytest

from stillflow import native
from stillflow.util import texts

STRINGS = np.array([b"", b"a", b"a b", bytes(range(256)), b"a", b"long" * 1000, b"\0"], object)

pytestmark = pytest.mark.skipif(texts.library() is None, reason="the loops in C were not built")


def found(strings):
    result = texts.texts_of(strings)
    assert result is not None
    return result


def test_strings_are_made_of_what_was_found():
    made = texts.strings_at(found(STRINGS), (7,))
    assert made.tolist() == STRINGS.tolist()
    assert all(type(item) is bytes for item in made)


@pytest.mark.parametrize("view", [STRINGS[::2], STRINGS[:6].reshape(2, 3).T, STRINGS[:0]])
def test_strings_are_found_in_row_major_order(view):
    made = texts.strings_at(found(view), view.shape)
    assert made.tolist() == view.tolist()


@pytest.mark.parametrize("other", ["text", None, 1, np.bytes_(b"a"), bytearray(b"a")])
def test_what_is_no_string_is_not_read(other):
    assert texts.texts_of([b"a", other, b"b"]) is None


def test_arrays_of_bytes_of_one_size_are_not_read():
    assert texts.texts_of(np.array([b"a", b"bc"])) is None


def test_what_was_found_outlives_its_array():
    strings = np.array([bytes([65 + n]) * 50 for n in range(20)], object)
    expected, places = strings.tolist(), found(strings)
    expected = [bytearray(item) for item in expected]  # copies
    strings[:] = b""
    gc.collect()
    made = texts.strings_at(places, (20,))
    assert made.tolist() == [bytes(item) for item in expected]


def test_strings_made_are_given_back():
    strings = np.array([b"%d of many" % i for i in range(1000)], object)
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(20):
        texts.strings_at(found(strings), (1000,))
        texts.parts_of(found(strings), b" ", True, True)
        texts.joined_rows(found(strings), 10, b"-")
    assert sys.getallocatedblocks() - before < 1000


def test_rows_are_joined():
    strings = np.array([b"a", b"", b"bc", b"", b"", b""], object)
    assert texts.joined_rows(found(strings), 2, b"").tolist() == [b"abc", b""]
    assert texts.joined_rows(found(strings), 2, b", ").tolist() == [b"a, , bc", b", , "]
    assert texts.joined_rows(found(strings), 6, b"-").tolist() == strings.tolist()


def test_texts_are_numbered_in_the_order_in_which_they_come():
    random = np.random.RandomState(0)
    strings = np.array([b"%d" % n for n in random.randint(0, 300, 2000)], object)
    numbering = texts.Numbering(found(strings))
    known: dict[bytes, int] = {}
    assert numbering.numbers.tolist() == [known.setdefault(s, len(known)) for s in strings]
    assert strings[numbering.firsts].tolist() == list(known)
    asked = [b"0", b"", b"not there", strings[-1]]
    places = numbering.places(found(asked)).tolist()
    expected = strings.tolist()
    assert places == [expected.index(s) if s in known else -1 for s in asked]


def test_copies_serve_where_objects_are_not_known(monkeypatch):
    strings = STRINGS.tolist()
    monkeypatch.setattr(texts, "texts_of", lambda strings: None)
    copies = texts.any_texts_of(strings)
    assert texts.strings_at(copies, (7,)).tolist() == strings


def test_other_layouts_are_not_read(monkeypatch):
    monkeypatch.setattr(texts, "_known", [])
    monkeypatch.setattr(texts, "_layout", lambda: None)
    assert native.library() is not None
    assert texts.texts_of([b"a"]) is None
