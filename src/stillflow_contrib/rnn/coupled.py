"""LSTM cells with fewer gates or over frequencies, whose variables may lie in parts."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.nn.rnn_cell.base import RNNCell, warn_of_joined_state
from stillflow.nn.rnn_cell.lstm import LSTMStateTuple
from stillflow_contrib.rnn.lstm import known_input_size
from stillflow_contrib.rnn.norm import layer_norm

tanh = tf.tanh


def sharded_variable(name: str, shape: list[int], dtype: Any, num_shards: int) -> Any:
    """Return a variable that lies in parts along its rows, joined once in every variable scope."""
    if num_shards > shape[0]:
        raise ValueError(f"Too many shards: shape={shape}, num_shards={num_shards}")
    rows, more = divmod(shape[0], num_shards)
    parts = [
        tf.get_variable(f"{name}_{i}", [rows + (i < more), *shape[1:]], dtype=dtype)
        for i in range(num_shards)
    ]
    if num_shards == 1:
        return parts[0]
    joined_name = f"{name}/concat"
    full_name = f"{tf.get_variable_scope().name}/{joined_name}:0"
    for value in tf.get_collection(GraphKeys.CONCATENATED_VARIABLES):
        if value.name == full_name:
            return value
    joined = tf.concat(parts, 0, name=joined_name)
    tf.add_to_collection(GraphKeys.CONCATENATED_VARIABLES, joined)
    return joined


@export("contrib.rnn.CoupledInputForgetGateLSTMCell")
class CoupledInputForgetGateLSTMCell(RNNCell):
    """LSTM cell that takes in as much as it forgets (Greff et al., 2015).

    Args:
      num_units, use_peepholes, num_proj, proj_clip, num_unit_shards, num_proj_shards, forget_bias,
        state_is_tuple, activation, reuse: as of `tf.nn.rnn_cell.LSTMCell`.
      initializer: not used.
      layer_norm, norm_gain, norm_shift: as of `LayerNormBasicLSTMCell`.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int = 1,
        num_proj_shards: int = 1,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = tanh,
        reuse: Any = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
    ) -> None:
        super().__init__(_reuse=reuse)
        if not state_is_tuple:
            warn_of_joined_state(self)
        self._num_units, self._use_peepholes = num_units, use_peepholes
        self._num_proj, self._proj_clip = num_proj, proj_clip
        self._shards = (num_unit_shards, num_proj_shards)
        self._forget_bias, self._activation = forget_bias, activation
        self._state_is_tuple = state_is_tuple
        self._layer_norm, self._norm = layer_norm, (norm_gain, norm_shift)

    @property
    def state_size(self) -> Any:
        sizes = LSTMStateTuple(self._num_units, self.output_size)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> int:
        return self._num_proj or self._num_units

    def _normed(self, value: Any, scope: str) -> Any:
        return layer_norm(value, *self._norm, scope, None) if self._layer_norm else value

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        units, dtype = self._num_units, inputs.dtype
        if self._state_is_tuple:
            c_prev, m_prev = state
        else:
            c_prev = tf.slice(state, [0, 0], [-1, units])
            m_prev = tf.slice(state, [0, units], [-1, self.output_size])
        rows = known_input_size(inputs) + self.output_size
        kernel = sharded_variable("W", [rows, 3 * units], dtype, self._shards[0])
        zeros = tf.zeros_initializer()
        bias = tf.get_variable("B", shape=[3 * units], initializer=zeros, dtype=dtype)
        gates = tf.matmul(tf.concat([inputs, m_prev], 1), kernel)
        if not self._layer_norm:
            gates = tf.nn.bias_add(gates, bias)
        parts = tf.split(value=gates, num_or_size_splits=3, axis=1)
        names = ("transform", "forget", "output")
        j, f, o = (self._normed(part, name) for part, name in zip(parts, names, strict=True))
        if self._use_peepholes:
            w_f, w_o = (
                tf.get_variable(f"W_{gate}_diag", shape=[units], dtype=dtype) for gate in "FO"
            )
        f = f + self._forget_bias
        forget = tf.sigmoid(f + w_f * c_prev if self._use_peepholes else f)
        kept = forget * c_prev
        c = self._normed(kept + (1 - forget) * self._activation(j), "state")
        m = tf.sigmoid(o + w_o * c if self._use_peepholes else o) * self._activation(c)
        if self._num_proj is not None:
            shape = [units, self._num_proj]
            m = tf.matmul(m, sharded_variable("W_P", shape, dtype, self._shards[1]))
            if self._proj_clip is not None:
                m = tf.clip_by_value(m, -self._proj_clip, self._proj_clip)
        return m, LSTMStateTuple(c, m) if self._state_is_tuple else tf.concat([c, m], 1)


