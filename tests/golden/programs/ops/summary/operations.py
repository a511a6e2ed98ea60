"""Summary operations: their graphs, and the bytes of the messages they make."""

from __future__ import annotations

import struct
import zlib

import numpy as np
from tests.golden.registry import Run, program, raised


def pixels(content):
    """Decode a PNG image of bytes that is not interlaced, with any filters."""
    position, data = 8, b""
    while position < len(content):
        size, kind = struct.unpack(">I4s", content[position:position + 8])
        chunk = content[position + 8:position + 8 + size]
        if kind == b"IHDR":
            width, height, _, colour = struct.unpack(">IIBB", chunk[:10])
        if kind == b"IDAT":
            data += chunk
        position += size + 12
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[colour]
    rows = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, -1).astype(int)
    result = np.zeros((height, width * channels), int)
    for y in range(height):
        for x in range(width * channels):
            left = result[y, x - channels] if x >= channels else 0
            up = result[y - 1, x] if y else 0
            corner = result[y - 1, x - channels] if y and x >= channels else 0
            paeth = min((left, up, corner), key=lambda near: abs(left + up - corner - near))
            guess = (0, left, up, (left + up) // 2, paeth)[rows[y, 0]]
            result[y, x] = (rows[y, x + 1] + guess) % 256
    return result.reshape(height, width, channels)


def without_pixels(tf, content):
    """Split a message into what it says about images, and the images."""
    summary = tf.Summary.FromString(content)
    images = [pixels(value.image.encoded_image_string) for value in summary.value]
    for value in summary.value:
        value.image.ClearField("encoded_image_string")
    return summary.SerializeToString(), images


@program
def scalars(tf):
    """Names, scopes, families, characters that no name can have, and every type of number."""
    x = tf.placeholder(tf.float32, [])
    found = {"loss": tf.summary.scalar("loss", x), "again": tf.summary.scalar("loss", x * 2)}
    with tf.name_scope("train"):
        found["scoped"] = tf.summary.scalar("a b/c:0", x)
        found["family"] = tf.summary.scalar("loss", x, family="fam ily")
        found["kept"] = tf.summary.scalar("/kept", x, collections=["mine", "yours"])
    for kind in (tf.int32, tf.uint8, tf.int64, tf.float64, tf.float16, tf.bfloat16, tf.uint16):
        found[kind.name] = tf.summary.scalar(kind.name, tf.constant(3, kind))
    return Run(found, {x: 0.1}, facts={
        "all": [t.name for t in tf.get_collection(tf.GraphKeys.SUMMARIES)],
        "mine": [t.name for t in tf.get_collection("mine")],
        "shape": found["loss"].shape.as_list(),
    })


@program
def scalar_values(tf):
    x = tf.placeholder(tf.float64, [])
    feeds = [{x: value} for value in (0.0, -0.0, 1e300, -1e-300, np.inf, -np.inf, np.nan, 16777217)]
    return Run({"summary": tf.summary.scalar("x", x)}, feeds, steps=len(feeds))


@program
def scalars_of_other_shapes(tf):
    x = tf.placeholder(tf.float32)
    tags = tf.constant(["a", "b"])
    several = tf.raw_ops.ScalarSummary(tags=tags, values=x)
    return [
        Run({"two": several}, {x: [1.0, 2.0]}),
        Run({"wrong": several}, {x: [1.0]}, fails=True),
        Run({"wrong": tf.summary.scalar("s", x)}, {x: [1.0, 2.0]}, fails=True),
        Run({"vector of one": tf.summary.scalar("v", x)}, {x: [1.0]}, fails=True),
    ]


@program
def histograms(tf):
    x = tf.placeholder(tf.float32)
    rng = np.random.RandomState(3)
    values = [
        rng.randn(50), rng.randn(4, 5, 6) * 1e6, [], 0.0, [1.0] * 7, [-1e-13, 1e-13, 0, 1e-12],
        [1e20, -1e20, 3e38, -3e38], [1.1, 1.21, 1.0], np.exp(rng.randn(300) * 10),
    ]
    return Run(
        {"histogram": tf.summary.histogram("weights", x)}, [{x: v} for v in values],
        steps=len(values), facts={"name": tf.summary.histogram("layer/w eights", x).name},
    )


@program
def histograms_of_types(tf):
    found = {}
    for kind in (tf.int32, tf.uint8, tf.int64, tf.float64, tf.float16, tf.bfloat16, tf.int8):
        found[kind.name] = tf.summary.histogram(kind.name, tf.constant([1, 2, 2, 100], kind))
    found["family"] = tf.summary.histogram("h", tf.constant([1.0]), family="f")
    return Run(found)


@program
def histograms_of_what_is_not_finite(tf):
    x = tf.placeholder(tf.float32)
    summary = tf.summary.histogram("w", x)
    return [
        Run({"h": summary}, {x: [1.0, np.nan, np.inf]}, fails=True),
        Run({"h": summary}, {x: [1.0, -np.inf, np.nan]}, fails=True),
    ]


@program
def merged(tf):
    x = tf.placeholder(tf.float32, [])
    nothing = tf.summary.merge_all()
    first, second = tf.summary.scalar("a", x), tf.summary.scalar("b", x + 1)
    with tf.name_scope("scope"):
        third = tf.summary.histogram("c", x * 2)
    return Run({
        "all": tf.summary.merge_all(),
        "scoped": tf.summary.merge_all(scope="scope"),
        "named": tf.summary.merge_all(name="every thing"),
        "two": tf.summary.merge([second, first], collections=["merged"]),
        "one": tf.summary.merge([third]),
    }, {x: 2.0}, facts={
        "nothing": nothing is None,
        "other key": tf.summary.merge_all("no such key") is None,
        "merged": [t.name for t in tf.get_collection("merged")],
    })


@program
def merged_wrongly(tf):
    x = tf.placeholder(tf.string)
    summary = tf.Summary(value=[tf.Summary.Value(tag="t", simple_value=1)]).SerializeToString()
    merge = tf.summary.merge([x, x])
    return [
        Run({"twice": merge}, {x: summary}, fails=True),
        Run({"no summary": merge}, {x: b"\xff\xff\xff"}, fails=True),
        Run({"empty": merge}, {x: b""}, facts={"none": raised(tf.summary.merge, [])}),
    ]


@program
def texts_and_tensors(tf):
    words = tf.constant([["a", "*b*"], ["c", ""]])
    numbers = tf.constant([[1.0, 2.0]])
    found = {
        "text": tf.summary.text("words", words),
        "float": tf.summary.tensor_summary("t", numbers),
        "named": tf.summary.tensor_summary(
            "t", numbers, summary_description="what it is", display_name="T", family="f"),
        "half": tf.summary.tensor_summary("half", tf.cast(numbers, tf.float16)),
        "bfloat16": tf.summary.tensor_summary("bfloat16", tf.cast(numbers, tf.bfloat16)),
        "bool": tf.summary.tensor_summary("bool", numbers > 1),
        "scalar": tf.summary.tensor_summary("scalar", tf.constant(7, tf.int64)),
        "complex": tf.summary.tensor_summary("complex", tf.constant(1 + 2j, tf.complex64)),
        "empty": tf.summary.tensor_summary("empty", tf.zeros([0, 2])),
        "old": tf.raw_ops.TensorSummary(tensor=words, name="old"),
    }
    return Run(found, facts={"not text": raised(tf.summary.text, "x", numbers)})


@program
def sounds(tf):
    x = tf.placeholder(tf.float32)
    clip = np.sin(np.arange(24, dtype=np.float32)).reshape(4, 6) * 1.2
    rate = tf.placeholder_with_default(8000.0, [])
    summary = tf.summary.audio("sound", x, rate)
    return [
        Run({
            "several": summary,
            "one": tf.summary.audio("one", x, 44100, max_outputs=1, family="f"),
        }, [{x: clip}, {x: clip.reshape(2, 6, 2)}, {x: [[2.0**-16, 3 * 2.0**-16, -1]]}], steps=3),
        Run({"rate": summary}, {x: clip, rate: 0.4}),
        Run({"no rate": summary}, {x: clip, rate: 0.0}, fails=True),
        Run({"one dimension": summary}, {x: clip[0]}, fails=True),
        Run({"no frames": summary}, {x: clip[:, :0]}, fails=True),
    ]


@program
def pictures(tf):
    x = tf.placeholder(tf.float32)
    floats = tf.summary.image("floats", x)
    one = tf.summary.image("one", x, max_outputs=1)
    bytes_ = tf.placeholder(tf.uint8)
    plain = tf.summary.image("bytes", bytes_, max_outputs=2, family="f")
    halves = tf.summary.image("halves", tf.cast(x, tf.float16))
    doubles = tf.summary.image("doubles", tf.cast(x, tf.float64))
    rng = np.random.RandomState(1)
    noise = rng.randn(4, 3, 5, 3).astype(np.float32)
    holes = noise.copy()
    holes[0, 1, 2, 1], holes[1, 0, 0] = np.nan, np.inf

    def call(session):
        found = {}
        for name, value in (("noise", noise), ("light", abs(noise)), ("holes", holes),
                            ("grey", noise[..., :1]), ("alpha", rng.rand(1, 2, 2, 4)),
                            ("dark", noise * 1e-8), ("none", noise[:0])):
            for kind, tensor in (("float", floats), ("one", one), ("half", halves),
                                 ("double", doubles)):
                message, images = without_pixels(tf, session.run(tensor, {x: value}))
                found[name + " " + kind] = message
                for index, image in enumerate(images):
                    found[f"{name} {kind} {index}"] = image
        steps = np.arange(120).reshape(2, 5, 4, 3) * 2
        message, images = without_pixels(tf, session.run(plain, {bytes_: steps}))
        found["bytes"], found["pixels"] = message, np.array(images)
        return found

    return [
        Run(call=call),
        Run({"wrong depth": floats}, {x: noise[..., :2]}, fails=True),
        Run({"no height": floats}, {x: noise[:, :0]}, fails=True),
        Run({"wrong rank": floats}, {x: noise[0]}, fails=True),
    ]
