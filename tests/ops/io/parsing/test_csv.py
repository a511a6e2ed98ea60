"""Fields of many lines at once are those of each line."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow import errors
from stillflow.ops.io.parsing.csv import _Splitter


def split_both(lines, delimiter=b",", quotes=True, selected=()):
    split = _Splitter(delimiter, quotes, list(selected))
    return split.columns(lines), [split(line) for line in lines]


ALIKE = {
    "plain": ([b"1,2,abc", b"3,,d e", b",,"], {}),
    "one field": ([b"a", b"b"], {}),
    "another delimiter": ([b"1|2,3", b"4|5"], {"delimiter": b"|"}),
    "some columns": ([b"1,2,abc", b"3,4,d"], {"selected": (0, 2)}),
    "quoted": ([b'1,"a,b",""', b'"x""y",3,4', b"5,6,"], {}),
    "quoted by other delimiters": ([b'"a]b"]1', b'c]"d,"'], {"delimiter": b"]"}),
    "quotes that are none": ([b'1,"a', b'b"c,2'], {"quotes": False}),
    "any bytes": ([bytes(set(range(256)) - set(b',"\r\n')) + b",\xff", b"a,b"], {}),
    "any bytes quoted": ([b'"\xe9,\x80",\x85', b"\x1c,\x0b"], {}),
}


@pytest.mark.parametrize(("lines", "options"), ALIKE.values(), ids=ALIKE)
def test_fields_are_cut_alike(lines, options):
    columns, rows = split_both(lines, **options)
    assert columns is not None
    assert list(map(list, zip(*columns, strict=True))) == rows


LEFT = {
    "not as many fields": ([b"1,2", b"3"], {}),
    "an empty line": ([b"1,2", b""], {}),
    "a line break in quotes": ([b'1,"a\nb"', b"2,c"], {}),
    "a carriage return": ([b"1,2\r", b"3,4"], {}),
    "a selected column that is not there": ([b"1,2"], {"selected": (2,)}),
    "no lines": ([], {}),
}


@pytest.mark.parametrize(("lines", "options"), LEFT.values(), ids=LEFT)
def test_other_lines_are_left_to_be_cut_one_by_one(lines, options):
    split = _Splitter(b",", True, list(options.get("selected", ())))
    assert split.columns(lines) is None


BROKEN = {
    "a quote in a field": b'1,a"b',
    "an open quote": b'1,"ab',
    "text behind a quote": b'1,"a"b',
    "a quote alone": b'",1',
}


@pytest.mark.parametrize("line", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_broken_quotes_are_refused_wherever_they_are(line, place):
    lines = [b'"x","y"'] * 2
    lines.insert(place, line)
    split = _Splitter(b",", True, [])
    assert split.columns(lines) is None
    with pytest.raises(errors.InvalidArgumentError, match="quote"):
        split(line)


def test_random_lines_are_cut_alike():
    random, letters = np.random.RandomState(0), [b"a", b",", b'"', b'""', b'","', b"1"]
    for _ in range(2_000):
        made = [b"".join(letters[i] for i in random.randint(0, 6, 5)) for _ in range(2)]
        split = _Splitter(b",", True, [])
        columns = split.columns(made)
        if columns is not None:
            assert list(map(list, zip(*columns, strict=True))) == [split(line) for line in made]


def decode(lines, defaults, **options):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.string, [None])
        found = session.run(tf.decode_csv(x, defaults, **options), {x: np.array(lines, object)})
    return [column.tolist() for column in found]


def test_defaults_stand_in_for_empty_fields():
    found = decode([b"1,2.5,a", b",,", b"3,nan,b"], [[7], [0.5], ["-"]])
    assert found[0] == [1, 7, 3]
    assert found[1][:2] == [2.5, 0.5]
    assert np.isnan(found[1][2])
    assert found[2] == [b"a", b"-", b"b"]


def test_another_text_can_stand_for_nothing():
    found = decode([b"1,NA", b"NA,b"], [[7], ["-"]], na_value="NA")
    assert found == [[1, 7], [b"-", b"b"]]


@pytest.mark.parametrize("text", [b"abc", b"1.5", b"2147483648", b"1_0"])
def test_a_field_that_is_no_number_is_named(text):
    said = f"Field 1 in record 1 is not a valid int32: {text.decode()}"
    with pytest.raises(errors.InvalidArgumentError, match=said):
        decode([b"a,1", b"b," + text], [["-"], [0]])
