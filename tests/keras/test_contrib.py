"""`tf.contrib.keras`, an older name of most of `tf.keras`."""

import importlib

import pytest

import stillflow as tf


@pytest.mark.parametrize("space", [tf.contrib.keras, tf.contrib.keras.api.keras])
def test_modules_are_those_of_keras(space):
    for name in ("layers", "backend", "utils", "losses"):
        assert getattr(space, name) is getattr(tf.keras, name)
    assert (
        space.wrappers.scikit_learn.KerasRegressor is tf.keras.wrappers.scikit_learn.KerasRegressor
    )


def test_modules_can_be_imported():
    module = importlib.import_module("stillflow.contrib.keras.api.keras.datasets.cifar10")
    assert module.load_data is tf.keras.datasets.cifar10.load_data


def test_optimizers_are_not_those_of_keras():
    optimizers = tf.contrib.keras.optimizers
    assert optimizers.Adam is not tf.keras.optimizers.Adam
    assert optimizers.get is tf.keras.optimizers.get
    assert tf.contrib.keras.api.keras.optimizers.SGD is optimizers.SGD
