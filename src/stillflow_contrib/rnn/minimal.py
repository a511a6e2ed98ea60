"""Cells with one or two gates: the minimal one and the chaos-free one."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.layers.identifiers import activation_of, initializer_of
from stillflow.layers.input_spec import InputSpec
from stillflow.nn.rnn_cell.base import BIAS, KERNEL, LayerRNNCell
from stillflow.nn.rnn_cell.sizes import known_depth
from stillflow_contrib.rnn.lstm import known_input_size


class _Cell(LayerRNNCell):
    """A cell with Keras' names of arguments.

    Args:
      units: the size of the state.
      activation, kernel_initializer, bias_initializer: functions or their names.
      name: of the variable scope.
      dtype: of the variables.
    """

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "ones",
        name: Any = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.input_spec = InputSpec(ndim=2)
        self.units, self.activation = units, activation_of(activation)
        self.kernel_initializer = initializer_of(kernel_initializer)
        self.bias_initializer = initializer_of(bias_initializer)

    @property
    def state_size(self) -> int:
        return self.units

    @property
    def output_size(self) -> int:
        return self.units

    def _add(self, name: str, shape: list[int], initializer: Any) -> Any:
        return self.add_weight(name=name, shape=shape, initializer=initializer)


class MinimalRNNCell(_Cell):
    """One gate between state and transformed inputs (Chen, 2017)."""

    def build(self, inputs_shape: Any) -> None:
        rows = known_depth(inputs_shape) + 2 * self.units
        self.kernel = self._add(KERNEL, [rows, self.units], self.kernel_initializer)
        self.bias = self._add(BIAS, [self.units], self.bias_initializer)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        sizes = [known_input_size(inputs), 2 * self.units]
        forward, gate = tf.split(value=self.kernel, num_or_size_splits=sizes, axis=0)
        forward = self.activation(tf.matmul(inputs, forward))
        gates = tf.matmul(tf.concat([forward, state], 1), gate)
        update = tf.sigmoid(tf.nn.bias_add(gates, self.bias))
        kept = update * state
        new_state = kept + (1 - update) * forward
        return new_state, new_state


class CFNCell(_Cell):
    """A cell without chaotic dynamics (Laurent and von Brecht, 2017)."""

    def build(self, inputs_shape: Any) -> None:
        depth, units = known_depth(inputs_shape), self.units
        self.kernel = self._add(KERNEL, [depth, 3 * units], self.kernel_initializer)
        self.recurrent_kernel = self._add(
            f"recurrent_{KERNEL}", [units, 2 * units], self.kernel_initializer
        )
        self.bias = self._add(BIAS, [2 * units], self.bias_initializer)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        known_input_size(inputs)
        sizes = [2 * self.units, self.units]
        v, w = tf.split(value=self.kernel, num_or_size_splits=sizes, axis=1)
        gates = tf.matmul(state, self.recurrent_kernel) + tf.matmul(inputs, v)
        gates = tf.sigmoid(tf.nn.bias_add(gates, self.bias))
        theta, eta = tf.split(value=gates, num_or_size_splits=2, axis=1)
        projected = tf.matmul(inputs, w)
        kept = theta * self.activation(state)
        new_state = kept + (1 - eta) * self.activation(projected)
        return new_state, new_state
