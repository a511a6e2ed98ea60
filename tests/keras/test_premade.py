"""Models that are made already, and the processes that make batches."""

import multiprocessing
import pickle

import numpy as np
import pytest

import stillflow as tf
from stillflow.keras.utils import sequences
from stillflow.keras.utils.processes import pools

X = np.linspace(-1, 1, 48, dtype="float32").reshape(12, 4)
Y = X[:, :1]
experimental = tf.keras.experimental


def deep():
    return tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="zeros")])


def test_each_part_has_its_optimizer():
    model = experimental.WideDeepModel(experimental.LinearModel(kernel_initializer="zeros"), deep())
    model.compile([tf.keras.optimizers.SGD(0.1), tf.keras.optimizers.SGD(0.3)], "mse")
    one, target = np.array([1.0]), np.array([3.0])
    model.fit([one, one], target, verbose=0)
    kernels = [model.linear_model.dense_layers[0].kernel, model.dnn_model.layers[0].kernel]
    np.testing.assert_allclose(tf.keras.backend.batch_get_value(kernels), [[[0.3]], [[0.9]]])


def test_one_optimizer_trains_both():
    model = experimental.WideDeepModel(experimental.LinearModel(), deep())
    model.compile(tf.keras.optimizers.SGD(0.2), "mse")
    losses = model.fit(X, Y, epochs=10, verbose=0).history["loss"]
    assert losses[-1] < losses[0] / 2


def test_a_configuration_makes_the_model_again():
    inner = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
    model = experimental.WideDeepModel(experimental.LinearModel(units=1), inner, activation="relu")
    again = experimental.WideDeepModel.from_config(model.get_config())
    assert again.get_config() == model.get_config()


def test_pools_are_ended():
    class Batches(tf.keras.utils.Sequence):
        def __len__(self):
            return 1000

        def __getitem__(self, index):
            return X, Y

    queue = tf.keras.utils.OrderedEnqueuer(Batches(), use_multiprocessing=True)
    queue.start(workers=1, max_queue_size=2)
    next(queue.get())
    workers = [worker for pool in pools for worker in pool._pool]
    queue.stop(timeout=5)
    assert workers
    problems = experimental.terminate_keras_multiprocessing_pools(use_sigkill=True)
    assert not any("worker still alive" in problem for problem in problems)
    assert not any(worker.is_alive() for worker in workers)


def test_workers_that_cannot_start_are_an_error_where_batches_are_taken(monkeypatch):
    class Batches(tf.keras.utils.Sequence):
        def __len__(self):
            return 1

        def __getitem__(self, index):
            return X, Y

    # A local class cannot be sent to a spawned process.
    monkeypatch.setattr(sequences, "_processes", lambda: multiprocessing.get_context("spawn"))
    batches = tf.keras.utils.OrderedEnqueuer(Batches(), use_multiprocessing=True)
    batches.start(workers=1, max_queue_size=2)
    with pytest.raises((AttributeError, pickle.PicklingError), match="Batches"):
        next(batches.get())
