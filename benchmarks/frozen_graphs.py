"""Write the frozen graphs of the inference benchmark. Runs on Python 3.7 as well.

    python -m benchmarks.frozen_graphs tensorflow FOLDER mobilenet,lstm_classifier

The module named writes them: TensorFlow 1.15's, or `stillflow`. Weights come from one seed, and
moving averages are those of the images that a layer sees, so that values stay as large as those of
a trained network.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, NamedTuple

import numpy as np

from benchmarks.serving import bert_base, resnet50


def mobilenet(tf: Any) -> Any:
    """Return the input and output of MobileNet v1, before its softmax."""
    x = tf.placeholder(tf.float32, [None, 224, 224, 3], name="x")
    tf.keras.backend.set_learning_phase(0)
    model = tf.keras.applications.MobileNet(weights=None, input_tensor=x)
    return x, model.output.op.inputs[0]


def inception_v3(tf: Any) -> Any:
    """Return the input and output of Inception v3."""
    nets = importlib.import_module(tf.__name__ + ".contrib.slim.nets")
    x = tf.placeholder(tf.float32, [None, 299, 299, 3], name="x")
    with tf.contrib.slim.arg_scope(nets.inception.inception_v3_arg_scope()):
        return x, nets.inception.inception_v3(x, 1000, is_training=False)[0]


def lstm_classifier(tf: Any) -> Any:
    """Return the input and output of an LSTM that classifies sequences of 50 words."""
    x = tf.placeholder(tf.int32, [None, 50], name="x")
    words = tf.get_variable("words", [20000, 128])
    cell = tf.nn.rnn_cell.LSTMCell(256)
    outputs, _ = tf.nn.dynamic_rnn(cell, tf.nn.embedding_lookup(words, x), dtype=tf.float32)
    return x, tf.layers.dense(outputs[:, -1], 10)


class Network(NamedTuple):
    """A network: its builder, the shape of a row, its words, and the batches that are timed."""

    title: str
    build: Any
    shape: tuple[int, ...]
    words: int  # how many there are; 0 for images
    batches: tuple[int, ...]


NETWORKS = {
    "mobilenet": Network("MobileNet v1", mobilenet, (224, 224, 3), 0, (1, 32)),
    "resnet50": Network("ResNet-50", resnet50, (224, 224, 3), 0, (1, 32)),
    "inception_v3": Network("Inception v3", inception_v3, (299, 299, 3), 0, (1, 32)),
    "bert_base": Network("BERT-base, 128 tokens", bert_base, (128,), 30522, (1, 8)),
    "lstm_classifier": Network("LSTM(256), 50 words", lstm_classifier, (50,), 20000, (1, 32)),
}
OUTPUT = "y"


def rows(name: str, batch: int) -> Any:
    """Return the input of a network: the same numbers for everyone."""
    network, numbers = NETWORKS[name], np.random.RandomState(7)
    shape = (batch, *network.shape)
    if network.words:
        return numbers.randint(0, network.words, shape).astype(np.int32)
    return numbers.uniform(-1, 1, shape).astype(np.float32)


def write(tf: Any, name: str, folder: str) -> None:
    """Write the frozen graph of a network, with input `x` and output `y`."""
    tf.keras.backend.clear_session()
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.set_random_seed(1)
        tf.keras.backend.set_session(session)
        x, y = NETWORKS[name].build(tf)
        tf.identity(y, name=OUTPUT)
        session.run(tf.global_variables_initializer())
        _set_averages(tf, graph, session, {x: rows(name, 2)})
        frozen = tf.graph_util.convert_variables_to_constants(
            session, graph.as_graph_def(), [OUTPUT]
        )
    with open(os.path.join(folder, name + ".pb"), "wb") as file:
        file.write(frozen.SerializeToString())


def _set_averages(tf: Any, graph: Any, session: Any, feed: Any) -> None:
    """Set moving averages to those of what arrives, from the first layer to the last."""
    variables = {variable.op.name: variable for variable in tf.global_variables()}
    for op in [op for op in graph.get_operations() if op.type.startswith("FusedBatchNorm")]:
        values = session.run(op.inputs[0], feed)
        for tensor, average in zip(op.inputs[3:], (values.mean((0, 1, 2)), values.var((0, 1, 2)))):
            source = tensor.op
            while source.name not in variables:
                source = source.inputs[0].op
            variables[source.name].load(average, session)


if __name__ == "__main__":
    tensorflow = importlib.import_module(sys.argv[1])
    tensorflow.logging.set_verbosity(tensorflow.logging.ERROR)
    for each in sys.argv[3].split(","):
        write(tensorflow, each, sys.argv[2])
