"""A model's files of every kind, written and read by TensorFlow 1.15.5 or by Stillflow.

    python -m tests.train.interchange write MODULE DIRECTORY
    python -m tests.train.interchange read MODULE DIRECTORY    # what is found there, as JSON

Runs under Python 3.7 as well.
"""

from __future__ import annotations

import glob
import importlib
import json
import os
import sys

import numpy as np

FEED = [[1.0, 2.0, 3.0], [-1.0, 0.5, 0.0]]


def build(tf):
    """Return a model on two devices: a variable in parts, one of each kind, a loop."""
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    with tf.device("/cpu:0"):
        parts = tf.get_variable(
            "parts",
            [3, 4],
            initializer=tf.constant_initializer(np.arange(6.0)),
            partitioner=tf.fixed_size_partitioner(2, axis=1),
        )
    with tf.device("/cpu:1"):
        bias = tf.get_variable("bias", [4], initializer=tf.ones_initializer(), use_resource=True)
        step = tf.train.get_or_create_global_step()
        words = tf.get_variable("words", initializer=tf.constant(["a", "bc", ""]))
        half = tf.get_variable("half", initializer=np.float16([1.5, 2]))
    y = tf.nn.bias_add(tf.matmul(x, tf.convert_to_tensor(parts)), bias)
    doubled = tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 2), [tf.constant(0), y])
    tf.identity(doubled[1], name="out")
    tf.group(words, half, name="rest")
    return x, tf.get_default_graph().get_tensor_by_name("out:0"), step


def write(tf, directory):
    """Write checkpoints of both formats, a graph, a frozen graph, a SavedModel and events."""
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default() as graph, tf.Session(config=config) as session:
        x, out, step = build(tf)
        session.run(tf.global_variables_initializer())
        session.run(tf.assign_add(step, 7))
        for version, name in ((tf.train.SaverDef.V1, "v1"), (tf.train.SaverDef.V2, "v2")):
            for sharded in (False, True):
                saver = tf.train.Saver(sharded=sharded, write_version=version)
                prefix = os.path.join(directory, name + ("_sharded" if sharded else ""))
                saver.save(session, prefix, latest_filename=os.path.basename(prefix) + "_state")
        frozen = tf.graph_util.convert_variables_to_constants(
            session, graph.as_graph_def(), ["out"]
        )
        tf.train.write_graph(frozen, directory, "frozen.pb", as_text=False)
        tf.train.write_graph(frozen, directory, "frozen.pbtxt")
        asset = os.path.join(directory, "vocabulary.txt")
        with open(asset, "w") as file:
            file.write("one two")
        tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, tf.constant(asset, name="asset"))
        builder = tf.saved_model.Builder(os.path.join(directory, "export"))
        signature = tf.saved_model.predict_signature_def({"x": x}, {"out": out})
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            {"run": signature},
            assets_collection=tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS),
        )
        builder.save()
    with tf.Graph().as_default():
        writer = tf.summary.FileWriter(os.path.join(directory, "logs"))
        for number in range(3):
            values = [tf.Summary.Value(tag="loss", simple_value=number / 2.0)]
            writer.add_summary(tf.Summary(value=values), number)
        writer.add_graph(graph)
        writer.close()


def run(session):
    """Return the model's outputs, and its training state."""
    out, step = session.run(["out:0", "global_step:0"], {"x:0": FEED})
    return [out.tolist(), int(step)]


def read(tf, directory):
    """Return the contents of these files."""
    config = tf.ConfigProto(device_count={"CPU": 2})
    found = {}
    for name in ("v1", "v1_sharded", "v2", "v2_sharded"):
        with tf.Graph().as_default(), tf.Session(config=config) as session:
            prefix = os.path.join(directory, name)
            latest = tf.train.latest_checkpoint(directory, name + "_state")
            saver = tf.train.import_meta_graph(prefix + ".meta")
            saver.restore(session, latest)
            found[name] = run(session)
            found[name + " words"] = [w.decode() for w in session.run("words:0")]
            found[name + " half"] = session.run("half:0").tolist()
            found[name + " list"] = sorted(map(list, tf.train.list_variables(latest)))
    for name in ("frozen.pb", "frozen.pbtxt"):
        with tf.Graph().as_default(), tf.Session(config=config) as session:
            message = tf.GraphDef()
            with open(os.path.join(directory, name), "rb") as file:
                content = file.read()
            if name.endswith("txt"):
                from google.protobuf import text_format

                text_format.Merge(content.decode(), message)
            else:
                message.ParseFromString(content)
            tf.import_graph_def(message, name="")
            found[name] = session.run("out:0", {"x:0": FEED}).tolist()
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        meta_graph = tf.saved_model.load(session, ["serve"], os.path.join(directory, "export"))
        found["export"] = run(session)
        found["signature"] = meta_graph.signature_def["run"].outputs["out"].name
        (asset,) = tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS)
        with open(session.run(asset)) as file:
            found["asset"] = file.read()
    (log,) = glob.glob(os.path.join(directory, "logs", "*"))
    events = list(tf.train.summary_iterator(log))
    found["losses"] = [
        [event.step, value.simple_value] for event in events for value in event.summary.value
    ]
    graphs = [tf.GraphDef.FromString(e.graph_def) for e in events if e.graph_def]
    found["logged nodes"] = [len(graph.node) for graph in graphs]
    return found


if __name__ == "__main__":
    what, module, folder = sys.argv[1:]
    tf = importlib.import_module(module)
    tf.logging.set_verbosity(tf.logging.FATAL)
    if what == "write":
        write(tf, folder)
    else:
        print(json.dumps(read(tf, folder)))
