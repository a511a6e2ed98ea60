"""Parsing of Examples, CSV, JSON and serialized tensors: graphs, values, errors."""

from __future__ import annotations

import zlib

import numpy as np
from tests.golden.registry import Run, program, raised


def example(tf, **features):
    made = tf.train.Example()
    for name, values in features.items():
        feature = made.features.feature[name]
        for value in values:
            if isinstance(value, bytes):
                feature.bytes_list.value.append(value)
            elif isinstance(value, float):
                feature.float_list.value.append(value)
            else:
                feature.int64_list.value.append(value)
    return made.SerializeToString()


def three(tf):
    return [
        example(tf, dense=[1.0, 2.0], label=[3], words=[b"a", b"b"], ids=[1, 300, -7]),
        example(tf, dense=[3.0, 4.0], label=[-1], ids=[]),
        example(tf, dense=[5.0, 6.0], label=[2**40], words=[b"c"], rows=[1.0, 2.0, 3.0, 4.0]),
    ]


def features(tf):
    return {
        "dense": tf.FixedLenFeature([2], tf.float32),
        "label": tf.FixedLenFeature([], tf.int64, default_value=9),
        "words": tf.VarLenFeature(tf.string),
        "ids": tf.VarLenFeature(tf.int64),
        "rows": tf.FixedLenSequenceFeature([2], tf.float32, allow_missing=True),
    }


@program
def batch_of_examples(tf):
    serialized = tf.placeholder(tf.string, [None])
    parsed = tf.parse_example(serialized, features(tf), name="parsed")
    return [Run(parsed, {serialized: np.array(three(tf), object)})]


@program
def single_example(tf):
    serialized = tf.placeholder(tf.string, [])
    parsed = tf.parse_single_example(serialized, features(tf))
    first, second, third = three(tf)
    named = tf.parse_single_example(serialized, features(tf), example_names="name")
    return [
        Run(parsed, {serialized: first}),
        Run(parsed, {serialized: second}),
        Run(named, {serialized: third}),
    ]


@program
def sparse_features(tf):
    text = [
        example(tf, at=[3, 1], value=[1.0, 2.0]),
        example(tf, at=[0], value=[5.0]),
    ]
    feature = tf.SparseFeature("at", "value", tf.float32, 5)
    serialized = tf.placeholder(tf.string, [None])
    parsed = tf.parse_example(serialized, {"sparse": feature})
    return [Run(parsed, {serialized: np.array(text, object)})]


@program
def damaged_examples(tf):
    serialized = tf.placeholder(tf.string, [None])

    def parse(**features):
        return tf.parse_example(serialized, features)

    dense = parse(dense=tf.FixedLenFeature([2], tf.float32))
    wrong = parse(dense=tf.FixedLenFeature([2], tf.int64))
    size = parse(dense=tf.FixedLenFeature([3], tf.float32))
    stride = parse(dense=tf.FixedLenSequenceFeature([4], tf.float32, allow_missing=True))
    sparse = parse(dense=tf.VarLenFeature(tf.string))
    steps = parse(dense=tf.FixedLenSequenceFeature([], tf.int64, allow_missing=True))
    required = parse(other=tf.FixedLenFeature([2], tf.float32))
    fed = {serialized: np.array([three(tf)[0]], object)}
    return [
        Run(dense, {serialized: np.array([b"nothing"], object)}, fails=True),
        Run(wrong, fed, fails=True),
        Run(size, fed, fails=True),
        Run(stride, fed, fails=True),
        Run(sparse, fed, fails=True),
        Run(steps, fed, fails=True),
        Run(required, fed, fails=True),
    ]


def sequence(tf, steps, words):
    made = tf.train.SequenceExample()
    made.context.feature["length"].int64_list.value.append(len(steps))
    for step in steps:
        feature = made.feature_lists.feature_list["steps"].feature.add()
        feature.float_list.value.extend(step)
    for word in words:
        feature = made.feature_lists.feature_list["words"].feature.add()
        feature.bytes_list.value.extend(word)
    return made.SerializeToString()


