"""SavedModels of objects, written and used by TensorFlow 1.15.5 or by Stillflow.

    python -m tests.saved_model.objects write MODULE DIRECTORY
    python -m tests.saved_model.objects use MODULE DIRECTORY    # what is found there, as JSON
    python -m tests.saved_model.objects record    # with TensorFlow: writes recorded/

Runs under Python 3.7 as well.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import tempfile

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded")


def scaler(tf):
    """Return a module with variables, a constant, a function of fixed arguments and one of any."""
    model = tf.Module()
    model.v = tf.compat.v2.Variable([2.0, 3.0], name="weights")
    model.parts = [tf.compat.v2.Variable(5, trainable=False), tf.Module()]
    model.parts[1].deep = tf.compat.v2.Variable([[7.0]], name="deep")
    shift = tf.constant([1.0, -1.0])
    model.scale = tf.function(
        lambda x, k=2.0: x * model.v * k + shift,
        input_signature=[
            tf.TensorSpec([None, 2], tf.float32, name="x"),
            tf.TensorSpec([], tf.float32),
        ],
    )
    model.any = tf.function(lambda x, twice=False: {"a": x * 2 if twice else x, "b": [x, -x]})
    model.any(tf.ones([2]))
    model.any(tf.ones([3], tf.int32), twice=True)
    return model, {"serving_default": model.scale}


class Counter:
    """Creator of a class of modules with a method that is a function and changes a variable."""

    def __new__(cls, tf):
        class Counted(tf.Module):
            def __init__(self):
                super(Counted, self).__init__()
                self.count = tf.compat.v2.Variable(1, name="count")

            @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
            def __call__(self, by):
                return self.count.assign_add(by) + 0

        return Counted()


def lookups(tf, vocabulary):
    """Return modules with tables: of given entries, of a file's lines, and with buckets."""
    lookup, model = tf.lookup, tf.Module()
    ids = tf.constant([5, 7], tf.int64)
    lines = lookup.TextFileInitializer(
        vocabulary,
        tf.string,
        lookup.TextFileIndex.WHOLE_LINE,
        tf.int64,
        lookup.TextFileIndex.LINE_NUMBER,
    )
    model.given = lookup.StaticHashTable(lookup.KeyValueTensorInitializer(["a", "b"], ids), -1)
    model.lines = lookup.StaticHashTable(lines, -2)
    model.buckets = lookup.StaticVocabularyTable(
        lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64)), 3
    )
    model.find = tf.function(
        lambda keys: {
            name: getattr(model, name).lookup(keys) for name in ("given", "lines", "buckets")
        },
        input_signature=[tf.TensorSpec([None], tf.string, name="keys")],
    )
    return model


def write(tf, directory):
    """Write all models."""
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default():
        vocabulary = os.path.join(folder, "words.txt")
        with open(vocabulary, "w") as file:
            file.write("x\na\n")
        tf.saved_model.save(lookups(tf, vocabulary), os.path.join(directory, "lookups"))
    with tf.Graph().as_default(), tf.Session() as session:
        model, signatures = scaler(tf)
        session.run(tf.global_variables_initializer())
        tf.saved_model.save(model, os.path.join(directory, "scaler"), signatures)
    with tf.Graph().as_default(), tf.Session() as session:
        counter = Counter(tf)
        session.run(tf.global_variables_initializer())
        tf.saved_model.experimental.save(counter, os.path.join(directory, "counter"))
    with tf.Graph().as_default():
        stateless = tf.Module()
        stateless.double = tf.function(
            lambda x: x * 2, input_signature=[tf.TensorSpec(None, tf.float32)]
        )
        tf.compat.v2.saved_model.save(stateless, os.path.join(directory, "stateless"))


def use(tf, directory):
    """Return the outputs of the models in a directory."""
    load = tf.compat.v2.saved_model.load
    found = {}
    with tf.Graph().as_default(), tf.Session() as session:
        model = load(os.path.join(directory, "scaler"))
        x = tf.constant([[1.0, 1.0], [2.0, 0.5]])
        y = model.scale(x, 3.0)
        results = [
            y,
            model.scale(x),
            model.scale(tf.ones([1, 2])),
            model.any(tf.ones([2])),
            model.any(tf.ones([3], tf.int32), True),
            model.signatures["serving_default"](x=x, k=tf.constant(0.5)),
            model.v,
            model.parts[0],
            model.parts[1].deep,
            tf.gradients(y, [model.v.handle, x]),
        ]
        session.run(tf.global_variables_initializer())
        found["scaler"] = session.run(results)
        found["shape"] = model.v.shape.as_list()
        found["variables"] = [
            [v.name, v.trainable] for v in (model.v, model.parts[0], model.parts[1].deep)
        ]
    with tf.Graph().as_default(), tf.Session() as session:
        model = load(os.path.join(directory, "counter"), tags="serve")
        counted = model(tf.constant(4))
        session.run(tf.global_variables_initializer())
        found["counter"] = [session.run(counted), session.run(counted), session.run(model.count)]
    with tf.Graph().as_default(), tf.Session() as session:
        found["stateless"] = session.run(load(os.path.join(directory, "stateless")).double(1.5))
    found["v1"] = use_v1(tf, os.path.join(directory, "scaler"))
    found["lookups"] = use_lookups(tf, os.path.join(directory, "lookups"))
    return json.loads(json.dumps(found, default=lambda value: value.tolist(), sort_keys=True))


def use_v1(tf, directory):
    """Return a model's output by its signature, without the objects."""
    with tf.Graph().as_default(), tf.Session() as session:
        signature = tf.saved_model.load(session, ["serve"], directory).signature_def[
            "serving_default"
        ]
        feed = {signature.inputs["x"].name: [[1.0, 10.0]], signature.inputs["k"].name: 1.0}
        return session.run(signature.outputs["output_0"].name, feed)


def use_lookups(tf, directory):
    """Return tables' outputs for programs with the objects, and for those without."""
    keys = ["a", "x", "q", "b"]
    with tf.Graph().as_default(), tf.Session() as session:
        results = tf.compat.v2.saved_model.load(directory).find(tf.constant(keys))
        session.run(tf.tables_initializer())
        found = [{name: ids.tolist() for name, ids in session.run(results).items()}]
    with tf.Graph().as_default(), tf.Session() as session:
        signature = tf.saved_model.load(session, ["serve"], directory).signature_def[
            "serving_default"
        ]
        outputs = {name: signature.outputs[name].name for name in ("given", "lines", "buckets")}
        results = session.run(outputs, {signature.inputs["keys"].name: keys})
        found.append({name: ids.tolist() for name, ids in results.items()})
    return found


def main():
    if sys.argv[1] == "record":
        tf = importlib.import_module("tensorflow")
        write(tf, RECORDED)
        with open(os.path.join(RECORDED, "found.json"), "w") as file:
            json.dump(use(tf, RECORDED), file, indent=1, sort_keys=True)
            file.write("\n")
        return
    tf = importlib.import_module(sys.argv[2])
    if sys.argv[1] == "write":
        write(tf, sys.argv[3])
    else:
        print(json.dumps(use(tf, sys.argv[3])))


if __name__ == "__main__":
    main()
