"""Examples in JSON: what protobuf's own reader makes of them, or left to it."""

from __future__ import annotations

import json

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st

from stillflow.ops.io.parsing import json_examples
from stillflow.protos import Example


def of(**features):
    return json.dumps({"features": {"feature": features}}).encode()


def by_protobuf(text):
    try:
        return json_format.Parse(text, Example())
    except json_format.ParseError:
        return None


def feature(kind, values):
    return {kind: {"value": values}}


READ = [
    of(), of(a=feature("int64List", [])), of(a=feature("int64List", [1, "-2", str(2**63 - 1)])),
    of(a=feature("floatList", [0.1, 2, -3e38])), of(a=feature("bytes_list", ["", "YQ==", "+/8="])),
    of(a=feature("int64_list", ["7"]), b=feature("float_list", []),
       c=feature("bytesList", ["YWJj"])),
]  # fmt: skip

LEFT = [
    b"", b"{}", b"[]", b"null", b"{\"features\": {}}", b"\xff", b"{\"features\": 1}",
    of(a={}), of(a=None), of(a={"int64List": {}}), of(a=feature("other", [])),
    of(a=feature("int64List", [True])), of(a=feature("int64List", [1.0])),
    of(a=feature("int64List", [" 1"])), of(a=feature("int64List", [2**63])),
    of(a=feature("int64List", ["9" * 19])), of(a=feature("int64List", ["1\n"])),
    of(a=feature("floatList", ["NaN"])), of(a=feature("floatList", [1e39])),
    of(a=feature("floatList", [float("nan")])), of(a=feature("floatList", [None])),
    of(a=feature("bytesList", ["YQ"])), of(a=feature("bytesList", ["-_8="])),
    of(a=feature("bytesList", [1])), of(a={**feature("bytesList", []), **feature("floatList", [])}),
    b"{\"features\": {\"feature\": {}, \"feature\": {}}}", of(a=1)[:-1],
]  # fmt: skip


# From 3.15 on, Python says of protobuf's decoding that it will not take "+" and "/" one day.
@pytest.mark.filterwarnings("ignore:invalid character .* in URL-safe Base64:FutureWarning")
@pytest.mark.parametrize("text", READ)
def test_lists_are_read_as_protobuf_reads_them(text):
    found = json_examples.parse(text)
    assert found == by_protobuf(text)
    assert found.SerializeToString() == by_protobuf(text).SerializeToString()


@pytest.mark.parametrize("text", LEFT)
def test_all_else_is_left_to_protobuf(text):
    assert json_examples.parse(text) is None


VALUES = st.one_of(
    st.integers(-(2**64), 2**64), st.floats(), st.text(max_size=5), st.booleans(), st.none()
)
FEATURES = st.fixed_dictionaries({}, optional={
    name: st.fixed_dictionaries({"value": st.lists(VALUES, max_size=3)})
    for name in ("int64List", "floatList", "bytesList")
})  # fmt: skip


@given(st.dictionaries(st.text(max_size=3), FEATURES, max_size=3))
def test_what_is_read_is_what_protobuf_reads(features):
    text = json.dumps({"features": {"feature": features}}).encode()
    found = json_examples.parse(text)
    assert found is None or found == by_protobuf(text)