@program
def sequence_examples(tf):
    context = {"length": tf.FixedLenFeature([], tf.int64)}
    lists = {
        "steps": tf.FixedLenSequenceFeature([2], tf.float32),
        "words": tf.VarLenFeature(tf.string),
        "missing": tf.FixedLenSequenceFeature([], tf.int64, allow_missing=True),
    }
    texts = [
        sequence(tf, [[1.0, 2.0], [3.0, 4.0]], [[b"a", b"b"], [], [b"c"]]),
        sequence(tf, [[5.0, 6.0]], [[b"d"]]),
    ]
    one = tf.placeholder(tf.string, [])
    single = tf.parse_single_sequence_example(one, context, lists)
    batch = tf.placeholder(tf.string, [None])
    many = tf.io.parse_sequence_example(batch, context, lists)
    return [
        Run({"context": single[0], "lists": single[1]}, {one: texts[0]}),
        Run(
            {"context": many[0], "lists": many[1], "lengths": many[2]},
            {batch: np.array(texts, object)},
        ),
        Run({"lists": single[1]}, {one: three(tf)[0]}, fails=True),
    ]


def listed(tf, key, *lists):
    """Return the bytes of a SequenceExample: a list of features, pairs of a kind and values."""
    made = tf.train.SequenceExample()
    found = made.feature_lists.feature_list[key]
    for feature in lists:
        added = found.feature.add()
        if feature is not None:
            kind, values = feature
            getattr(added, kind).SetInParent()
            getattr(added, kind).value.extend(values)
    return made.SerializeToString()


def in_context(tf, key, kind=None, values=()):
    """Return the bytes of a SequenceExample with one context feature, without a kind if None."""
    made = tf.train.SequenceExample()
    feature = made.context.feature[key]
    if kind is not None:
        getattr(feature, kind).SetInParent()
        getattr(feature, kind).value.extend(values)
    return made.SerializeToString()


@program
def lists_of_wrong_sizes(tf):
    text, texts = tf.placeholder(tf.string, []), tf.placeholder(tf.string, [None])
    fixed, floats = tf.FixedLenSequenceFeature, "float_list"
    good = listed(tf, "u", (floats, [1.0]))
    cases = [
        (good, fixed([2], tf.float32)),
        (listed(tf, "u", (floats, [1.0]), None), fixed([1], tf.float32)),
        (listed(tf, "u", (floats, [1.0, 2.0])), fixed([1], tf.float32)),
        (listed(tf, "u", (floats, [1.0]), (floats, [2.0, 3.0])), fixed([3], tf.float32)),
        (listed(tf, "u", (floats, [1.0]), (floats, [2.0, 3.0])), fixed([3, 2], tf.float32)),
        (listed(tf, "u", ("bytes_list", [b"a", b"b"])), fixed([1], tf.string)),
        (listed(tf, "u", ("int64_list", [])), fixed([1], tf.float32)),
        (listed(tf, "v"), fixed([1], tf.float32)),
        (listed(tf, "u", None, (floats, [1.0])), tf.VarLenFeature(tf.float32)),
    ]
    runs = []
    for case, spec in cases:
        name = "n1"
        single = tf.parse_single_sequence_example(text, None, {"u": spec}, name)
        batch = tf.io.parse_sequence_example(texts, None, {"u": spec}, ["n0", name])
        works = isinstance(spec, tf.VarLenFeature)
        both = np.array([listed(tf, "u"), case], object)
        if b"v" not in case:
            runs.append(Run({"single": single[1]}, {text: case}, fails=not works))
        runs.append(Run({"batch": batch[1]}, {texts: both}, fails=not works))
    return runs


