"""Features found for many examples in step, or in C, are those that the protobuf library finds."""

from __future__ import annotations

import numpy as np
import pytest

from stillflow import native
from stillflow.ops.io.parsing import wire
from stillflow.ops.io.parsing.feature_finder import FeatureFinder
from stillflow.ops.io.parsing.feature_maps import FEW, FeatureMaps
from stillflow.protos import Example

NAMES = ["a", "b", "exactly8", "a name of more than eight bytes", "", "a"]
KINDS = ["int64"] * len(NAMES)
OTHERS = ["c", "exactly9", "a name of more than eight bytes!", "é"]


def example(random, names):
    made = Example()
    for name in names:
        values = random.randint(-9, 400, random.choice([0, 1, 5, 200]))
        made.features.feature[name].int64_list.value.extend(values.tolist())
    return made.SerializeToString()


def examples(count=40, fewest=0):
    random, names = np.random.RandomState(0), sorted({*NAMES, *OTHERS})
    chosen = [random.permutation(names)[: random.randint(fewest, 9)] for _ in range(count)]
    return [example(random, map(str, names)) for names in chosen]


def columns(found):
    return [list(found.column(place)) for place in range(len(found.starts))]


def by_protobuf(texts):
    rows = [wire.messages()[0].FromString(text).features.feature for text in texts]
    return [[row[name] for row in rows] for name in NAMES]


@pytest.fixture(params=["in step", "in C"])
def find(request):
    """Find features of some names."""
    if request.param == "in step":
        return lambda names, texts: FeatureMaps(names, ["int64"] * len(names)).find(texts)
    library = native.library()
    if library is None:
        pytest.skip("the loops in C were not built")
    return lambda names, texts: FeatureFinder(names).find(library, texts)


def test_features_are_those_that_protobuf_finds(find):
    texts = examples()
    found = find(NAMES, texts)
    assert columns(found) == by_protobuf(texts)


def test_short_features_are_found_in_one_go():
    texts = [example(np.random.RandomState(n), ["a", "b"]) for n in range(40)]
    texts = [text for text in texts if len(text) < 128]
    found = FeatureMaps(NAMES, KINDS).find(texts)
    assert columns(found) == by_protobuf(texts)


def test_columns_give_the_feature_of_one_row(find):
    texts = examples()
    column = find(["b"], texts).column(0)
    assert len(column) == len(texts)
    assert [column[row] for row in range(len(texts))] == by_protobuf(texts)[1]


def test_the_last_entry_of_a_name_counts(find):
    entry = b"\x0a\x08\x0a\x01a\x12\x03\x1a\x01%c"
    body = entry % b"x" + entry % b"y"
    texts = [b"\x0a" + bytes([len(body)]) + body] * FEW
    assert columns(find(["a"], texts))[0] == [b"\x1a\x01y"] * FEW


@pytest.mark.parametrize("texts", [[b""] * 20, [b"\x0a\x00"] * 20], ids=["none", "empty"])
def test_examples_without_features_have_none(find, texts):
    assert columns(find(["a"], texts))[0] == [b""] * 20


STRANGE = {
    "cut short": lambda text: text[:-1],
    "more behind": lambda text: text + b"\x0a\x00",
    "another field": lambda text: b"\x12" + text[1:],
    "no map": lambda text: b"\x0a\x02\x12\x00",
    "a length of six bytes": lambda text: b"\x0a\xff\xff\xff\xff\xff\x01",
    "a name alone": lambda text: b"\x0a\x05\x0a\x03\x0a\x01a",
    "a name past its entry": lambda text: b"\x0a\x05\x0a\x03\x0a\x7fa",
    "bytes without sense": lambda text: b"\x8f" * 50,
}


@pytest.mark.parametrize("change", STRANGE.values(), ids=STRANGE)
@pytest.mark.parametrize("row", [0, 17, 39])
def test_nothing_is_found_where_an_example_is_written_otherwise(find, change, row):
    texts = examples(fewest=1)
    texts[row] = change(texts[row])
    assert find(NAMES, texts) is None


def test_a_few_long_maps_among_short_ones_are_left_to_protobuf():
    texts = examples(40, 1)
    texts[3] = example(np.random.RandomState(0), map(str, range(2_000)))
    assert FeatureMaps(NAMES, KINDS).find(texts) is None


def test_many_names_are_told_apart(find):
    names = [f"{kind}_feature_{n}_of_a_table" for kind in ("user", "item") for n in range(400)]
    texts = [example(np.random.RandomState(n), names[n::9]) for n in range(40)]
    found = find(names, texts)
    rows = [wire.messages()[0].FromString(text).features.feature for text in texts]
    assert columns(found) == [[row[name] for row in rows] for name in names]


@pytest.mark.parametrize("name", ["x" * 128, "é" * 64], ids=["128 letters", "128 bytes"])
def test_long_names_are_left_to_protobuf(name):
    assert FeatureMaps(["a", name], ["int64"] * 2).find(examples()) is None


def test_no_names_find_nothing():
    assert FeatureMaps([], []).find(examples()) is None
