"""Cells with few gates: update-gate, intersection, simple and independently recurrent units."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.layers.input_spec import InputSpec
from stillflow.nn.rnn_cell.base import BIAS, KERNEL, LayerRNNCell, RNNCell
from stillflow.nn.rnn_cell.lstm import LSTMStateTuple, basic_lstm_step
from stillflow.nn.rnn_cell.sizes import known_depth
from stillflow_contrib.rnn.linear import Linears
from stillflow_contrib.rnn.lstm import known_input_size

tanh, relu = tf.tanh, tf.nn.relu


class _Units:
    """A state and an output of `num_units`."""

    _num_units: int

    @property
    def state_size(self) -> int:
        return self._num_units

    @property
    def output_size(self) -> int:
        return self._num_units


@export("contrib.rnn.UGRNNCell")
class UGRNNCell(_Units, RNNCell):
    """The update-gate cell (Collins et al., 2017).

    Args:
      num_units: the size of the state.
      initializer: of the kernel.
      forget_bias: added to the gate.
      activation: of the candidate.
      reuse: whether the variables exist already.
    """

    def __init__(
        self,
        num_units: int,
        initializer: Any = None,
        forget_bias: float = 1.0,
        activation: Any = tanh,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._initializer = num_units, initializer
        self._forget_bias, self._activation = forget_bias, activation
        self._linear = Linears()

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Tensor]:
        known_input_size(inputs)
        with tf.variable_scope(tf.get_variable_scope(), initializer=self._initializer):
            both = self._linear("gates", tf.concat([inputs, state], 1), 2 * self._num_units)
            gate, candidate = tf.split(axis=1, num_or_size_splits=2, value=both)
            candidate = self._activation(candidate)
            gate = tf.sigmoid(gate + self._forget_bias)
            new_state = gate * state + (1.0 - gate) * candidate
        return new_state, new_state


@export("contrib.rnn.IntersectionRNNCell")
class IntersectionRNNCell(_Units, RNNCell):
    """A cell that is recurrent over time and residual over depth (Collins et al., 2017).

    Args:
      num_units: the size of state and output.
      num_in_proj: project the inputs, where they have another size.
      initializer: of the kernels.
      forget_bias: added to the gates.
      y_activation: of the output's candidate.
      reuse: whether the variables exist already.
    """

    def __init__(
        self,
        num_units: int,
        num_in_proj: int | None = None,
        initializer: Any = None,
        forget_bias: float = 1.0,
        y_activation: Any = relu,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._num_input_proj = num_units, num_in_proj
        self._initializer, self._forget_bias = initializer, forget_bias
        self._y_activation = y_activation
        self._linear = Linears()

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Tensor]:
        input_size, n = known_input_size(inputs), self._num_units
        with tf.variable_scope(tf.get_variable_scope(), initializer=self._initializer):
            if input_size != n:
                if not self._num_input_proj:
                    raise ValueError(
                        "Must have input size == output size for Intersection RNN. To fix, "
                        "num_in_proj should be set to num_units at cell init."
                    )
                with tf.variable_scope("in_projection"):
                    inputs = self._linear("inputs", inputs, n)
            both = self._linear("gates", tf.concat([inputs, state], 1), 4 * n)
            gate_h, h, gate_y, y = (both[:, k * n : (k + 1) * n] if k else both[:, :n]
                                    for k in range(4))  # fmt: skip
            h, y = tf.tanh(h), self._y_activation(y)
            gate_h = tf.sigmoid(gate_h + self._forget_bias)
            gate_y = tf.sigmoid(gate_y + self._forget_bias)
            new_state = gate_h * state + (1.0 - gate_h) * h
            new_y = gate_y * inputs + (1.0 - gate_y) * y
        return new_y, new_state


def _mixed(gate: Any, through: Any, beside: Any) -> Tensor:
    """Return the first of two values as far as a gate is open, and else the second."""
    return gate * through + (1.0 - gate) * beside


@export("contrib.rnn.SRUCell")
class SRUCell(_Units, LayerRNNCell):
    """The simple recurrent unit (Lei et al., 2018).

    Args:
      num_units: the size of the state; must be that of the inputs for their highway to make sense.
      activation: of the state; tanh by default.
      reuse: whether the variables exist already.
      name: of the variable scope.
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, name=name, **kwargs)
        self._num_units, self._activation = num_units, activation or tf.tanh
        self.input_spec = InputSpec(ndim=2)

    def build(self, inputs_shape: Any) -> None:
        units = self._num_units
        self._kernel = self.add_weight(KERNEL, shape=[known_depth(inputs_shape), 4 * units])
        self._bias = self.add_weight(BIAS, shape=[2 * units], initializer=tf.zeros_initializer)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Tensor]:
        new, *gates, highway = tf.split(tf.matmul(inputs, self._kernel), 4, axis=1)
        opened = tf.sigmoid(tf.nn.bias_add(tf.concat(gates, 1), self._bias))
        forget, reset = tf.split(opened, 2, axis=1)
        state = _mixed(forget, state, new)
        return _mixed(reset, self._activation(state), highway), state


