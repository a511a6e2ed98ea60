"""TPUEstimator without a TPU: the graph that a model function finds, and what it learns."""

from __future__ import annotations

import shutil
import tempfile

import numpy as np
from tests.golden.programs.estimator.canned import Losses
from tests.golden.registry import Run, program

X = np.sin(np.arange(48.0)).reshape(16, 3).astype("float32")
Y = (2 * X[:, :1] - X[:, 1:2] + 0.5).astype("float32")


@program
def tpu_estimator(tf):
    tpu = tf.contrib.tpu
    graphs = {}

    def input_fn(params):
        data = tf.data.Dataset.from_tensor_slices((X, Y))
        return data.repeat(2).batch(params["batch_size"], drop_remainder=True)

    def model_fn(features, labels, mode, params):
        hidden = tf.layers.dense(features, 4, tf.nn.tanh)
        found = tf.layers.dense(tf.nn.dropout(hidden, rate=0.25), 1)
        if mode == "infer":
            return tpu.TPUEstimatorSpec(mode, predictions={"y": found})
        loss = tf.losses.mean_squared_error(labels, found)
        optimizer = tf.train.AdamOptimizer(0.01)
        train = optimizer.minimize(loss, tf.train.get_global_step())
        nodes = tf.get_default_graph().get_operations()
        # What comes before are datasets; the names of their functions count all that were made.
        graphs[mode] = [n.name + " " + n.type for n in nodes if "Dataset" not in n.type]
        return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=train)

    folder = tempfile.mkdtemp()
    try:
        config = tpu.RunConfig(model_dir=folder, tf_random_seed=7)
        estimator = tpu.TPUEstimator(
            model_fn, config=config, use_tpu=False,
            train_batch_size=8, eval_batch_size=4, predict_batch_size=4,
        )  # fmt: skip
        losses = Losses(tf)
        estimator.train(input_fn, hooks=[losses])
        facts = {
            "graphs": graphs,
            "losses": np.array(losses.values, "float32"),
            "metrics": estimator.evaluate(input_fn),
            "predictions": [each["y"] for each in estimator.predict(input_fn)],
        }
    finally:
        shutil.rmtree(folder)
    return Run({}, facts=facts)
