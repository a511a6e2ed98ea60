"""tf.io.decode_proto and encode_proto: messages of any type as tensors."""

from __future__ import annotations

import struct

import numpy as np
from tests.golden.registry import Run, program, raised

KINDS = ("double", "float", "int64", "uint64", "int32", "fixed64", "fixed32", "bool", "string",
         "group", "message", "bytes", "uint32", "enum", "sfixed32", "sfixed64", "sint32", "sint64")
DTYPES = {"double": "float64", "float": "float32", "int64": "int64", "uint64": "uint64",
          "int32": "int32", "fixed64": "uint64", "fixed32": "uint32", "bool": "bool",
          "string": "string", "group": "string", "message": "string", "bytes": "string",
          "uint32": "uint32", "enum": "int32", "sfixed32": "int32", "sfixed64": "int64",
          "sint32": "int32", "sint64": "int64"}
WIDER = {"float": "float64", "int32": "int64", "fixed32": "uint64", "uint32": "uint64",
         "sfixed32": "int64", "sint32": "int64"}
PLAIN = [kind for kind in KINDS if kind not in ("group",)]
PACKABLE = [kind for kind in PLAIN if kind not in ("string", "message", "bytes")]
DEFAULTS = {"double": "1.5", "float": "-2.5", "int64": "-7", "uint64": "300", "int32": "-3",
            "fixed64": "9", "fixed32": "8", "bool": "true", "string": "text", "bytes": "raw",
            "uint32": "258", "sfixed32": "-5", "sfixed64": "-6", "sint32": "-4", "sint64": "-8"}


def source():
    """Return a descriptor of messages with fields of all kinds, in TensorFlow's form."""
    from google.protobuf import descriptor_pb2

    file = descriptor_pb2.FileDescriptorProto(name="all.proto", package="kinds", syntax="proto2")
    file.enum_type.add(name="Choice").value.add(name="ZERO", number=0)
    for name, label, packed in (("One", 1, False), ("Many", 3, False), ("Packed", 3, True)):
        message = file.message_type.add(name=name)
        for number, kind in enumerate(PACKABLE if packed else KINDS, 1):
            if kind == "group":
                message.nested_type.add(name="Group_" + name).field.add(
                    name="inner", number=1, type=5, label=1)
            field = message.field.add(name="a_" + kind, number=2 * number, label=label,
                                      type=KINDS.index(kind) + 1)
            if kind == "group":
                field.name, field.type_name = "group_" + name.lower(), "Group_" + name
            if kind == "message":
                field.type_name = ".kinds.Small"
            if kind == "enum":
                field.type_name = ".kinds.Choice"
            if packed:
                field.options.packed = True
            if name == "One" and kind in DEFAULTS:
                field.default_value = DEFAULTS[kind]
        message.extension_range.add(start=100, end=200)
    small = file.message_type.add(name="Small")
    small.field.add(name="n", number=1, type=5, label=1)
    small.field.add(name="words", number=2, type=9, label=3)
    file.extension.add(name="more", number=100, type=5, label=3, extendee=".kinds.Many")
    files = descriptor_pb2.FileDescriptorSet(file=[file])
    return b"bytes://" + files.SerializeToString()


def values(kind, count):
    if kind == "group":
        return [b"\x08" + bytes(bytearray([i])) for i in range(count)]
    if DTYPES[kind] == "string":
        return [b"\x08\x05", b"", b"\x12\x02hi", b"\x08\x7f"][:count]
    if kind == "bool":
        return [True, False, True, True][:count]
    if kind in ("double", "float"):
        return [0.5, -1e30, 3.25, float("inf")][:count]
    if kind == "enum":
        return [0, 5, 2, 1][:count]
    unsigned = DTYPES[kind].startswith("u")
    bits = 32 if kind.endswith("32") else 64
    limit = 2 ** (bits if unsigned else bits - 1) - 1
    return [1, 0 if unsigned else -limit - 1, limit, 300][:count]


def tensors(kinds, counts, dtypes=DTYPES):
    """Values of messages of which the n-th has `counts[n]` in each field."""
    found, sizes = [], []
    for kind in kinds:
        array = np.zeros([len(counts), max(counts)],
                         object if dtypes[kind] == "string" else dtypes[kind])
        if dtypes[kind] == "string":
            array[:] = b""
        for row, count in zip(array, counts):
            row[:count] = np.array(values(kind, count), array.dtype)
        found.append(array)
        sizes.append(counts)
    return np.array(sizes, np.int32).T, found


