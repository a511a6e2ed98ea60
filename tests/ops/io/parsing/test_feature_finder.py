"""Native finder of features: it agrees with the protobuf library, or finds none, for any bytes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.files.damage import damages

from stillflow import native
from stillflow.ops.io.parsing import wire
from stillflow.ops.io.parsing.feature_finder import FeatureFinder
from stillflow.protos import Example

NAMES = ["a", "b", "exactly8", "a name of more than eight bytes", "", "é" * 100, "a"]


def written(names):
    made = Example()
    for place, name in enumerate(names):
        made.features.feature[name].int64_list.value.extend(range(place))
    return made.SerializeToString()


def by_protobuf(text):
    return list(map(wire.messages()[0].FromString(text).features.feature.__getitem__, NAMES))


@given(
    st.lists(st.sampled_from([*NAMES, "c", "exactly9", "e" * 200])), st.lists(damages(), max_size=3)
)
def test_nothing_else_is_found_in_damaged_examples(names, damaged):
    library = native.library()
    if library is None:
        pytest.skip("the loops in C were not built")
    text = written(names)
    for damage in damaged:
        text = damage(text) if text else text
    texts = [written(["b"]), text, written(["a", "c"])]
    found = FeatureFinder(NAMES).find(library, texts)
    if found is not None:
        rows = zip(*(found.column(place) for place in range(len(NAMES))), strict=True)
        assert list(map(list, rows)) == list(map(by_protobuf, texts))
    assert found is not None or damaged
