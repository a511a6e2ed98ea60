"""Recording of TensorFlow 1.15.5's conversions and runs of the models of `models.py`.

    PYTHON_OF_TF_1_15 -m tests.lite.record [name ...]
    PYTHON_OF_TF_1_15 -m tests.lite.record --answer DIR

The first writes recorded/NAME.tflite, and recorded/NAME.npz with the interpreter's inputs and
outputs. The second runs the models in a folder and writes their outputs next to them.
"""

import functools
import os
import sys

import numpy as np

from . import models

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded")

# Models with the ranges of their values in them, which are converted to integers.
QUANTIZED = {"quantization_aware", "quantized_pieces"}


def _float_weights_as_integers(tf, converter, name):
    converter.optimizations = [tf.lite.Optimize.DEFAULT]


def _weights_as_halves(tf, converter, name):
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.target_spec.supported_types = [tf.lite.constants.FLOAT16]


def _calibrated(tf, converter, name):
    shapes = {
        "cnn": [(1, 12, 12, 3)],
        "mobile_blocks": [(1, 16, 16, 3)],
        "activations": [(1, 4, 4, 3)],
        "shapes": [(2, 4, 6)],
        "arithmetic": [(2, 3, 4)] * 2,
    }
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: (
        models.feeds(str(i), shapes[name], ["float32"] * 2) for i in range(4)
    )


def _integers_alone(tf, converter, name):
    _calibrated(tf, converter, name)
    converter.target_spec.supported_ops = {tf.lite.OpsSet.TFLITE_BUILTINS_INT8}
    converter.inference_input_type = tf.int8
    converter.inference_output_type = tf.uint8


# What is set on the converter, by what the recording's name ends with, and of which models.
VARIANTS = {
    "_weights_quantized": (_float_weights_as_integers, ["wide", "indices", "unfused"]),
    "_halves": (_weights_as_halves, ["mlp"]),
    "_calibrated": (_calibrated, ["cnn", "mobile_blocks"]),
    "_integers": (_integers_alone, ["cnn"]),
}


# Options of the operator that detectors end with, by the names of recordings.
DETECTORS = {
    "detector": {"max_detections": 6},
    "detector_class_by_class": {
        "max_detections": 12,
        "use_regular_nms": True,
        "detections_per_class": 3,
    },
}


def detector_converter(tf, name):
    """Return a converter of a graph with an operation that TensorFlow itself does not know."""
    with tf.Graph().as_default() as graph:
        models.detector(tf)
    graph_def = graph.as_graph_def()
    operator = "TFLite_Detection_PostProcess"
    node = graph_def.node.add(name=operator, op=operator, input=["boxes", "scores", "anchors"])
    node.attr["_output_types"].list.type.extend([1] * 4)
    options = {
        "max_classes_per_detection": 1,
        "num_classes": 3,
        "nms_score_threshold": 0.4,
        "nms_iou_threshold": 0.5,
        "y_scale": 10.0,
        "x_scale": 10.0,
        "h_scale": 5.0,
        "w_scale": 5.0,
    }
    options.update(DETECTORS[name])
    for option, value in options.items():
        kind = {bool: "b", int: "i", float: "f"}[type(value)]
        setattr(node.attr[option], kind, value)
    outputs = [operator] + [f"{operator}:{i}" for i in (1, 2, 3)]
    converter = tf.lite.TFLiteConverter(graph_def, None, None, [("input", [1, 4, 6, 2])], outputs)
    converter.allow_custom_ops = True
    return converter


def custom_converter(tf):
    """Return a converter of a graph whose operations become custom operators."""
    with tf.Graph().as_default(), tf.Session() as session:
        inputs, outputs = models.custom(tf)
        converter = tf.lite.TFLiteConverter.from_session(session, inputs, outputs)
    converter.allow_custom_ops = True
    return converter


def names():
    """Return the names of all recordings, each with its model and variant."""
    found = {name: (name, "") for name in models.MODELS}
    for variant, (_, of) in VARIANTS.items():
        found.update({name + variant: (name, variant) for name in of})
    return found


def converter_of(tf, name, variant):
    """Return a converter of a model, in a graph of its own."""
    with tf.Graph().as_default(), tf.Session() as session:
        inputs, outputs = models.MODELS[name](tf)
        session.run(tf.global_variables_initializer())
        converter = tf.lite.TFLiteConverter.from_session(session, inputs, outputs)
    if name in QUANTIZED:
        converter.inference_type = tf.uint8
        converter.quantized_input_stats = {x.op.name: (127.5, 63.75) for x in inputs}
    if variant:
        VARIANTS[variant][0](tf, converter, name)
    return converter


def run(tf, content, name):
    """Feed a model; return what it was fed and what came out."""
    interpreter = tf.lite.Interpreter(model_content=content)
    interpreter.allocate_tensors()
    details = interpreter.get_input_details()
    dtypes = [detail["dtype"] for detail in details]
    fed = models.feeds(name, [tuple(detail["shape"]) for detail in details], dtypes)
    if name in QUANTIZED:
        fed = [np.random.RandomState(3).randint(0, 256, f.shape).astype(np.uint8) for f in fed]
    for detail, value in zip(details, fed):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    return fed, [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


def answer(folder):
    """Run the models in a folder."""
    import tensorflow as tf

    every = {name: (name, "") for name in DETECTORS}
    every.update(names())
    for recording, (name, _) in every.items():
        path = os.path.join(folder, recording)
        if os.path.exists(path + ".tflite"):
            with open(path + ".tflite", "rb") as file:
                _, answers = run(tf, file.read(), name)
            np.savez(path + ".npz", **{f"out{i}": value for i, value in enumerate(answers)})


def main(wanted):
    """Record the named models, or all."""
    import tensorflow as tf

    os.makedirs(FOLDER, exist_ok=True)
    if not wanted or "custom" in wanted:  # nobody can run this one
        with open(os.path.join(FOLDER, "custom.tflite"), "wb") as file:
            file.write(custom_converter(tf).convert())
    made = {name: functools.partial(detector_converter, tf, name) for name in DETECTORS}
    for recording, (name, variant) in names().items():
        made[recording] = functools.partial(converter_of, tf, name, variant)
    for recording, converter in made.items():
        if wanted and recording not in wanted:
            continue
        name = names().get(recording, [recording])[0]
        content = converter().convert()
        fed, answers = run(tf, content, name)
        with open(os.path.join(FOLDER, recording + ".tflite"), "wb") as file:
            file.write(content)
        np.savez_compressed(
            os.path.join(FOLDER, recording + ".npz"),
            **{f"in{i}": value for i, value in enumerate(fed)},
            **{f"out{i}": value for i, value in enumerate(answers)},
        )
        print(recording, len(content), [(a.dtype, a.shape) for a in answers])


if __name__ == "__main__":
    answer(sys.argv[2]) if sys.argv[1:2] == ["--answer"] else main(sys.argv[1:])
