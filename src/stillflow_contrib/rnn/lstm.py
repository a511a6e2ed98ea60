"""More kinds of long short-term memory."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape, dimension_value
from stillflow.nn.rnn_cell.base import KERNEL, LayerRNNCell, RNNCell
from stillflow.nn.rnn_cell.lstm import LSTMStateTuple
from stillflow.platform import tf_logging
from stillflow_contrib.rnn.linear import Linears, linear
from stillflow_contrib.rnn.norm import layer_norm

tanh = tf.tanh


class _Sizes:
    """The sizes of a memory and an output that may be projected."""

    _num_units: Any
    _num_proj: Any = None

    @property
    def state_size(self) -> LSTMStateTuple:
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> int:
        return self._num_proj or self._num_units


def known_input_size(inputs: Any) -> int:
    """Return the number of columns of the inputs; ValueError if it is unknown."""
    size = inputs.get_shape().with_rank(2).dims[1].value
    if size is None:
        raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
    known: int = size
    return known


@export("contrib.rnn.LayerNormBasicLSTMCell")
class LayerNormBasicLSTMCell(_Sizes, RNNCell):
    """An LSTM cell with layer normalization (Ba et al., 2016) and recurrent dropout.

    Args:
      num_units: the size of the memory.
      forget_bias: added to the forget gate.
      input_size: not used.
      activation: of the new memory and the output.
      layer_norm: whether gates and memory are normalized.
      norm_gain, norm_shift: first values of the normalization's variables.
      dropout_keep_prob: how likely an element of the new memory is kept (Semeniuta et al., 2016).
      dropout_prob_seed: of the random choices.
      reuse: whether the variables exist already.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: Any = None,
        activation: Any = tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: Any = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        if input_size is not None:
            tf_logging.warn("%s: The input_size parameter is deprecated.", self)
        self._num_units, self._activation = num_units, activation
        self._forget_bias = forget_bias
        self._keep_prob, self._seed = dropout_keep_prob, dropout_prob_seed
        self._layer_norm, self._norm_gain, self._norm_shift = layer_norm, norm_gain, norm_shift

    def _norm(self, inp: Any, scope: str, dtype: Any = tf.float32) -> Tensor:
        return layer_norm(inp, self._norm_gain, self._norm_shift, scope, dtype)

    def _linear(self, args: Any) -> Tensor:
        columns = 4 * self._num_units
        weights = tf.get_variable(KERNEL, [args.get_shape()[-1], columns], dtype=args.dtype)
        out = tf.matmul(args, weights)
        if self._layer_norm:
            return out
        return tf.nn.bias_add(out, tf.get_variable("bias", [columns], dtype=args.dtype))

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, LSTMStateTuple]:
        c, h = state
        args = tf.concat([inputs, h], 1)
        gates = tf.split(value=self._linear(args), num_or_size_splits=4, axis=1)
        if self._layer_norm:
            names = ("input", "transform", "forget", "output")
            pairs = zip(gates, names, strict=True)
            gates = [self._norm(gate, name, dtype=args.dtype) for gate, name in pairs]
        i, j, f, o = gates
        g = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            g = tf.nn.dropout(g, self._keep_prob, seed=self._seed)
        new_c = c * tf.sigmoid(f + self._forget_bias) + tf.sigmoid(i) * g
        if self._layer_norm:
            new_c = self._norm(new_c, "state", dtype=args.dtype)
        new_h = self._activation(new_c) * tf.sigmoid(o)
        return new_h, LSTMStateTuple(new_c, new_h)


