"""A task of an Estimator's cluster, for TensorFlow 1.15.5 and Stillflow.

    python mixed_estimator.py FOLDER        with TF_CONFIG

The evaluator, and a chief without a cluster, print the metrics of the last evaluation. What a chief
alone prints under TensorFlow is recorded in recorded/mixed_estimator.json.
"""

import json
import os
import sys

import numpy as np
import tensorflow as tf


def numbers():
    generator = np.random.RandomState(0)
    x = generator.randn(40, 4).astype("f")
    return x, (x @ np.float32([[1.0], [-2.0], [0.5], [0.0]])).astype("f")


def training_input():
    return tf.data.Dataset.from_tensor_slices(numbers()).repeat().batch(8)


def evaluation_input():
    return tf.data.Dataset.from_tensor_slices(numbers()).batch(20)


def model_fn(features, labels, mode):
    w = tf.get_variable("w", [4, 1], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [1], initializer=tf.zeros_initializer(), use_resource=True)
    predicted = tf.matmul(features, w) + b
    loss = tf.losses.mean_squared_error(labels, predicted)
    train = tf.train.AdamOptimizer(0.1).minimize(loss, tf.train.get_or_create_global_step())
    metrics = {"error": tf.metrics.mean_absolute_error(labels, predicted)}
    return tf.estimator.EstimatorSpec(mode, None, loss, train, metrics)


def main(folder):
    config = tf.estimator.RunConfig(folder, tf_random_seed=1, save_checkpoints_steps=10)
    estimator = tf.estimator.Estimator(model_fn, config=config)
    evaluation = tf.estimator.EvalSpec(evaluation_input, None, start_delay_secs=1, throttle_secs=1)
    training = tf.estimator.TrainSpec(training_input, max_steps=30)
    tf.estimator.train_and_evaluate(estimator, training, evaluation)
    if json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {}).get("type") in (
        None, "evaluator",
    ):  # fmt: skip
        found = estimator.evaluate(evaluation_input)
        print(json.dumps({name: float(value) for name, value in sorted(found.items())}))
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