class _Independent(LayerRNNCell):
    """A cell each of whose units sees its own past alone (Li et al., 2018)."""

    def __init__(self, num_units: int, activation: Any, reuse: Any, name: Any, dtype: Any) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype)
        self.input_spec = InputSpec(ndim=2)
        self._num_units, self._activation = num_units, activation or tf.tanh
        self._kernel_initializer: Any = None
        self._bias_initializer: Any = None

    def _variables(
        self, names: tuple[str, str, str], depth: int, gates: int, bias: Any
    ) -> tuple[Any, Any, Any]:
        """Return the kernel of the inputs, that of the past, and the bias."""
        columns = gates * self._num_units
        uniform = tf.random_uniform_initializer(minval=-1, maxval=1, dtype=self.dtype)
        given = self._bias_initializer
        specs = (
            ([depth, columns], self._kernel_initializer),
            ([1, columns], uniform),
            ([columns], bias if given is None else given),
        )
        made = [
            self.add_weight(name, shape=shape, initializer=initializer)
            for name, (shape, initializer) in zip(names, specs, strict=True)
        ]
        return made[0], made[1], made[2]


@export("contrib.rnn.IndRNNCell")
class IndRNNCell(_Units, _Independent):
    """`activation(W input + u * state + b)`.

    Args:
      num_units: the size of the state.
      activation: tanh by default.
      reuse: whether the variables exist already.
      name: of the variable scope.
      dtype: of the variables.
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        name: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype)

    def build(self, inputs_shape: Any) -> None:
        names = (f"{KERNEL}_w", f"{KERNEL}_u", BIAS)
        zeros = tf.zeros_initializer(dtype=self.dtype)
        self._w, self._u, self._b = self._variables(names, known_depth(inputs_shape), 1, zeros)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        product = tf.matmul(inputs, self._w) + state * self._u
        output = self._activation(tf.nn.bias_add(product, self._b))
        return output, output


@export("contrib.rnn.IndyGRUCell")
class IndyGRUCell(_Units, _Independent):
    """A gated recurrent unit each of whose units sees its own past alone.

    Args:
      num_units, activation, reuse, kernel_initializer, bias_initializer, name, dtype: as of
        `tf.nn.rnn_cell.GRUCell`.
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype)
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    def build(self, inputs_shape: Any) -> None:
        depth = known_depth(inputs_shape)
        names = (f"gates/{KERNEL}_w", f"gates/{KERNEL}_u", f"gates/{BIAS}")
        ones = tf.constant_initializer(1.0, dtype=self.dtype)
        self._gates = self._variables(names, depth, 2, ones)
        names = (f"candidate/{KERNEL}", f"candidate/{KERNEL}_u", f"candidate/{BIAS}")
        zeros = tf.zeros_initializer(dtype=self.dtype)
        self._candidate = self._variables(names, depth, 1, zeros)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        w, u, b = self._gates
        product = tf.matmul(inputs, w) + tf.tile(state, [1, 2]) * u
        gates = tf.sigmoid(tf.nn.bias_add(product, b))
        reset, update = tf.split(value=gates, num_or_size_splits=2, axis=1)
        past = reset * state
        w, u, b = self._candidate
        candidate = tf.nn.bias_add(tf.matmul(inputs, w) + past * u, b)
        candidate = self._activation(candidate)
        new_state = update * state + (1 - update) * candidate
        return new_state, new_state


@export("contrib.rnn.IndyLSTMCell")
class IndyLSTMCell(_Independent):
    """An LSTM cell each of whose units sees its own past alone.

    Args:
      num_units, forget_bias, activation, reuse, kernel_initializer, bias_initializer, name, dtype:
        as of `tf.nn.rnn_cell.LSTMCell`.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        activation: Any = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype)
        self._forget_bias = forget_bias
        self._kernel_initializer = kernel_initializer
        self._bias_initializer = bias_initializer

    @property
    def state_size(self) -> LSTMStateTuple:
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> int:
        return self._num_units

    def build(self, inputs_shape: Any) -> None:
        names = (f"{KERNEL}_w", f"{KERNEL}_u", BIAS)
        zeros = tf.zeros_initializer(dtype=self.dtype)
        self._w, self._u, self._b = self._variables(names, known_depth(inputs_shape), 4, zeros)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, LSTMStateTuple]:
        cell, output = state
        axis = tf.constant(1, dtype=tf.int32)
        product = tf.matmul(inputs, self._w) + tf.tile(output, [1, 4]) * self._u
        gates = tf.nn.bias_add(product, self._b)
        new = basic_lstm_step(gates, cell, axis, self._forget_bias, self._activation)
        return new[1], LSTMStateTuple(*new)