class LayerNormLSTMCell(_Sizes, RNNCell):
    """An LSTM cell with peepholes, projection and layer normalization.

    Args:
      num_units, use_peepholes, cell_clip, initializer, num_proj, proj_clip, forget_bias,
        activation, reuse: as of `tf.nn.rnn_cell.LSTMCell`.
      layer_norm, norm_gain, norm_shift: as of `LayerNormBasicLSTMCell`.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        forget_bias: float = 1.0,
        activation: Any = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._num_proj, self._proj_clip = num_units, num_proj, proj_clip
        self._use_peepholes, self._cell_clip = use_peepholes, cell_clip
        self._initializer, self._forget_bias = initializer, forget_bias
        self._activation = activation or tf.tanh
        self._layer_norm, self._norm_gain, self._norm_shift = layer_norm, norm_gain, norm_shift

    def _norm(self, value: Any, scope: str) -> Tensor:
        return layer_norm(value, self._norm_gain, self._norm_shift, scope, None)

    def call(self, inputs: Any, state: Any) -> tuple[Any, LSTMStateTuple]:
        c_prev, m_prev = state
        known_input_size(inputs)
        scope = tf.get_variable_scope()
        with tf.variable_scope(scope, initializer=self._initializer) as unit_scope:
            columns = 4 * self._num_units
            gates = linear([inputs, m_prev], columns, True, add_bias=not self._layer_norm)
            gates = tf.split(value=gates, num_or_size_splits=4, axis=1)
            if self._layer_norm:
                names = ("input", "transform", "forget", "output")
                gates = [self._norm(gate, name) for gate, name in zip(gates, names, strict=True)]
            i, j, f, o = gates
            peepholes = self._peepholes(unit_scope, inputs.dtype)

            def peep(gate: Any, which: str, memory: Any) -> Any:
                return gate + peepholes[which] * memory if peepholes else gate

            kept = tf.sigmoid(peep(f + self._forget_bias, "f", c_prev)) * c_prev
            c = kept + tf.sigmoid(peep(i, "i", c_prev)) * self._activation(j)
            if self._layer_norm:
                c = self._norm(c, "state")
            if self._cell_clip is not None:
                c = tf.clip_by_value(c, -self._cell_clip, self._cell_clip)
            m = tf.sigmoid(peep(o, "o", c)) * self._activation(c)
            if self._num_proj is not None:
                with tf.variable_scope("projection"):
                    m = linear(m, self._num_proj, bias=False)
                if self._proj_clip is not None:
                    m = tf.clip_by_value(m, -self._proj_clip, self._proj_clip)
        return m, LSTMStateTuple(c, m)

    def _peepholes(self, scope: Any, dtype: Any) -> dict[str, Any]:
        if not self._use_peepholes:
            return {}
        with tf.variable_scope(scope):
            return {
                gate: tf.get_variable(f"w_{gate}_diag", shape=[self._num_units], dtype=dtype)
                for gate in "fio"
            }


@export("contrib.rnn.NASCell")
class NASCell(_Sizes, LayerRNNCell):
    """The cell that neural architecture search found (Zoph and Le, 2017).

    Args:
      num_units: the size of the memory.
      num_proj: the size of the projected output; not projected by default.
      use_bias: whether there is a bias.
      reuse: whether the variables exist already.
    """

    _NAS_BASE = 8

    def __init__(
        self,
        num_units: int,
        num_proj: int | None = None,
        use_bias: bool = False,
        reuse: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units, self._num_proj, self._use_bias = num_units, num_proj, use_bias

    def build(self, inputs_shape: Any) -> None:
        input_size = dimension_value(TensorShape(inputs_shape).with_rank(2)[1])
        if input_size is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        columns, add = self._NAS_BASE * self._num_units, self.add_weight
        rows = self._num_units if self._num_proj is None else self._num_proj
        self.recurrent_kernel = add("recurrent_kernel", [rows, columns])
        self.kernel = add("kernel", [input_size, columns])
        if self._use_bias:
            self.bias = add("bias", [columns], initializer=tf.zeros_initializer)
        if self._num_proj is not None:
            self.projection_weights = add("projection_weights", [self._num_units, self._num_proj])
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, LSTMStateTuple]:
        c_prev, m_prev = state
        from_state = tf.matmul(m_prev, self.recurrent_kernel)
        from_inputs = tf.matmul(inputs, self.kernel)
        if self._use_bias:
            from_state = tf.nn.bias_add(from_state, self.bias)
        m = tf.split(axis=1, num_or_size_splits=self._NAS_BASE, value=from_state)
        x = tf.split(axis=1, num_or_size_splits=self._NAS_BASE, value=from_inputs)
        sigmoid, relu = tf.sigmoid, tf.nn.relu
        functions = (sigmoid, relu, sigmoid, relu, tf.tanh, sigmoid, tf.tanh, sigmoid)
        first = [
            function(x[k] * m[k] if k == 3 else x[k] + m[k]) for k, function in enumerate(functions)
        ]
        second = [
            tf.tanh(first[0] * first[1]),
            tf.tanh(first[2] + first[3]),
            tf.tanh(first[4] * first[5]),
            sigmoid(first[6] + first[7]),
        ]
        new_c = tf.tanh(second[0] + c_prev) * second[1]
        new_m = tf.tanh(new_c * tf.tanh(second[2] + second[3]))
        if self._num_proj is not None:
            new_m = tf.matmul(new_m, self.projection_weights)
        return new_m, LSTMStateTuple(new_c, new_m)


@export("contrib.rnn.GLSTMCell")
class GLSTMCell(_Sizes, RNNCell):
    """An LSTM cell whose gates see groups of the inputs (Kuchaiev and Ginsburg, 2017).

    Args:
      num_units: the size of the memory.
      initializer: of the kernels.
      num_proj: the size of the projected output; not projected by default.
      number_of_groups: how many groups.
      forget_bias: added to the forget gate.
      activation: of the output.
      reuse: whether the variables exist already.

    Raises:
      ValueError: if a size cannot be divided by the number of groups.
    """

    def __init__(
        self,
        num_units: int,
        initializer: Any = None,
        num_proj: int | None = None,
        number_of_groups: int = 1,
        forget_bias: float = 1.0,
        activation: Any = tanh,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._initializer, self._num_proj = num_units, initializer, num_proj
        self._forget_bias, self._activation = forget_bias, activation
        self._number_of_groups = number_of_groups
        if num_units % number_of_groups != 0:
            raise ValueError("num_units must be divisible by number_of_groups")
        if num_proj and num_proj % number_of_groups != 0:
            raise ValueError("num_proj must be divisible by number_of_groups")
        outputs = num_proj or num_units
        self._group_shape = [outputs // number_of_groups, num_units // number_of_groups]
        self._linear = Linears()

    def _group(self, inputs: Any, number: int, size: int, rows: Any) -> Tensor:
        name = f"GLSTM_group{number}_input_generation"
        return tf.slice(inputs, begin=[0, number * size], size=[rows, size], name=name)

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, LSTMStateTuple]:
        c_prev, m_prev = state
        rows = dimension_value(inputs.shape[0]) or tf.shape(inputs)[0]
        input_size = dimension_value(inputs.shape[1])
        groups = self._number_of_groups
        if input_size is None:
            raise ValueError("input size must be statically known")
        if input_size % groups != 0:
            raise ValueError(
                f"input size ({input_size}) must be divisible by number_of_groups ({groups})"
            )
        with tf.variable_scope(tf.get_variable_scope(), initializer=self._initializer):
            parts = []
            for number in range(groups):
                with tf.variable_scope(f"group{number}"):
                    x = self._group(inputs, number, input_size // groups, rows)
                    m = self._group(m_prev, number, self._group_shape[0], rows)
                    columns = 4 * self._group_shape[1]
                    gates = self._linear(number, tf.concat([x, m], axis=1), columns, bias=False)
                    parts.append(tf.split(gates, 4, 1))
            zeros = tf.constant_initializer(0.0, dtype=inputs.dtype)
            biases = [
                tf.get_variable(
                    name=f"bias_{gate}", shape=[self._num_units], dtype=inputs.dtype,
                    initializer=zeros,
                )
                for gate in "ijfo"
            ]  # fmt: skip
            i, j, f, o = (
                tf.nn.bias_add(tf.concat(list(gate), axis=1), bias)
                for gate, bias in zip(zip(*parts, strict=True), biases, strict=True)
            )
        c = tf.sigmoid(f + self._forget_bias) * c_prev + tf.sigmoid(i) * tf.tanh(j)
        m = tf.sigmoid(o) * self._activation(c)
        if self._num_proj is not None:
            with tf.variable_scope("projection"):
                m = self._linear("projection", m, self._num_proj, bias=False)
        return m, LSTMStateTuple(c, m)
