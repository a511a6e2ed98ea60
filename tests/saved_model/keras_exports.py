"""Keras models exported with a graph for each use, by TensorFlow 1.15.5 or by Stillflow.

    python -m tests.saved_model.keras_exports write MODULE DIRECTORY
    python -m tests.saved_model.keras_exports use MODULE DIRECTORY    # the facts, as JSON
    python -m tests.saved_model.keras_exports record    # with TensorFlow: writes recorded/…

Runs under Python 3.7 as well.
"""

from __future__ import annotations

import os

import numpy as np
from tests.saved_model import program
from tests.saved_model.keras_models import functional, sequential, set_fixed_weights

RECORDED = os.path.join(program.FOLDER, "keras_exports.json")
_X = np.linspace(-1, 1, 8).reshape(2, 4)
_Y = np.ones((2, 2))


def _trained(tf):
    model = sequential(tf)
    model.pop()
    model.pop()  # what is left has no randomness
    model.add(tf.keras.layers.Dense(2, name="last"))
    model.compile(tf.keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    set_fixed_weights(model)
    model.fit(np.ones((8, 4)), np.ones((8, 2)), verbose=0, shuffle=False)
    return model


def write(tf, directory):
    """Export a trained model, one that was not compiled, and one with an optimizer of tf.train."""
    export = tf.keras.experimental.export_saved_model
    for name in ("trained", "plain", "text"):
        tf.keras.backend.clear_session()
        model = functional(tf) if name == "plain" else _trained(tf)
        if name == "text":
            model.compile(tf.train.GradientDescentOptimizer(0.1), "mse")
        set_fixed_weights(model)
        export(model, os.path.join(directory, name), as_text=name == "text")


def use(tf, directory):
    """Return the models and graphs of a directory, and their outputs."""
    found = {}
    for name, inputs in (
        ("trained", _X),
        ("plain", [_X, np.array([[1, 2], [0, 4]])]),
        ("text", _X),
    ):
        tf.keras.backend.clear_session()
        path = os.path.join(directory, name)
        model = tf.keras.experimental.load_from_saved_model(path)
        names = [key for key, _ in tf.train.list_variables(path + "/variables/variables")]
        found[name] = {
            "answers": model.predict(inputs),
            "variables": names,
            "files": sorted(os.listdir(path)),
        }
    path = os.path.join(directory, "trained")
    for tag in ("train", "eval"):
        with tf.Graph().as_default(), tf.Session() as session:
            found[tag] = _run(tf, session, tf.saved_model.load(session, [tag], path))
    return program.plain(found)


def _run(tf, session, graph):
    tag = graph.meta_info_def.tags[0]
    signature = graph.signature_def[tag]
    feed = {signature.inputs["dense_input"].name: _X, signature.inputs["last_target"].name: _Y}
    outputs = {name: info.name for name, info in signature.outputs.items()}
    results = {"outputs": sorted(outputs), "first loss": session.run(outputs["loss"], feed)}
    session.run(outputs["metrics/mean_absolute_error/update_op"], feed)
    results["metric"] = session.run(outputs["metrics/mean_absolute_error/value"])
    if tag == "train":
        step = graph.signature_def["__saved_model_train_op"].outputs["__saved_model_train_op"]
        session.run(step.name, feed)
        results["loss"] = session.run(outputs["loss"], feed)
        results["step"] = session.run(tf.train.get_global_step())
    return results


if __name__ == "__main__":
    program.main(write, use, RECORDED)
