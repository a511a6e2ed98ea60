"""An LSTM cell with normalized weights (Salimans and Kingma, 2016)."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.nn.rnn_cell.base import KERNEL, RNNCell
from stillflow.nn.rnn_cell.lstm import LSTMStateTuple
from stillflow_contrib.rnn.linear import bias_variable
from stillflow_contrib.rnn.lstm import known_input_size


class WeightNormLSTMCell(RNNCell):
    """An LSTM cell whose kernels' columns have a length that is trained.

    Args:
      num_units, use_peepholes, cell_clip, initializer, num_proj, proj_clip, forget_bias,
        activation, reuse: as of `tf.nn.rnn_cell.LSTMCell`.
      norm: whether kernels are normalized.
    """

    def __init__(
        self,
        num_units: int,
        norm: bool = True,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        forget_bias: float = 1,
        activation: Any = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._scope = "wn_lstm_cell"
        self._num_units, self._norm, self._initializer = num_units, norm, initializer
        self._use_peepholes, self._cell_clip = use_peepholes, cell_clip
        self._num_proj, self._proj_clip = num_proj, proj_clip
        self._activation, self._forget_bias = activation or tf.tanh, forget_bias

    @property
    def state_size(self) -> LSTMStateTuple:
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> int:
        return self._num_proj or self._num_units

    def _normalize(self, weight: Any, name: str) -> Any:
        columns = weight.get_shape().as_list()[1]
        length = tf.get_variable(name, [columns], dtype=weight.dtype)
        return tf.nn.l2_normalize(weight, axis=0) * length

    def _linear(self, args: Any, columns: int, bias: bool) -> Any:
        args = list(args) if nest.is_sequence(args) else [args]
        widths = [value.get_shape().with_rank(2).dims[1].value for value in args]
        dtype = args[0].dtype
        with tf.variable_scope(tf.get_variable_scope()) as outer:
            weights = tf.get_variable(KERNEL, [sum(widths), columns], dtype=dtype)
            if self._norm:
                with tf.control_dependencies(None):
                    parts, start = [], 0
                    for i, width in enumerate(widths):
                        rows = weights[start : start + width, :]
                        parts.append(self._normalize(rows, f"norm_{i}"))
                        start += width
                    weights = tf.concat(parts, axis=0)
            result = tf.matmul(args[0] if len(args) == 1 else tf.concat(args, 1), weights)
            if not bias:
                return result
            return tf.nn.bias_add(result, bias_variable(outer, columns, dtype))

    def call(self, inputs: Any, state: Any) -> tuple[Any, LSTMStateTuple]:
        c, h = state
        known_input_size(inputs)
        with tf.variable_scope(self._scope, initializer=self._initializer):
            gates = self._linear([inputs, h], 4 * self._num_units, bias=True)
            i, j, f, o = tf.split(value=gates, num_or_size_splits=4, axis=1)
            peepholes = {}
            if self._use_peepholes:
                peepholes = {
                    gate: tf.get_variable(
                        f"w_{gate}_diag", shape=[self._num_units], dtype=inputs.dtype
                    )
                    for gate in "fio"
                }

            def peep(gate: Any, which: str, memory: Any) -> Any:
                return gate + peepholes[which] * memory if peepholes else gate

            kept = c * tf.sigmoid(peep(f + self._forget_bias, "f", c))
            new_c = kept + tf.sigmoid(peep(i, "i", c)) * self._activation(j)
            if self._cell_clip is not None:
                new_c = tf.clip_by_value(new_c, -self._cell_clip, self._cell_clip)
            new_h = tf.sigmoid(peep(o, "o", new_c)) * self._activation(new_c)
            if self._num_proj is not None:
                with tf.variable_scope("projection"):
                    new_h = self._linear(new_h, self._num_proj, bias=False)
                if self._proj_clip is not None:
                    new_h = tf.clip_by_value(new_h, -self._proj_clip, self._proj_clip)
            return new_h, LSTMStateTuple(new_c, new_h)
