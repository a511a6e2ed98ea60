"""Layers in `tf.contrib.checkpoint.List` belong to the model that has it."""

from __future__ import annotations

import numpy as np

import stillflow as tf
from stillflow.eager.immediate import ImmediateGraph


class _Stack(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.blocks = tf.contrib.checkpoint.List()
        for units in (4, 3):
            penalty = tf.keras.regularizers.l2(0.5)
            self.blocks.append(tf.keras.layers.Dense(units, kernel_regularizer=penalty))
        self.scale = tf.contrib.checkpoint.List([tf.Variable(2.0)])

    def call(self, x):
        for block in self.blocks:
            x = block(x)
        return x * self.scale[0]


def test_models_call_and_train_layers_in_lists():
    with ImmediateGraph().as_default():
        model = _Stack()
        x = tf.ones([2, 5])
        for _ in range(2):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(model(x))
        assert model.layers == list(model.blocks)
        assert len(model.variables) == 6 and not model.dynamic  # the scale twice, as in TF
        kernels = [layer.kernel for layer in model.layers]
        expected = [0.5 * np.square(kernel.numpy()).sum() for kernel in kernels]
        np.testing.assert_allclose([loss.numpy() for loss in model.losses], expected, rtol=1e-6)
        grads = tape.gradient(loss, model.trainable_variables)
        assert len(grads) == 6 and all(grad is not None for grad in grads)
