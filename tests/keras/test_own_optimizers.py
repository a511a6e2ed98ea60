"""Programs' own optimizers, by the methods that TensorFlow's base class calls."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf


class Signed(tf.keras.optimizers.Optimizer):
    """Sums signs in a slot; rows of embeddings are changed by half of their gradients."""

    def __init__(self, learning_rate=0.01, power=1.0, name="Signed", **kwargs):
        super().__init__(name, **kwargs)
        self._set_hyper("learning_rate", learning_rate)
        self._set_hyper("decay", self._initial_decay)
        self._set_hyper("power", power)

    def _create_slots(self, var_list):
        for variable in var_list:
            self.add_slot(variable, "sum")

    def _prepare_local(self, var_device, var_dtype, apply_state):
        super()._prepare_local(var_device, var_dtype, apply_state)
        state = apply_state[var_device, var_dtype]
        state["step"] = state["lr_t"] * self._get_hyper("power", var_dtype)

    def _resource_apply_dense(self, grad, var, apply_state=None):
        key = var.device, var.dtype.base_dtype
        state = (apply_state or {}).get(key) or self._fallback_apply_state(*key)
        total = self.get_slot(var, "sum").assign_add(tf.sign(grad))
        return var.assign_sub(state["step"] * total)

    def _resource_apply_sparse(self, grad, var, indices):
        return self._resource_scatter_add(var, indices, -0.005 * grad)

    def get_config(self):
        config = super().get_config()
        config.update({n: self._serialize_hyperparameter(n) for n in ("learning_rate", "power")})
        return config


class Decayed(tf.keras.optimizers.Adam):
    """Adam whose gradients make weights smaller."""

    def _resource_apply_dense(self, grad, var, apply_state=None):
        grad += 0.01 * var
        return super()._resource_apply_dense(grad, var, apply_state=apply_state)

    def _resource_apply_sparse(self, grad, var, indices, apply_state=None):
        return super()._resource_apply_sparse(2.0 * grad, var, indices, apply_state=apply_state)


class DecayedGradientDescent(tf.keras.optimizers.SGD):
    """Gradient descent of which only dense updates are changed, without hyperparameters."""

    def _resource_apply_dense(self, grad, var):
        return super()._resource_apply_dense(grad + 0.1 * var, var)


# What TensorFlow 1.15.5 prints for this program.
LOSSES = {
    Signed: [110.5, 80.62948608398438, 57.553321838378906, 40.24897003173828],
    Decayed: [110.5, 105.33707427978516, 100.35100555419922, 95.54098510742188],
    DecayedGradientDescent: [110.5, 30.699237823486328, 14.648090362548828, 8.258549690246582],
}


@pytest.mark.parametrize("kind", LOSSES)
def test_optimizers_of_programs_train_as_in_tensorflow(kind):
    with tf.Graph().as_default():
        layers = tf.keras.layers
        model = tf.keras.Sequential([
            layers.Embedding(5, 3, input_length=4, embeddings_initializer="ones"),
            layers.Flatten(), layers.Dense(1, kernel_initializer="ones"),
        ])  # fmt: skip
        optimizer = kind(0.01)
        model.compile(optimizer, "mse")
        rows, targets = np.array([[0, 1, 1, 3], [2, 2, 0, 1]]), np.array([[1.0], [2.0]])
        losses = model.fit(rows, targets, epochs=4, verbose=0).history["loss"]
        again = kind.from_config(optimizer.get_config())
        assert again.get_config() == optimizer.get_config()
    np.testing.assert_allclose(losses, LOSSES[kind], rtol=1e-6)