@program
def contexts_of_wrong_sizes(tf):
    text, texts = tf.placeholder(tf.string, []), tf.placeholder(tf.string, [None])
    fixed, floats = tf.FixedLenFeature, "float_list"
    three = in_context(tf, "c", floats, [1.0, 2.0, 3.0])
    two = in_context(tf, "c", floats, [1.0, 2.0])
    none, empty = in_context(tf, "d"), in_context(tf, "c")
    words = in_context(tf, "c", "bytes_list", [b"a", b"b"])
    cases = [
        ([two, two], fixed([3], tf.float32)),
        ([three, two], fixed([3], tf.float32)),
        ([three, two], fixed([2], tf.float32)),
        ([three, two], fixed([3], tf.float32, [4.0, 5.0, 6.0])),
        ([three, none], fixed([3], tf.float32)),
        ([none, none], fixed([], tf.float32)),
        ([empty, empty], fixed([1], tf.float32, [4.0])),
        ([words, words], fixed([1], tf.string)),
        ([three, in_context(tf, "c", "int64_list", [1])], fixed([2], tf.float32)),
    ]
    runs = []
    for case, spec in cases:
        single = tf.parse_single_sequence_example(text, {"c": spec}, None, "n1")
        batch = tf.io.parse_sequence_example(texts, {"c": spec}, None, ["n0", "n1"])
        fits = case[1] is two and spec.shape == [2]
        runs.append(Run({"single": single[0]}, {text: case[1]}, fails=not fits))
        runs.append(Run({"batch": batch[0]}, {texts: np.array(case, object)}, fails=True))
    return runs


@program
def csv(tf):
    lines = tf.placeholder(tf.string)
    columns = tf.decode_csv(lines, [[0], [1.5], [""], tf.constant([], tf.int64)])
    some = tf.decode_csv(lines, [[""], [0.0]], select_cols=[0, 2], na_value="-", field_delim=";")
    quoted = tf.decode_csv(lines, [["x"], ["y"]])
    raw = tf.decode_csv(lines, [["x"], ["y"]], use_quote_delim=False)
    return [
        Run({"columns": columns}, {lines: ["1,2.5,abc,4", ",,,-5"]}),
        Run({"some": some}, {lines: ["a;b;1e3", "-;;2"]}),
        Run({"quoted": quoted}, {lines: ['"a,""b""",c', 'd,""', ",e"]}),
        Run({"raw": raw}, {lines: ['"a",b"c']}),
        Run({"required": columns}, {lines: ["1,2,3,"]}, fails=True),
        Run({"fields": columns}, {lines: ["1,2,3"]}, fails=True),
        Run({"number": columns}, {lines: ["x,2,3,4"]}, fails=True),
        Run({"quote": quoted}, {lines: ['a"b,c']}, fails=True),
        Run({"end": quoted}, {lines: ['a,"c']}, fails=True),
    ]


@program
def serialized_tensors(tf):
    arrays = {
        "floats": tf.constant([[1.0, 2.0], [3.0, 4.0]]),
        "strings": tf.constant(["a", "bc"]),
        "bools": tf.constant([True, False]),
        "scalar": tf.constant(7, tf.int64),
        "halves": tf.constant([1.5], tf.float16),
    }
    texts = {name: tf.serialize_tensor(array) for name, array in arrays.items()}
    back = {name: tf.parse_tensor(text, arrays[name].dtype) for name, text in texts.items()}
    fed = tf.placeholder(tf.string, [])
    parsed = tf.parse_tensor(fed, tf.int32)
    return [
        Run({"texts": texts, "back": back}),
        Run({"wrong": tf.parse_tensor(texts["floats"], tf.int32)}, fails=True),
        Run({"damaged": parsed}, {fed: b"nothing"}, fails=True),
    ]


@program
def json_and_compressed(tf):
    json = ['{"features": {"feature": {"a": {"int64List": {"value": [1, 2]}}}}}']
    data = b"what was compressed, again and again and again"
    # One number may be written in two ways; it is the numbers that count.
    examples = tf.decode_json_example(tf.constant(json))
    numbers = tf.parse_example(examples, {"a": tf.FixedLenFeature([2], tf.int64)})
    packed = tf.constant([zlib.compress(data), zlib.compress(data[:5])])
    return [
        Run(
            {
                "json": numbers,
                "zlib": tf.decode_compressed(packed, "ZLIB"),
                "plain": tf.decode_compressed(packed),
            }
        ),
        Run({"kind": tf.decode_compressed(packed, "LZO")}, fails=True),
    ]


