"""An LSTM cell whose units open at times of their own (Neil et al., 2016)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.nn.rnn_cell.base import RNNCell
from stillflow.nn.rnn_cell.lstm import LSTMStateTuple
from stillflow_contrib.rnn.linear import Linears

_float32 = tf.float32


def _exponents(low: float, high: float) -> Callable[..., Any]:
    """Return an initializer whose logarithms are uniform."""

    def initializer(shape: Any, dtype: Any = _float32, partition_info: Any = None) -> Any:
        return tf.exp(tf.random_uniform(shape, tf.log(low), tf.log(high), dtype, seed=None))

    return initializer


@export("contrib.rnn.PhasedLSTMCell")
class PhasedLSTMCell(RNNCell):
    """A cell whose inputs are pairs of times [batch, 1] and values [batch, n].

    Args:
      num_units: the size of the memory.
      use_peepholes: whether gates see the memory.
      leak: how far a closed unit lets through.
      ratio_on: the first value of how long units are open.
      trainable_ratio_on: whether that is trained.
      period_init_min, period_init_max: limits of the first values of the periods.
      reuse: whether the variables exist already.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        leak: float = 0.001,
        ratio_on: float = 0.1,
        trainable_ratio_on: bool = True,
        period_init_min: float = 1.0,
        period_init_max: float = 1000.0,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse, autocast=False)
        self._num_units, self._use_peepholes = num_units, use_peepholes
        self._leak, self._ratio_on = leak, ratio_on
        self._trainable_ratio_on = trainable_ratio_on
        self._period_init = (period_init_min, period_init_max)
        self._linear = Linears()

    @property
    def state_size(self) -> LSTMStateTuple:
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> int:
        return self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Any, LSTMStateTuple]:
        c_prev, h_prev = state
        time, x = inputs
        units, both = self._num_units, [x, h_prev]
        seen = [*both, c_prev] if self._use_peepholes else both
        with tf.variable_scope("mask_gates"):
            gates = tf.sigmoid(self._linear("mask_gates", seen, 2 * units))
            input_gate, forget_gate = tf.split(axis=1, num_or_size_splits=2, value=gates)
        with tf.variable_scope("new_input"):
            new_input = tf.tanh(self._linear("new_input", both, units))
        kept = c_prev * forget_gate
        new_c = kept + input_gate * new_input
        seen = [*both, new_c] if self._use_peepholes else both
        with tf.variable_scope("output_gate"):
            output_gate = tf.sigmoid(self._linear("output_gate", seen, units))
        new_h = tf.tanh(new_c) * output_gate
        k = self._openness(time)
        opened = k * new_c
        new_c = opened + (1 - k) * c_prev
        opened = k * new_h
        new_h = opened + (1 - k) * h_prev
        return new_h, LSTMStateTuple(new_c, new_h)

    def _openness(self, time: Any) -> Any:
        """Return the openness of every unit."""
        shape = [self._num_units]
        period = tf.get_variable("period", shape, initializer=_exponents(*self._period_init))
        uniform = tf.random_uniform_initializer(0.0, period.initial_value)
        phase = tf.get_variable("phase", shape, initializer=uniform)
        ratio_on = tf.get_variable(
            "ratio_on", shape, initializer=tf.constant_initializer(self._ratio_on),
            trainable=self._trainable_ratio_on,
        )  # fmt: skip
        ratio = _cycle_ratio(time, phase, period)
        k_up = 2 * ratio / ratio_on
        k_down = 2 - k_up
        k_closed = self._leak * ratio
        k = tf.where(ratio < ratio_on, k_down, k_closed)
        return tf.where(ratio < 0.5 * ratio_on, k_up, k)


def _cycle_ratio(time: Any, phase: Any, period: Any) -> Any:
    """Return the units' positions in their periods, with the gradient of the time."""
    phase = tf.cast(phase, dtype=time.dtype)
    period = tf.cast(period, dtype=time.dtype)
    shifted = time - phase
    rest = tf.stop_gradient(tf.mod(shifted, period) - shifted) + shifted
    return tf.cast(rest / period, dtype=tf.float32)