def names(kinds, message="Many"):
    return ["group_" + message.lower() if kind == "group" else "a_" + kind for kind in kinds]


def there_and_back(tf, message, kinds, counts, dtypes=DTYPES):
    sizes, arrays = tensors(kinds, counts, dtypes)
    encoded = tf.io.encode_proto(sizes, [tf.constant(each) for each in arrays],
                                 names(kinds, message), "kinds." + message, source())
    decoded = tf.io.decode_proto(encoded, "kinds." + message, names(kinds, message),
                                 [tf.as_dtype(dtypes[kind]) for kind in kinds], source())
    return {"bytes": encoded, "sizes": decoded.sizes,
            "values": dict(zip(kinds, decoded.values))}


@program
def repeated(tf):
    # TF fills enums from uninitialized memory.
    found = there_and_back(tf, "Many", [kind for kind in KINDS if kind != "enum"], [3, 0, 1, 4])
    found["enums"] = there_and_back(tf, "Many", ["enum", "int32"], [3, 3])
    return Run(found)


@program
def packed(tf):
    found = there_and_back(tf, "Packed", [kind for kind in PACKABLE if kind != "enum"], [2, 4, 0])
    found["enums"] = there_and_back(tf, "Packed", ["enum", "sint64"], [4, 4])
    return Run(found)


@program
def single(tf):
    kinds = [kind for kind in KINDS if kind != "enum"]  # TF reads what no enum has out of memory
    return Run(there_and_back(tf, "One", kinds, [1, 0]))


@program
def wider_types(tf):
    wide = dict(DTYPES, **WIDER)
    return Run(dict(
        there_and_back(tf, "Many", sorted(WIDER), [4, 1], wide),
        packed=there_and_back(tf, "Packed", sorted(WIDER), [2, 3], wide)["values"]))


@program
def batches_of_any_shape(tf):
    x = tf.placeholder(tf.string, name="x")
    decoded = tf.contrib.proto.decode_proto(
        x, "tensorflow.Features.FeatureEntry", ["value", "key"], [tf.string, tf.string])
    known = tf.io.decode_proto(tf.placeholder(tf.string, [2, None]), "tensorflow.Example",
                               ["features"], [tf.string])
    message = b"\x0a\x03abc\x12\x02\x0a\x00"
    again = tf.contrib.proto.encode_proto(
        decoded.sizes, decoded.values, ["value", "key"], "tensorflow.Features.FeatureEntry", "")
    found = {"sizes": decoded.sizes, "values": decoded.values}
    return [Run(found, {x: message}),
            Run(dict(found, again=again), {x: [[message, b""], [b"", message]]})] + [
        Run({"shape": tf.zeros([])}, facts={
            "kinds": type(known).__name__, "shapes": [str(t.shape) for t in
                                                      [known.sizes] + list(known.values)]})]


def tagged(number, wire, payload):
    return bytes(bytearray([number << 3 | wire & 7])) + payload