@program
def cut_off_examples(tf):
    """Parse a truncated Example: an unknown field of bytes is ignored, no other is."""
    whole = example(tf, a=[1.0])
    field = b"\x2a\x04abcd"
    texts = [text for size in range(2, 7) for text in (whole + field[:size], field[:size])]
    features = {"a": tf.FixedLenFeature([], tf.float32, -1.0), "b": tf.VarLenFeature(tf.int64)}
    many = tf.parse_example(texts, features)
    one = [tf.parse_single_example(text, features)["a"] for text in texts]
    refused = [whole + b"\x2a", whole + b"\x29abc", whole + b"\x2d1", whole[:-1]]
    return [
        Run({"many": many["a"], "rows": many["b"].dense_shape, "one": tf.stack(one)}),
        *[Run({"a": tf.parse_example([text], features)["a"]}, fails=True) for text in refused],
        *[
            Run({"a": tf.parse_single_example(text, features)["a"]}, fails=True)
            for text in refused
        ],
    ]


@program
def refused_features(tf):
    text = tf.constant([""])
    fixed, sequence_of = tf.FixedLenFeature, tf.FixedLenSequenceFeature
    facts = {
        "none": raised(tf.parse_example, text, {}),
        "no type": raised(tf.parse_example, text, {"a": tf.VarLenFeature(None)}),
        "types of columns": raised(tf.decode_csv, "1", [[True]]),
        "no shape": raised(tf.parse_example, text, {"a": fixed(None, tf.int64)}),
        "rows": raised(tf.parse_example, text, {"a": fixed([None, 2], tf.int64)}),
        "sizes": raised(tf.parse_example, text, {"a": fixed([2, None], tf.int64)}),
        "missing": raised(tf.parse_example, text, {"a": sequence_of([], tf.int64)}),
        "invalid": raised(tf.parse_example, text, {"a": 3}),
        "no key": raised(tf.parse_example, text, {"a": tf.SparseFeature("", "v", tf.int64, 3)}),
        "vector": raised(tf.parse_single_example, text, {"a": fixed([], tf.int64)}),
        "kind": raised(tf.parse_single_sequence_example, "", None, {"a": fixed([], tf.int64)}),
        "columns": raised(tf.decode_csv, text, [[0], [0]], select_cols=[1, 0]),
    }
    return [Run({"one": tf.constant(1)}, facts=facts)]


@program
def features_of_no_elements(tf):
    text = tf.placeholder(tf.string, [])
    parsed = {"single": lambda feature: tf.parse_single_example(text, {"words": feature}),
              "batch": lambda feature: tf.parse_example([text], {"words": feature})}
    empty = tf.train.Example()
    empty.features.feature["words"].bytes_list.SetInParent()
    runs = []
    for kind in ("single", "batch"):
        for default in (None, []):
            made = parsed[kind](tf.FixedLenFeature([0], tf.string, default))
            runs += [Run(made, {text: case}, fails=True) for case in (b"", example(tf))]
            runs.append(Run(made, {text: empty.SerializeToString()}))
    return runs


@program
def lengths_of_padded_numbers(tf):
    length = tf.placeholder(tf.int32, [])

    def decoded(size):
        return tf.raw_ops.DecodePaddedRaw(
            input_bytes=["abcdefgh"], fixed_length=size, out_type=tf.int32
        )

    made = decoded(length)
    facts = {"uneven": raised(decoded, 5), "negative": raised(decoded, -4)}
    return [
        Run({"made": made}, {length: 4}, facts=facts),
        Run({"zero": decoded(0)}, fails=True),
        *[Run({"made": made}, {length: size}, fails=True) for size in (0, 5, -4)],
    ]
