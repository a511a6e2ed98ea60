"""Tags found in serialized summaries."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow import native
from stillflow.summary.tags import PlainTags, tags_of

pytestmark = pytest.mark.skipif(native.library() is None, reason="the loops in C were not built")


def summary(*values):
    return tf.Summary(value=list(values)).SerializeToString()


def test_tags_of_scalars_and_histograms():
    histogram = {"min": -1, "num": 2, "bucket_limit": [0, 1], "bucket": [1, 1]}
    values = [
        {"tag": "a", "simple_value": 1}, {"tag": "", "simple_value": 0},
        {"tag": "long" * 100, "histo": histogram}, {"tag": "\u00e9", "histo": {}},
        {"simple_value": 3},
    ]  # fmt: skip
    assert tags_of(summary(*values)) == ["a", "", "long" * 100, "\u00e9", ""]
    assert tags_of(b"") == []


def test_others_are_left_to_the_library_of_messages():
    metadata = {"display_name": "a"}
    others = [
        {"tag": "a", "simple_value": 1, "metadata": metadata}, {"tag": "a"}, {"node_name": "n"},
        {"tag": "a", "image": {"width": 1}}, {"tag": "a", "tensor": {"float_val": [1]}},
    ]  # fmt: skip
    assert [tags_of(summary(other)) for other in others] == [None] * len(others)
    assert tags_of(summary(*([{"tag": "a", "simple_value": 1}] * 257))) is None
    assert tags_of(b"\x0a\x08\x0a\x01\xff\x15\x00\x00\x80\x3f") is None


def test_what_is_damaged_is_not_read():
    content = summary(
        {"tag": "h", "histo": {"max": 1, "bucket_limit": [1, 2, 3], "bucket": [0, 1, 2]}},
        {"tag": "s", "simple_value": 2},
    )
    rng = np.random.RandomState(0)
    for size in range(1, len(content)):
        found = tags_of(content[:size])
        assert found is None or tf.Summary.FromString(content[:size])
    for _ in range(3000):
        damaged = bytearray(content)
        damaged[rng.randint(len(content))] = rng.randint(256)
        found = tags_of(bytes(damaged))
        if found is not None:
            values = tf.Summary.FromString(bytes(damaged)).value
            assert [value.tag for value in values] == found


def test_tags_are_noted_once_and_only_of_plain_summaries():
    seen: set[str] = set()
    plain = PlainTags(seen)
    assert plain.note(summary({"tag": "a", "simple_value": 1}, {"tag": "b", "simple_value": 2}))
    assert plain.note(summary({"tag": "a", "simple_value": 3}, {"tag": "b", "histo": {}}))
    assert seen == {"a", "b"}
    assert plain.note(summary({"tag": "ab", "simple_value": 1}))
    assert plain.note(summary({"tag": "a", "simple_value": 1}, {"tag": "", "simple_value": 1}))
    assert seen == {"a", "b", "ab", ""}
    assert not plain.note(summary({"tag": "c", "simple_value": 1}, {"tag": "d"}))
    assert not plain.note(b"\x0a\x08\x0a\x01\xff\x15\x00\x00\x80\x3f")
    assert seen == {"a", "b", "ab", ""}