@program
def unusual_bytes(tf):
    x = tf.placeholder(tf.string, [None], "x")

    def decoded(message, fields, dtypes, **options):
        found = tf.io.decode_proto(x, "kinds." + message, fields, dtypes, source(), **options)
        return {"sizes": found.sizes, "values": found.values}

    many = decoded("Many", ["a_int64", "a_float", "kinds.more", "a_string"],
                   [tf.int64, tf.float32, tf.int32, tf.string])
    one = decoded("One", ["a_int64", "a_float"], [tf.int64, tf.float32])
    twice = decoded("Many", ["a_int64", "a_int64"], [tf.int64, tf.int64])
    text = decoded("Many", ["a_int64", "a_string"], [tf.int64, tf.string], message_format="text")
    clean = decoded("One", ["a_int64", "a_string"], [tf.int64, tf.string], sanitize=True)
    mixed = (tagged(6, 0, b"\x05") + tagged(6, 2, b"\x02\x06\x07") + b"\xf8\x3f\x01" +
             tagged(4, 2, b"\x08" + struct.pack("<ff", 1, 2)) + tagged(6, 0, b"\x08") +
             b"\xa0\x06\x03" + tagged(18 % 16, 5, b"abcd") + tagged(4, 5, struct.pack("<f", 9)))
    last = tagged(6, 0, b"\x05") + tagged(6, 0, b"\x06")
    several = tagged(6, 2, b"\x03\x05\x06\x07")
    wrong_kind = tagged(6, 5, b"abcd") + tagged(4, 0, b"\x01") + tagged(6, 0, b"\x02")
    group = tagged(15, 3, tagged(1, 0, b"\x01") + tagged(15, 4, b"")) + tagged(6, 0, b"\x02")
    return [
        Run(many, {x: [mixed, b"", wrong_kind, group]}),
        Run(one, {x: [last, several, b""]}),
        Run(one, {x: [several + last]}),
        Run(one, {x: [last + several]}, fails=True),
        Run(many, {x: [last + tagged(6, 2, b"")]}, fails=True),
        Run(twice, {x: [last, several]}),
        Run(text, {x: ["a_int64: 4 a_int64: -5 a_string: 'x'", ""]}),
        Run(clean, {x: [last, b""]}),
    ] + [
        Run(many, {x: [data]}, fails=True) for data in (
            b"\x30", tagged(6, 2, b"\x02\x05\x86"), tagged(4, 2, b"\x03abc"),
            tagged(6, 2, b"\x09a"), tagged(6, 4, b""), b"\x00",
            tagged(15, 2, b"\x05ab"), tagged(4, 5, b"ab"), b"\xff",
            tagged(6, 6, b"abc"), tagged(15, 3, b"\x08\x01"))
    ] + [Run(text, {x: ["a_int64: words"]}, fails=True), Run(clean, {x: ["\x30"]}, fails=True),
         Run(many, {x: []}, fails=True)]


@program
def refused(tf):
    x = tf.placeholder(tf.string, [None], "x")
    decode, encode = tf.io.decode_proto, tf.io.encode_proto

    def fetch(*args, **kwargs):
        return Run({"sizes": decode(x, *args, **kwargs).sizes}, {x: [b""]}, fails=True)

    sizes = tf.placeholder(tf.int32, name="sizes")
    values = tf.placeholder(tf.float32, name="values")

    def put(fields, arrays, message="kinds.Many", feeds=None):
        found = encode(sizes, arrays, fields, message, source())
        return Run({"bytes": found}, feeds or {sizes: [[1]], values: [[1.0]]}, fails=True)

    two = [values, values]
    return [
        fetch("kinds.Many", ["a_int64"], [tf.int64]),
        fetch("kinds.None", ["a_int64"], [tf.int64], source()),
        fetch("kinds.Many", ["nothing"], [tf.int64], source()),
        fetch("kinds.Many", ["a_int64"], [tf.float32], source()),
        fetch("kinds.Many", ["a_int64", "a_float"], [tf.int64], source()),
        fetch("kinds.Many", ["a_int64"], [tf.int64], source(), message_format="json"),
        fetch("kinds.Many", ["a_int64"], [tf.int64], "/no/such/file"),
        fetch("kinds.Many", ["a_int64"], [tf.int64], b"bytes://what?"),
        put(["a_float"], [values], "kinds.None"),
        put(["nothing"], [values]),
        put(["a_int64"], [values]),
        put(["a_float", "a_float"], [values]),
        put(["a_float"], [values], feeds={sizes: [[1]], values: [1.0]}),
        put(["a_float"], [values], feeds={sizes: [[1, 1]], values: [[1.0]]}),
        put(["a_float"], [values], feeds={sizes: [[2]], values: [[1.0]]}),
        Run({"x": tf.zeros([])}, facts={
            "vector": raised(encode, [[1]], [[1.0]], ["a_float"], "kinds.Many", source()),
            "prefix": raised(encode, [[1]], [np.ones([2, 3], "f"), np.ones([3, 3], "f")],
                             ["a_float", "a_float"], "kinds.Many", source()),
            "two": len(two)}),
    ]


@program
def shapes_by_sizes_of_constant_messages(tf):
    texts = [tf.train.BytesList(value=[b"a", b"b", b"c"]).SerializeToString(), b""]
    sizes, (words,) = tf.io.decode_proto(texts, "tensorflow.BytesList", ["value"], [tf.string])
    return Run({
        "words": words,
        "zeros": tf.zeros([tf.shape(words)[1]]),
        "numbers": tf.reshape(tf.range(6), tf.shape(words)),
        "ones": tf.fill(sizes[:, 0], 1),
    })  # fmt: skip
