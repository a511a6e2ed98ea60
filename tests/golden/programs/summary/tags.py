"""Tags of summaries, the scopes and collections around them, and old names of the functions."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


@program
def the_same_name_again(tf):
    found = [tf.summary.scalar("a", 1.0) for _ in range(3)]
    with tf.name_scope("scope"):
        found += [tf.summary.scalar("a", 1.0), tf.summary.histogram("a", [1.0])]
    with tf.name_scope("scope"):
        found += [tf.summary.scalar("a", 1.0)]
    with tf.name_scope("scope/"):
        found += [tf.summary.scalar("b", 1.0)]
    return Run({each.op.name: each for each in found})


@program
def families_come_first(tf):
    found = [tf.summary.scalar("a", 1.0, family="f"), tf.summary.scalar("f/a", 1.0)]
    with tf.name_scope("s"):
        found += [tf.summary.scalar("a", 1.0, family="f"), tf.summary.scalar("a", 1.0, family="f"),
                  tf.summary.histogram("h", [1.0], family="g/h"),
                  tf.summary.tensor_summary("t", 1.0, family="f"),
                  tf.summary.audio("w", [[1.0]], 8.0, 1, family="f")]
    return Run({each.op.name: each for each in found})


@program
def characters_that_names_lack(tf):
    names = ["a b", "x:0", "/slash", "//two", "a.b-c_d/e", "x%d", "tab\t", "x[0]"]
    found = [tf.summary.scalar(name, 1.0) for name in names]
    return Run({each.op.name: each for each in found}, facts={
        "no ASCII": raised(tf.summary.scalar, "é", 1.0), "$": raised(tf.summary.scalar, "$", 1.0),
    })


@program
def scopes_of_variables(tf):
    with tf.variable_scope("model"):
        w = tf.get_variable("w", initializer=1.0)
        one = tf.summary.scalar("w", w)
    with tf.variable_scope("model", reuse=True):
        two = tf.summary.scalar("w", tf.get_variable("w"))
    named = tf.summary.scalar(w.op.name, w)
    odd = tf.summary.scalar(w.name, w)
    return Run({each.op.name: each for each in (one, two, named, odd)},
               setup=[tf.global_variables_initializer()])


@program
def bytes_that_are_no_text(tf):
    bad = b"\xff\xfe"
    merged = tf.summary.merge([tf.raw_ops.ScalarSummary(tags=bad, values=1.0)])
    return [
        Run({
            "scalar": tf.raw_ops.ScalarSummary(tags=bad, values=1.0),
            "histogram": tf.raw_ops.HistogramSummary(tag=bad, values=[1.0]),
            "tensor": tf.raw_ops.TensorSummaryV2(
                tag=bad, tensor=1.0, serialized_summary_metadata=b""),
            "audio": tf.raw_ops.AudioSummaryV2(
                tag=bad, tensor=[[1.0]], sample_rate=8.0, max_outputs=1),
        }),
        Run({"merged": merged}, fails=True),
    ]


@program
def empty_tags(tf):
    both = tf.raw_ops.ScalarSummary(tags=["", ""], values=[1.0, 2.0])
    return Run({
        "scalars": both, "histogram": tf.raw_ops.HistogramSummary(tag="", values=[0.0, -0.0]),
        "merged": tf.summary.merge([both]),
        "tensor": tf.raw_ops.TensorSummaryV2(tag="", tensor=1, serialized_summary_metadata=b""),
    })


@program
def tags_twice(tf):
    twice = tf.raw_ops.ScalarSummary(tags=["a", "a"], values=[1.0, 2.0])
    one = tf.raw_ops.HistogramSummary(tag="a", values=[1.0])
    return [
        Run({"unmerged": twice}),
        Run({"in one": tf.summary.merge([twice])}, fails=True),
        Run({"in two": tf.summary.merge([one, one])}, fails=True),
    ]


@program
def collections_of_summaries(tf):
    first = tf.summary.scalar("first", 1.0, collections=["mine"])
    second = tf.summary.histogram("second", [1.0], collections=["mine", tf.GraphKeys.SUMMARIES])
    third = tf.summary.text("third", tf.constant("x"), collections=[])
    return Run({
        "mine": tf.summary.merge_all("mine"), "all": tf.summary.merge_all(),
        "into one": tf.summary.merge([first], collections=["merged"]),
    }, facts={
        "mine": [each.name for each in tf.get_collection("mine")],
        "merged": [each.name for each in tf.get_collection("merged")],
        "none": tf.summary.merge_all("none") is None, "third": third.name,
        "second": second.name,
    })


@program
def merging_some(tf):
    with tf.name_scope("train"):
        tf.summary.scalar("a", 1.0)
    with tf.name_scope("train2"):
        tf.summary.scalar("a", 2.0)
    with tf.name_scope("test"):
        tf.summary.scalar("a", 3.0)
    return Run({
        "train": tf.summary.merge_all(scope="train/"), "both": tf.summary.merge_all(scope="train"),
        "pattern": tf.summary.merge_all(scope="t.*t/"), "named": tf.summary.merge_all(name="m n"),
        "none": tf.summary.merge([tf.constant(b"")]),
    }, facts={"nothing": tf.summary.merge_all(scope="no") is None})


@program
def unmerged_messages(tf):
    one = tf.Summary(value=[tf.Summary.Value(tag="t", simple_value=1)]).SerializeToString()
    other = tf.Summary(value=[tf.Summary.Value(tag="u", simple_value=2)]).SerializeToString()
    x = tf.placeholder(tf.string)
    merged = tf.summary.merge([x])
    feeds = [{x: [one, other]}, {x: one}, {x: []}, {x: [[one], [b""]]}]
    return [Run({"merged": merged}, feeds, steps=4),
            Run({"wrong": merged}, {x: [one, b"\x0a\x05ab"]}, fails=True)]


@program
def descriptions(tf):
    text = '{"displayName": "shown", "description": "text"}'
    node = tf.NodeDef(op="TensorSummary")
    node.attr["description"].s = b'{"typeHint": "scalar"}'
    empty = tf.NodeDef(op="TensorSummary")
    empty.attr["description"].s = b"{}"
    describe = tf.summary.get_summary_description
    return Run(facts={
        "hint": describe(node).type_hint, "empty": describe(empty).type_hint,
        "other": raised(describe, tf.NodeDef(op="ScalarSummary")), "text": text,
    })


@program
def old_names(tf):
    deprecated = tf.contrib.deprecated
    x = tf.constant([1.0, 2.0])
    found = {
        "scalar": deprecated.scalar_summary("s", 1.0),
        "scalars": deprecated.scalar_summary(["a", "b"], x),
        "histogram": deprecated.histogram_summary("h", x),
        "image": deprecated.image_summary("i", np.zeros([1, 1, 1, 1], np.uint8), max_images=1),
        "audio": deprecated.audio_summary("w", [[1.0]], 8.0, max_outputs=1),
    }
    found["merged"] = deprecated.merge_summary([found["scalar"], found["histogram"]])
    return Run({name: each for name, each in found.items() if name != "image"})


@program
def summaries_of_layers(tf):
    layers = tf.contrib.layers
    x = tf.constant([[1.0, -2.0]], name="x")
    w = tf.get_variable("w", initializer=[[1.0], [2.0]])
    y = tf.nn.relu(tf.matmul(x, w), name="y")
    tf.add_to_collection(tf.GraphKeys.ACTIVATIONS, y)
    made = [layers.summarize_tensor(tf.reduce_sum(y)), layers.summarize_tensor(y, tag="tag"),
            layers.summarize_activation(y), *layers.summarize_tensors([x, w.value()]),
            *layers.summarize_collection(tf.GraphKeys.TRAINABLE_VARIABLES),
            *layers.summarize_activations()]
    made = [each for each in made if each is not None]
    return Run({f"{number}": each for number, each in enumerate(made)},
               setup=[tf.global_variables_initializer()], facts={"names": [m.name for m in made]})
