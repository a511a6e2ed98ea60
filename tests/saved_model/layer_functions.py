"""Keras models with the functions of their layers, of which TensorFlow makes models again.

    python -m tests.saved_model.layer_functions record              # with TensorFlow
    python -m tests.saved_model.layer_functions use tensorflow DIR  # with either: the facts

Runs under Python 3.7 as well.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile

import numpy as np
from tests.saved_model import program

RECORDED = os.path.join(program.FOLDER, "layer_functions.json")
X = np.sin(np.arange(12.0)).reshape(4, 3).astype("float32")
Y = np.cos(np.arange(8.0)).reshape(4, 2).astype("float32")


def sequential(tf):
    """Layers with regularizers, and such that act otherwise in training."""
    layers = tf.keras.layers
    return tf.keras.Sequential([
        layers.Dense(3, "relu", kernel_regularizer="l2", activity_regularizer="l1",
                     input_shape=(3,)),
        layers.BatchNormalization(), layers.Dropout(0.5), layers.Dense(2),
    ])  # fmt: skip


def functional(tf):
    """Return a layer that is called twice, and one of two inputs."""
    inputs = tf.keras.Input((3,))
    dense = tf.keras.layers.Dense(3)
    return tf.keras.Model(inputs, tf.keras.layers.Dense(2)(
        tf.keras.layers.Add()([dense(inputs), dense(dense(inputs))])
    ))  # fmt: skip


def subclassed(tf):
    """Return a model that only its class describes, whose methods do not say `self`."""

    class Own(tf.keras.Model):
        def __init__(this):
            super().__init__()
            this.dense, this.dropout = tf.keras.layers.Dense(2), tf.keras.layers.Dropout(0.5)

        def call(this, x, training=None):
            return this.dropout(this.dense(x), training=training)

    return Own()


MODELS = {one.__name__: one for one in (sequential, functional, subclassed)}


def write(tf, directory):
    """Save the models, trained on one batch, with their predictions."""
    for name, make in MODELS.items():
        tf.keras.backend.clear_session()
        tf.compat.v1.set_random_seed(1)
        model = make(tf)
        model.compile("sgd", "mse", metrics=["mae"])
        model.fit(X, Y, verbose=0, shuffle=False)
        path = os.path.join(directory, name)
        model.save(path, save_format="tf")
        np.save(os.path.join(path, "predicted.npy"), model.predict(X))


def use(tf, directory):
    """Return the facts about the models that `load_model` makes."""
    found = {}
    for name in MODELS:
        tf.keras.backend.clear_session()
        path = os.path.join(directory, name)
        model = tf.keras.models.load_model(path)
        predicted = np.load(os.path.join(path, "predicted.npy"))
        found[name] = {
            "class": type(model).__name__,
            "layers": [layer.name for layer in model.layers],
            "losses": len(model.losses),
            "trainable": [v.name for v in model.trainable_weights],
            "others": [v.name for v in model.non_trainable_weights],
            "metrics": model.metrics_names,
            "difference": float(np.abs(model.predict(X) - predicted).max()),
            "evaluated": len(model.evaluate(X, Y, verbose=0)),
        }
    return found


def described(directory, load, decode):
    """Return the files' descriptions of layers and their functions.

    Args:
      load: the SavedModel message of a path.
      decode: the structure of a `StructuredValue`.
    """
    return {name: _described(load(os.path.join(directory, name)), decode) for name in MODELS}


def _described(message, decode):
    graph = message.meta_graphs[0].object_graph_def
    found = {}
    for node in graph.nodes:
        if not node.user_object.identifier.startswith("_tf_keras_"):
            continue
        told = json.loads(node.user_object.metadata)
        parts = {child.local_name: graph.nodes[child.node_id] for child in node.children}
        api = parts["keras_api"]
        functions = {
            child.local_name: _function(graph, graph.nodes[child.node_id].function, decode)
            for child in api.children
            if graph.nodes[child.node_id].WhichOneof("kind") == "function"
        }
        lists = {
            child.local_name: len(graph.nodes[child.node_id].children)
            for child in api.children
            if graph.nodes[child.node_id].WhichOneof("kind") == "user_object"
        }
        beside = [name for name, part in parts.items() if part.WhichOneof("kind") == "function"]
        told = {key: told.get(key) for key in _TOLD}
        found[told["name"]] = [
            node.user_object.identifier, told, functions, lists, sorted(beside),
        ]  # fmt: skip
    return found


_TOLD = (
    "class_name", "name", "trainable", "expects_training_arg", "batch_input_shape", "input_spec",
    "activity_regularizer",
)  # fmt: skip


def _function(graph, function, decode):
    spec = decode(function.function_spec.fullargspec)
    kinds = set()
    for name in function.concrete_functions:
        concrete = graph.concrete_functions[name]
        kinds.add(repr((
            _shapes(decode(concrete.canonicalized_input_signature)),
            _shapes(decode(concrete.output_signature)),
        )))  # fmt: skip
    names = list(spec.args) if function.function_spec.is_method else []
    return [names, list(spec.defaults or ()), spec.kwonlyargs, sorted(kinds)]


def _shapes(value):
    if isinstance(value, (list, tuple)):
        return [_shapes(item) for item in value]
    if isinstance(value, dict):
        return {key: _shapes(value[key]) for key in sorted(value)}
    shape = getattr(value, "shape", value)
    return str(shape) if shape is not value else value


if __name__ == "__main__":
    import tensorflow

    if sys.argv[1] == "use":
        print(json.dumps(use(tensorflow, sys.argv[3])))
    else:
        from tensorflow.core.protobuf import saved_model_pb2
        from tensorflow.python.saved_model import nested_structure_coder

        def read(path):
            with open(os.path.join(path, "saved_model.pb"), "rb") as file:
                return saved_model_pb2.SavedModel.FromString(file.read())

        decoder = nested_structure_coder.StructureCoder()
        with tempfile.TemporaryDirectory() as folder:
            write(tensorflow, folder)
            answers = {
                "described": described(folder, read, decoder.decode_proto),
                "used": use(tensorflow, folder),
            }
        with open(RECORDED, "w") as out:
            json.dump(answers, out, indent=1, sort_keys=True)
