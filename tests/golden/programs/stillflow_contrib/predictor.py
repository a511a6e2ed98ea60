"""tf.contrib.predictor: predictors of SavedModels and estimators, and their errors."""

from __future__ import annotations

import os

import numpy as np
from tests.golden.programs.saved_model import directory
from tests.golden.registry import Run, program, raised


def about(predictor):
    """Return a predictor's representation."""
    return {
        "repr": repr(predictor).partition(" with ")[0],
        "feeds": sorted((key, t.name) for key, t in predictor.feed_tensors.items()),
        "fetches": sorted((key, t.name) for key, t in predictor.fetch_tensors.items()),
        "graph": [op.name for op in predictor.graph.get_operations()],
        "own": predictor.session.graph is predictor.graph,
        "unexpected": raised(predictor, {"other": [1.0]}),
    }


@program
def of_saved_models(tf):
    x = tf.placeholder(tf.float32, [None], name="x")
    w = tf.get_variable("w", initializer=3.0)
    y = tf.multiply(x, w, name="y")
    z = tf.add(y, 1.0, name="z")

    def call(session):
        make = tf.contrib.predictor.from_saved_model
        signatures = {
            "serving_default": tf.saved_model.predict_signature_def({"x": x}, {"y": y}),
            "both": tf.saved_model.predict_signature_def({"x": x, "w": w}, {"y": y, "z": z}),
        }
        with directory() as path:
            export = os.path.join(path, "export")
            builder = tf.saved_model.Builder(export)
            builder.add_meta_graph_and_variables(session, ["serve"], signatures)
            builder.add_meta_graph(["serve", "gpu"], {"both": signatures["both"]})
            builder.save()
            names = {"a": "x:0"}, {"b": "z:0", "c": "y:0"}
            default = make(export)
            graph = tf.Graph()
            both = make(export, "both", graph=graph)
            tagged = make(export, tags="gpu,serve", signature_def=signatures["both"])
            named = make(
                export,
                input_names=names[0],
                output_names=names[1],
                config=tf.ConfigProto(intra_op_parallelism_threads=1),
            )
            empty = make(export, "none")
            return {
                "default": about(default),
                "both": about(both),
                "same_graph": both.graph is graph,
                "empty": about(empty),
                "values": [
                    default({"x": [1.0, 2.0]}), both({"x": [1.0], "w": None}),
                    both({"x": np.float32([1, 2]), "w": 5.0}), tagged({"x": [4.0]}),
                    named({"a": [1.0]}), empty({}),
                ],
                "refused": [
                    raised(default, {}),
                    raised(default, {"x": 1.0}),
                    raised(make, export, "both", signatures["both"]),
                    raised(make, export, "both", input_names=names[0], output_names=names[1]),
                    raised(make, export, input_names=names[0]),
                    raised(make, export, input_names={"a": "x"}, output_names=names[1]),
                    raised(make, export, input_names={"a": "q:0"}, output_names=names[1]),
                    raised(make, export, tags="other"),
                    raised(make, export, tags=["serve"]),
                ],
            }  # fmt: skip

    return Run(setup=[tf.global_variables_initializer()], call=call)


def model_fn(features, labels, mode, tf):
    weight = tf.get_variable("weight", initializer=2.0)
    predictions = {"sum": features["x"] + features["y"] * weight, "x": features["x"] * 1.0}
    outputs = tf.estimator.export.PredictOutput
    exports = {key: outputs({key: value}) for key, value in predictions.items()}
    exports["serving_default"] = outputs(predictions)
    step = tf.assign_add(tf.train.get_global_step(), 1) if mode != "infer" else None
    loss = None if step is None else tf.reduce_sum(predictions["sum"] - weight)
    train = None if step is None else tf.group(step, tf.assign_add(weight, 1.5))
    return tf.estimator.EstimatorSpec(mode, predictions, loss, train, export_outputs=exports)


def fed(tf):
    return {key: tf.placeholder(tf.float32, [None], name=key) for key in ("x", "y")}


def constants(tf):
    return {"x": tf.constant([1.0]), "y": tf.constant([2.0])}, tf.constant([0.0])


@program
def of_estimators(tf):
    make = tf.contrib.predictor.from_estimator

    def receiver():
        features = fed(tf)
        return tf.estimator.export.ServingInputReceiver(features, dict(features))

    def call(session):
        with directory() as path:
            estimator = tf.estimator.Estimator(
                lambda features, labels, mode: model_fn(features, labels, mode, tf), path
            )
            estimator.train(lambda: constants(tf), steps=2)
            graph = tf.Graph()
            default = make(estimator, receiver, graph=graph, config=tf.ConfigProto())
            chosen = make(estimator, receiver, "x")
            return {
                "default": about(default),
                "same_graph": default.graph is graph,
                "chosen": about(chosen),
                "values": [default({"x": [1.0], "y": [3.0]}), chosen({"x": [7.0]})],
                "refused": [
                    raised(make, estimator, receiver, "none"),
                    raised(tf.contrib.predictor.from_contrib_estimator, estimator, receiver),
                ],
            }

    return Run(call=call)


@program
def of_older_estimators(tf):
    make = tf.contrib.predictor.from_contrib_estimator
    learn = tf.contrib.learn

    def model(features, labels, mode):
        spec = model_fn(features, labels, mode, tf)
        outputs = {
            key: (learn.ProblemType.UNSPECIFIED, {key: value})
            for key, value in spec.predictions.items()
        }
        return learn.ModelFnOps(
            mode, spec.predictions, spec.loss, spec.train_op, output_alternatives=outputs
        )

    def inputs():
        features = fed(tf)
        return learn.InputFnOps(features, None, features)

    def call(session):
        with directory() as path:
            estimator = learn.Estimator(model, path)
            estimator.fit(input_fn=lambda: constants(tf), steps=2)
            both = {"x": [1.0], "y": [3.0]}
            chosen = make(estimator, inputs, output_alternative_key="sum")
            return {
                "chosen": about(chosen),
                "values": [chosen(both)],
                "refused": [
                    raised(make, estimator, inputs),
                    raised(make, estimator, inputs, output_alternative_key="none"),
                    raised(make, estimator, inputs, "none", "sum"),
                    raised(tf.contrib.predictor.from_estimator, estimator, inputs),
                ],
            }

    return Run(call=call)
