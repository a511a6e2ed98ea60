"""Batches parsed in one go are those parsed feature by feature by the protobuf library."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow import errors
from stillflow.ops.io.parsing import example_parser
from stillflow.ops.io.parsing.columns import Dense, Sparse
from stillflow.ops.io.parsing.example_parser import ExampleParser

pytestmark = pytest.mark.usefixtures("either_way")
ROWS = 40
SPARSE = [Sparse("ids", tf.int64), Sparse("words", tf.string), Sparse("weights", tf.float32)]
SPARSE += [Sparse(f"more{n}", tf.int64) for n in range(6)]
DENSE = [
    Dense("label", tf.int64, ()), Dense("name", tf.string, ()), Dense("point", tf.float32, (2, 2)),
    Dense("other", tf.float32, (2, 2)), Dense("rows", tf.float32, (None, 3)),
    Dense("tags", tf.string, (None,)), Dense("nothing", tf.int64, (0,)),
]  # fmt: skip
DEFAULTS = [
    torch.tensor(7), np.array(b"none", object), torch.zeros(0), torch.full((2, 2), 5.0),
    torch.tensor(-1.0), np.array(b"-", object), torch.zeros(0, dtype=torch.int64),
]  # fmt: skip
LISTS = {"int64": "int64_list", "float32": "float_list", "string": "bytes_list"}


def values(random, dtype, count):
    if dtype == tf.int64:
        return random.randint(-5, 10 ** random.randint(1, 18), count).tolist()
    if dtype == tf.float32:
        return random.rand(count).tolist()
    return [bytes(random.randint(0, 256, random.randint(0, 9)).tolist()) for _ in range(count)]


def field(tag, *parts):
    """Return a field of any length."""
    body = b"".join(parts)
    size = len(body)
    if size < 128:
        return bytes((tag, size)) + body
    return bytes((tag, size & 127 | 128, size >> 7)) + body


def entry(name, feature):
    return field(0x0A, field(0x0A, name.encode()), field(0x12, feature))


def example(random, absent=0.3):
    """Return an Example with features in random order, as the C++ library writes it."""
    entries = [entry("unknown", b"\x1a\x03\x0a\x01\x03")]
    for found in [*SPARSE, *DENSE]:
        if found.key not in ("point", "nothing") and random.rand() < absent:
            continue
        count = random.randint(0, 4)
        if isinstance(found, Dense):
            count = found.size * (random.randint(0, 3) if found.is_variable else 1)
        feature = tf.train.Feature()
        held = getattr(feature, LISTS[found.dtype.name])
        held.SetInParent()
        held.value.extend(values(random, found.dtype, count))
        entries.append(entry(found.key, feature.SerializeToString()))
    return field(0x0A, *[entries[place] for place in random.permutation(len(entries))])


def examples(absent=0.3):
    random = np.random.RandomState(3)
    return [example(random, absent) for _ in range(ROWS)]


def parse(texts, sparse=SPARSE, dense=DENSE, defaults=DEFAULTS, names=()):
    return ExampleParser(sparse, dense).batch(texts, names, defaults)


@pytest.fixture
def alone(monkeypatch):
    """Parse with the protobuf library, feature by feature."""

    def parse_alone(*args, **options):
        with monkeypatch.context() as patch:
            patch.setattr(example_parser, "MANY", 1 << 60)
            patch.setattr(example_parser, "MANY_IN_C", 1 << 60)
            return parse(*args, **options)

    return parse_alone


def listed(outputs):
    return [(output.dtype, output.tolist()) for output in outputs]


@pytest.mark.parametrize("absent", [0.0, 0.3, 1.0])
def test_all_outputs_are_those_of_features_read_alone(absent, alone):
    texts = examples(absent)
    assert ExampleParser(SPARSE, DENSE).maps.find(texts) is not None
    assert listed(parse(texts)) == listed(alone(texts))


@pytest.mark.parametrize("text", [b"", b"\x0a\x00"], ids=["none", "empty"])
def test_examples_without_features_are_parsed(text, alone):
    dense, defaults = [DENSE[0], DENSE[4]], [DEFAULTS[0], DEFAULTS[4]]
    texts = [*[example(np.random.RandomState(1)) for _ in range(ROWS)], text]
    options = {"dense": dense, "defaults": defaults}
    assert listed(parse(texts, **options)) == listed(alone(texts, **options))


def with_feature(name, feature, text):
    """Return the example with one more feature after its others, which have less than 128 bytes."""
    return field(0x0A, text[2:], entry(name, feature))


FEW = [Sparse(f"s{n}", tf.int64) for n in range(20)]
WRITTEN = {
    "not packed": field(0x1A, b"\x08\x05\x08\x06"),
    "a part packed": field(0x1A, b"\x08\x05", field(0x0A, b"\x07\x08")),
    "two lists": field(0x1A, field(0x0A, b"\x07")) + field(0x1A, field(0x0A, b"\x09")),
    "no list": b"",
    "an unknown field": field(0x1A, field(0x0A, b"\x07")) + field(0x22, b"abc"),
    "a length of more bytes than needed": b"\x1a\x84\x00\x0a\x02\x03\x04",
}


def few(feature):
    made = tf.train.Example()
    made.features.feature["s3"].int64_list.value.extend([1, 300])
    texts = [made.SerializeToString()] * ROWS
    return [*texts[:5], with_feature("s3", feature, texts[5]), *texts[6:]]


@pytest.mark.parametrize("feature", WRITTEN.values(), ids=WRITTEN)
def test_features_written_otherwise_are_read(feature, alone):
    options = {"sparse": FEW, "dense": [], "defaults": []}
    found = parse(few(feature), **options)
    assert listed(found) == listed(alone(few(feature), **options))
    assert found[20 + 3].tolist()[:10] == [1, 300] * 5


def test_the_last_of_two_features_of_a_name_counts():
    feature = field(0x1A, field(0x0A, b"\x07\x08\x09"))
    found = parse(few(feature), sparse=FEW, dense=[], defaults=[])[20 + 3].tolist()
    assert found[8:16] == [1, 300, 7, 8, 9, 1, 300, 1]


BAD = {
    "cut short": (field(0x1A, field(0x0A, b"\x07"))[:-1], "Can't parse serialized Example."),
    "an endless number": (field(0x1A, field(0x0A, b"\x80")), "Can't parse serialized Example."),
    "a number of eleven bytes": (
        field(0x1A, field(0x0A, b"\x80" * 10 + b"\x01")), "Can't parse serialized Example.",
    ),
    "another type": (
        field(0x12, field(0x0A, b"abcd")),
        "Data types don't match. Expected type: int64, Actual type: float",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("feature", "said"), BAD.values(), ids=BAD)
def test_the_example_and_the_feature_are_named_that_cannot_be_parsed(feature, said, alone):
    names = [b"name%d" % n for n in range(ROWS)]
    for parser in (parse, alone):
        with pytest.raises(errors.InvalidArgumentError) as raised:
            parser(few(feature), sparse=FEW, dense=[], defaults=[], names=names)
        assert raised.value.message == f"Name: name5, Key: s3, Index: 5.  {said}"


def dense(shape):
    return [Dense(f"s{n}", tf.int64, shape) for n in range(20)]


def test_a_wrong_number_of_values_is_refused():
    defaults = [torch.zeros(2, dtype=torch.int64)] * 20
    said = (
        "Name: <unknown>, Key: s3, Index: 5.  Number of int64 values != expected.  "
        "Values size: 3 but output shape: [2]"
    )
    with pytest.raises(errors.InvalidArgumentError, match=re.escape(said)):
        feature = field(0x1A, field(0x0A, b"\x07\x08\x09"))
        parse(few(feature), sparse=[], dense=dense((2,)), defaults=defaults)


def test_a_list_of_no_values_is_not_a_missing_feature():
    defaults = [torch.zeros(2, dtype=torch.int64)] * 20
    with pytest.raises(errors.InvalidArgumentError, match=r"Values size: 0 but output shape: \[2]"):
        parse(few(b"\x1a\x00"), sparse=[], dense=dense((2,)), defaults=defaults)


def test_a_missing_feature_without_a_default_is_refused():
    defaults = [torch.zeros(0, dtype=torch.int64)] * 20
    said = "Feature: s0 (data type: int64) is required but could not be found."
    with pytest.raises(errors.InvalidArgumentError, match=re.escape(said)):
        parse(few(field(0x1A, field(0x0A, b"\x07\x08"))), [], dense((2,)), defaults)


def test_an_example_that_is_none_is_refused():
    with pytest.raises(errors.InvalidArgumentError, match="Could not parse example input"):
        parse([*examples(), b"\xff\xff"])


def test_defaults_of_another_shape_are_refused_every_time():
    parser = ExampleParser([], [Dense("a", tf.int64, (2,))])
    for _ in range(2):
        with pytest.raises(errors.InvalidArgumentError, match="is not compatible with"):
            parser.batch([], (), [torch.zeros(3, dtype=torch.int64)])


def test_random_bytes_are_parsed_or_refused_alike(alone):
    random = np.random.RandomState(5)
    texts = [example(np.random.RandomState(n)) for n in range(ROWS)]
    for _ in range(60):
        damaged = bytearray(texts[7])
        for place in random.randint(0, len(damaged), random.randint(1, 3)):
            damaged[place] = random.randint(0, 256)
        batch = [*texts[:7], bytes(damaged), *texts[8:]]
        answers = []
        for parser in (parse, alone):
            try:
                answers.append(repr(listed(parser(batch))))
            except errors.InvalidArgumentError as error:
                answers.append(error.message)
        assert answers[0] == answers[1]