@export("contrib.rnn.TimeFreqLSTMCell")
class TimeFreqLSTMCell(RNNCell):
    """An LSTM cell over time and over windows of frequencies (Li et al., 2015).

    Args:
      num_units, use_peepholes, cell_clip, num_unit_shards, forget_bias, reuse: as of
        `tf.nn.rnn_cell.LSTMCell`.
      initializer: not used.
      feature_size: how many frequencies a window has.
      frequency_skip: how far one window is from the next.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: Any = None,
        frequency_skip: int = 1,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._use_peepholes = num_units, use_peepholes
        self._cell_clip, self._num_unit_shards = cell_clip, num_unit_shards
        self._forget_bias = forget_bias
        self._feature_size, self._frequency_skip = feature_size, frequency_skip

    @property
    def output_size(self) -> int:
        return self._num_units

    @property
    def state_size(self) -> int:
        return 2 * self._num_units

    def _windows(self, inputs: Any) -> list[Any]:
        size = inputs.get_shape().with_rank(2).dims[-1].value
        if size is None:
            raise ValueError("Cannot infer input_size from static shape inference.")
        count = int((size - self._feature_size) / self._frequency_skip) + 1
        return [
            tf.slice(inputs, [0, k * self._frequency_skip], [-1, self._feature_size])
            for k in range(count)
        ]

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        units, dtype = self._num_units, inputs.dtype
        windows = self._windows(inputs)
        rows = windows[0].get_shape().as_list()[1] + 2 * units
        kernel = sharded_variable("W", [rows, 4 * units], dtype, self._num_unit_shards)
        zeros = tf.zeros_initializer()
        bias = tf.get_variable("B", shape=[4 * units], initializer=zeros, dtype=dtype)
        peepholes = {}
        if self._use_peepholes:
            peepholes = {
                gate: tf.get_variable(f"W_{gate.upper()}_diag", shape=[units], dtype=dtype)
                for gate in "fio"
            }
        m = tf.zeros([inputs.shape.dims[0].value or inputs.get_shape()[0], units], dtype)
        outputs, states = None, None
        for k, window in enumerate(windows):
            c_prev = tf.slice(state, [0, 2 * k * units], [-1, units])
            m_prev = tf.slice(state, [0, (2 * k + 1) * units], [-1, units])
            joined = tf.concat([window, m_prev, m], 1)
            gates = tf.nn.bias_add(tf.matmul(joined, kernel), bias)
            c, m = self._step(gates, c_prev, peepholes)
            states = tf.concat([c, m] if states is None else [states, c, m], 1)
            outputs = m if outputs is None else tf.concat([outputs, m], 1)
        return outputs, states

    def _step(self, gates: Any, c_prev: Any, peepholes: dict[str, Any]) -> tuple[Any, Any]:
        i, j, f, o = tf.split(value=gates, num_or_size_splits=4, axis=1)

        def peep(gate: Any, which: str, memory: Any) -> Any:
            return gate + peepholes[which] * memory if peepholes else gate

        kept = tf.sigmoid(peep(f + self._forget_bias, "f", c_prev)) * c_prev
        c = kept + tf.sigmoid(peep(i, "i", c_prev)) * tf.tanh(j)
        if self._cell_clip is not None:
            c = tf.clip_by_value(c, -self._cell_clip, self._cell_clip)
        return c, tf.sigmoid(peep(o, "o", c)) * tf.tanh(c)
