"""Short features, recognized by what they begin with, are those that the protobuf library finds."""

from __future__ import annotations

import numpy as np
import pytest

from stillflow.files import varint
from stillflow.ops.io.parsing import wire
from stillflow.ops.io.parsing.feature_maps import FeatureMaps
from stillflow.protos import Example

COUNT = 24
KINDS = {"floats": "float", "a": "int64", "text": "string", "void": "int64", "longer_name": "float"}
OTHERS = ("b", "another")


def feature(name, row):
    """Return a serialized Example of one feature, without its own tag and length."""
    made = Example()
    values = made.features.feature[name]
    kind = KINDS.get(name, "int64")
    if kind == "float":
        values.float_list.value.extend([row + 0.5] * 3)
    elif kind == "string":
        values.bytes_list.value.append(b"x" * (row % 5))
    else:
        values.int64_list.value.extend([row, 300] if name != "void" else ())
        values.int64_list.SetInParent()
    return made.SerializeToString()[2:]


def written(entries):
    body = b"".join(entries)
    return b"\x0a" + varint.encode(len(body)) + body


def in_one_order(names):
    return [written([feature(name, row) for name in names]) for row in range(COUNT)]


def in_any_order(names):
    random = np.random.RandomState(0)
    orders = [[names[i] for i in random.permutation(len(names))] for _ in range(COUNT)]
    return [written([feature(n, row) for n in order]) for row, order in enumerate(orders)]


def some_of(names):
    return [
        written([feature(name, row) for place, name in enumerate(names) if (row >> place) % 3])
        for row in range(COUNT)
    ]


def agrees(found, texts, names=tuple(KINDS)):
    """Return True if protobuf finds the same."""
    rows = [wire.messages()[0].FromString(text).features.feature for text in texts]
    columns = [list(found.column(place)) for place in range(len(names))]
    return columns == [[row[name] for row in rows] for name in names]


@pytest.mark.parametrize("names", [(*KINDS,), (*KINDS, *OTHERS)], ids=["asked for", "more"])
@pytest.mark.parametrize("write", [in_one_order, in_any_order, some_of])
def test_short_features_are_recognized(write, names):
    texts = write(names)
    found = FeatureMaps([*KINDS], [*KINDS.values()]).find(texts)
    assert found.short
    assert agrees(found, texts)


def test_a_feature_that_is_asked_for_twice_is_found_twice():
    texts = in_one_order([*KINDS])
    found = FeatureMaps(["a", "text", "a"], ["int64", "string", "int64"]).find(texts)
    assert found.short
    assert agrees(found, texts, ["a", "text", "a"])


STRANGE = {
    "of another type": Example(features={"feature": {"a": {"float_list": {"value": [1.5]}}}}),
    "of two strings": Example(
        features={"feature": {"text": {"bytes_list": {"value": [b"", b""]}}}}
    ),
    "without a type": Example(features={"feature": {"a": {}}}),
    "long": Example(features={"feature": {"a": {"int64_list": {"value": range(150)}}}}),
}


@pytest.mark.parametrize("strange", STRANGE.values(), ids=STRANGE)
def test_features_written_otherwise_are_found_without_templates(strange):
    texts = in_one_order([*KINDS])
    texts[7] = strange.SerializeToString()
    found = FeatureMaps([*KINDS], [*KINDS.values()]).find(texts)
    assert not found.short
    assert agrees(found, texts)


@pytest.mark.parametrize("write", [in_one_order, in_any_order])
def test_any_changed_byte_is_seen(write):
    texts = write([*KINDS, *OTHERS])
    maps = FeatureMaps([*KINDS], [*KINDS.values()])
    for place in range(len(texts[5])):
        for change in (1, 2, 128, 255):
            changed = bytearray(texts[5])
            changed[place] = (changed[place] + change) % 256
            batch = [*texts[:5], bytes(changed), *texts[6:]]
            found = maps.find(batch)
            assert found is None or agrees(found, batch)


def test_entries_of_zeros_are_none():
    texts = in_one_order([*KINDS])
    texts[3] = texts[3][:2] + bytes(len(texts[3]) - 2)
    assert FeatureMaps([*KINDS], [*KINDS.values()]).find(texts) is None
