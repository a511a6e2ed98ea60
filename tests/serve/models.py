"""Models that the tests of the server write: half_plus_two in versions, and others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import stillflow as tf
from stillflow.saved_model.writing import SavedModelBuilder


def half_plus(folder: Path, offset: float = 2.0, version: int | None = 1) -> Path:
    """Write the model of TensorFlow Serving's tutorial: x / 2 + offset, in five signatures."""
    export = folder if version is None else folder / str(version)
    with tf.Graph().as_default(), tf.Session() as session:
        a, b = tf.Variable(0.5, name="a"), tf.Variable(offset, name="b")
        serialized = tf.placeholder(tf.string, [None], name="tf_example")
        parsed = tf.parse_example(
            serialized, {"x": tf.FixedLenFeature([1], tf.float32), "x2": _default(0.0)}
        )
        x = tf.identity(parsed["x"], name="x")
        y = tf.add(tf.multiply(a, x), b, name="y")
        classes = tf.constant([b"low", b"high"])
        labels = tf.tile(tf.expand_dims(classes, 0), [tf.shape(x)[0], 1])
        scores = tf.concat([y, -y], 1)
        session.run(tf.global_variables_initializer())
        signatures = {
            "serving_default": _signature({"x": x}, {"y": y}, "predict"),
            "tensorflow/serving/regress": _signature(
                {"inputs": serialized}, {"outputs": y}, "regress"
            ),
            "regress_x_to_y": _signature({"inputs": serialized}, {"outputs": y}, "regress"),
            "classify_x_to_y": _signature({"inputs": serialized}, {"scores": y}, "classify"),
            "classify": _signature(
                {"inputs": serialized}, {"classes": labels, "scores": scores}, "classify"
            ),
        }
        _save(export, session, signatures)
    return export


def _default(value: float) -> Any:
    return tf.FixedLenFeature([1], tf.float32, default_value=[value])


def _signature(inputs: Any, outputs: Any, method: str) -> Any:
    build = tf.saved_model.build_tensor_info
    return tf.saved_model.build_signature_def(
        {key: build(tensor) for key, tensor in inputs.items()},
        {key: build(tensor) for key, tensor in outputs.items()},
        f"tensorflow/serving/{method}",
    )


def _save(
    folder: Path, session: Any, signatures: Any, main_op: Any = None, assets: Any = None
) -> None:
    builder = SavedModelBuilder(str(folder))
    builder.add_meta_graph_and_variables(session, ["serve"], signatures, assets, main_op=main_op)
    builder.save()


def signature_model(folder: Path, build: Any, assets: bool = False) -> Path:
    """Write version 1 of a model whose function returns its inputs and outputs."""
    with tf.Graph().as_default(), tf.Session() as session:
        inputs, outputs = build()
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        signatures = {"serving_default": _signature(inputs, outputs, "predict")}
        files = tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS) if assets else None
        _save(folder / "1", session, signatures, tf.tables_initializer(), files)
    return folder / "1"


def mixed() -> Any:
    """Return inputs and outputs of several types and shapes."""
    tag = tf.placeholder(tf.string, [None], name="tag")
    signal = tf.placeholder(tf.int32, [None, None], name="signal")
    sensor = tf.placeholder(tf.float32, [None, 2], name="sensor")
    flag = tf.placeholder(tf.bool, [None], name="flag")
    return (
        {"tag": tag, "signal": signal, "sensor": sensor, "flag": flag},
        {
            "tag": tf.identity(tag),
            "tag_bytes": tf.identity(tag),
            "sum": tf.reduce_sum(signal, 1),
            "half": sensor / 2,
            "not": tf.logical_not(flag),
            "large": tf.cast(signal, tf.int64) * 3000000000,
        },
    )
