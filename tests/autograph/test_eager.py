"""Converted functions where operations run when they are called."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.graph.eager_mode import eager_mode


@pytest.fixture(autouse=True)
def eager():
    with eager_mode():
        yield


def sum_even(items):
    total = 0
    for item in items:
        if item % 2 > 0:
            continue
        if item > 15:
            break
        total += item
    return total


def test_values_are_looked_at_at_once():
    assert int(tf.autograph.to_graph(sum_even)(tf.constant([10, 12, 15, 20, 2]))) == 22


def test_functions_are_graphs():
    function = tf.function(sum_even)
    assert int(function(tf.constant([10, 12, 15, 20, 2]))) == 22
    assert int(function(tf.data.Dataset.from_tensor_slices([1, 2, 30, 4]))) == 2


def test_a_training_loop_in_a_function():
    w = tf.Variable(2.0)

    @tf.function
    def train(dataset):
        loss = 0.0
        for x in dataset:
            with tf.GradientTape() as tape:
                loss = (w * x) ** 2
            gradient = tape.gradient(loss, w)
            if gradient > 1.0:
                w.assign_sub(0.1 * gradient)
        return loss

    train(tf.data.Dataset.from_tensor_slices([1.0, 1.0, 0.1]))
    assert round(float(w.numpy()), 5) == 1.28


def test_functions_of_datasets():
    dataset = tf.data.Dataset.range(4).map(lambda x: x * 10 if x > 1 else x)
    assert [int(x) for x in dataset] == [0, 1, 20, 30]
