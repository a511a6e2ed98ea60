"""Cells whose state is one tensor: the basic one and gated recurrent units."""

from __future__ import annotations

from functools import partial
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.layers.identifiers import activation_of, initializer_of, serialized
from stillflow.layers.input_spec import InputSpec
from stillflow.nn.rnn_cell.base import BIAS, KERNEL, LayerRNNCell, check_dtypes
from stillflow.nn.rnn_cell.sizes import known_depth
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.splitting import split
from stillflow.ops.linalg.matmul import matmul
from stillflow.ops.math.trigonometry import tanh
from stillflow.ops.math.unary import sigmoid
from stillflow.ops.nn.bias import bias_add
from stillflow.util.notices import noticed
from stillflow.variables.initializers import Constant, Zeros


class UnitsCell(LayerRNNCell):
    """A cell whose output and state are vectors of `num_units`, and whose inputs are matrices."""

    def __init__(self, num_units: Any, activation: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_dtypes(self.dtype)
        self.input_spec = InputSpec(ndim=2)
        self._num_units = num_units
        self._activation = activation_of(activation) if activation else tanh

    @property
    def state_size(self) -> int:
        return self._num_units

    @property
    def output_size(self) -> int:
        return self._num_units

    def _checked_depth(self, inputs_shape: Any) -> int:
        depth = known_depth(inputs_shape)
        check_dtypes(self.dtype)
        return depth

    def _config(self, **own: Any) -> dict[str, Any]:
        return super()._config(
            num_units=self._num_units,
            activation=serialized("activations", self._activation),
            reuse=self._reuse,
            **own,
        )


@export("nn.rnn_cell.BasicRNNCell", "contrib.rnn.BasicRNNCell")
class BasicRNNCell(UnitsCell):
    """`output = state = activation(W [input, state] + b)`.

    Args:
      num_units: the size of the state.
      activation: a function or its name; tanh by default.
      reuse: whether the variables exist already.
      name: of the variable scope.
      dtype: of the variables; that of the inputs by default.
    """

    @noticed("contrib.rnn.BasicRNNCell")
    def __init__(
        self,
        num_units: Any,
        activation: Any = None,
        reuse: Any = None,
        name: Any = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, _reuse=reuse, name=name, dtype=dtype, **kwargs)

    def build(self, inputs_shape: Any) -> None:
        units = self._num_units
        rows = self._checked_depth(inputs_shape) + units
        self._kernel = self.add_weight(KERNEL, shape=[rows, units])
        zeros = Zeros(dtype=self.dtype)
        self._bias = self.add_weight(BIAS, shape=[units], initializer=zeros)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Tensor]:
        check_dtypes(inputs, state)
        product = matmul(concat([inputs, state], 1), self._kernel)
        output = self._activation(bias_add(product, self._bias))
        return output, output

    def get_config(self) -> dict[str, Any]:
        return self._config()


@export("nn.rnn_cell.GRUCell", "contrib.rnn.GRUCell")
class GRUCell(UnitsCell):
    """The gated recurrent unit (Cho et al., 2014).

    Args:
      num_units: the size of the state.
      activation: a function or its name; tanh by default.
      reuse: whether the variables exist already.
      kernel_initializer, bias_initializer: of the variables; the biases of the gates are 1 by
        default, that of the candidate 0.
      name: of the variable scope.
      dtype: of the variables; that of the inputs by default.

    Example:
      >>> cell = tf.contrib.rnn.GRUCell(num_units=4)
      >>> output, state = cell(tf.ones([2, 3]), cell.zero_state(2, tf.float32))
      >>> state.shape.as_list(), [v.name for v in cell.variables if "bias" in v.name]
      ([2, 4], ['gru_cell/gates/bias:0', 'gru_cell/candidate/bias:0'])
    """

    @noticed("contrib.rnn.GRUCell")
    def __init__(
        self,
        num_units: Any,
        activation: Any = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: Any = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, _reuse=reuse, name=name, dtype=dtype, **kwargs)
        self._kernel_initializer = initializer_of(kernel_initializer)
        self._bias_initializer = initializer_of(bias_initializer)

    def build(self, inputs_shape: Any) -> None:
        rows = self._checked_depth(inputs_shape) + self._num_units
        ones, zeros = partial(Constant, 1.0), Zeros
        self._gate_kernel, self._gate_bias = self._affine("gates", rows, 2, ones)
        self._candidate_kernel, self._candidate_bias = self._affine("candidate", rows, 1, zeros)
        self.built = True

    def _affine(self, name: str, rows: int, gates: int, bias: Any) -> tuple[Any, Any]:
        columns = gates * self._num_units
        kernel = self.add_weight(
            f"{name}/{KERNEL}", shape=[rows, columns], initializer=self._kernel_initializer
        )
        # A cell that was not called has a dtype from its first weight on.
        initializer = self._bias_initializer or bias(dtype=self.dtype)
        return kernel, self.add_weight(f"{name}/{BIAS}", shape=[columns], initializer=initializer)

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Tensor]:
        check_dtypes(inputs, state)
        gates = matmul(concat([inputs, state], 1), self._gate_kernel)
        gates = sigmoid(bias_add(gates, self._gate_bias))
        reset, update = split(value=gates, num_or_size_splits=2, axis=1)
        candidate = matmul(concat([inputs, reset * state], 1), self._candidate_kernel)
        candidate = self._activation(bias_add(candidate, self._candidate_bias))
        new_state = update * state + (1 - update) * candidate
        return new_state, new_state

    def get_config(self) -> dict[str, Any]:
        return self._config(
            kernel_initializer=serialized("initializers", self._kernel_initializer),
            bias_initializer=serialized("initializers", self._bias_initializer),
        )
