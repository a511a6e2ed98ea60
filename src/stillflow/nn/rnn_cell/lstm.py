"""Long short-term memory (Hochreiter and Schmidhuber, 1997)."""

from __future__ import annotations

from typing import Any, NamedTuple

from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.layers.identifiers import initializer_of, serialized
from stillflow.nn.rnn_cell.base import BIAS, KERNEL, check_dtypes, warn_of_joined_state
from stillflow.nn.rnn_cell.simple import UnitsCell
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.slicing import slice_
from stillflow.ops.arrays.splitting import split
from stillflow.ops.constants import constant
from stillflow.ops.linalg.matmul import matmul
from stillflow.ops.math.binary import add, multiply
from stillflow.ops.math.clip import clip_by_value
from stillflow.ops.math.unary import sigmoid
from stillflow.ops.nn.bias import bias_add
from stillflow.platform import tf_logging
from stillflow.util.notices import noticed
from stillflow.variables.initializers import Zeros
from stillflow.variables.partitioned import fixed_size_partitioner


@export("nn.rnn_cell.LSTMStateTuple", "contrib.rnn.LSTMStateTuple")
class LSTMStateTuple(NamedTuple):
    """The state of an LSTM cell.

    Attributes:
      c: the memory.
      h: the output.
    """

    c: Any
    h: Any

    @property
    def dtype(self) -> Any:
        """The dtype of both.

        Raises:
          TypeError: if they have different ones.
        """
        if self.c.dtype != self.h.dtype:
            raise TypeError(f"Inconsistent internal state: {self.c.dtype} vs {self.h.dtype}")
        return self.c.dtype


def basic_lstm_step(
    gates: Any, c: Any, axis: Any, forget_bias: float, activation: Any
) -> tuple[Any, Any]:
    """Return the next memory, [batch, units], and output of a cell without peepholes.

    `gates` are [batch, 4 * units], what input and output give to them; `axis` is 1, as a constant
    of the graph.
    """
    # input gate, new memory, forget gate, output gate
    i, j, f, o = split(value=gates, num_or_size_splits=4, axis=axis)
    kept = multiply(c, sigmoid(add(f, constant(forget_bias, dtype=f.dtype))))
    new_c = add(kept, multiply(sigmoid(i), activation(j)))
    return new_c, multiply(activation(new_c), sigmoid(o))


class _KernelCell(UnitsCell):
    """A cell whose gates come of one product with a kernel."""

    _kernel: Any

    @property
    def _used_kernel(self) -> Any:
        """The kernel; cells that prune have it with a mask."""
        return self._kernel


@export("nn.rnn_cell.BasicLSTMCell", "contrib.rnn.BasicLSTMCell")
class BasicLSTMCell(_KernelCell):
    """An LSTM cell without clipping, projection and peepholes.

    Args:
      num_units: the size of the memory.
      forget_bias: added to the biases of the forget gate.
      state_is_tuple: whether the state is an `LSTMStateTuple`, else `[c, h]` in one tensor.
      activation: a function or its name; tanh by default.
      reuse: whether the variables exist already.
      name: of the variable scope.
      dtype: of the variables; that of the inputs by default.

    Example:
      >>> cell = tf.contrib.rnn.BasicLSTMCell(num_units=4)
      >>> output, state = cell(tf.ones([2, 3]), cell.zero_state(2, tf.float32))
      >>> output.shape.as_list(), state.c.shape.as_list(), state.h.shape.as_list()
      ([2, 4], [2, 4], [2, 4])
    """

    @noticed("contrib.rnn.BasicLSTMCell")
    def __init__(
        self,
        num_units: Any,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: Any = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, _reuse=reuse, name=name, dtype=dtype, **kwargs)
        if not state_is_tuple:
            warn_of_joined_state(self)
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        units = self._num_units
        return LSTMStateTuple(units, units) if self._state_is_tuple else 2 * units

    def build(self, inputs_shape: Any) -> None:
        units = self._num_units
        rows = self._checked_depth(inputs_shape) + units
        self._kernel = self.add_weight(KERNEL, shape=[rows, 4 * units])
        zeros = Zeros(dtype=self.dtype)
        self._bias = self.add_weight(BIAS, shape=[4 * units], initializer=zeros)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Any]:
        check_dtypes(inputs, state)
        axis = constant(1, dtype=dtypes.int32)
        joined = not self._state_is_tuple
        c, h = split(value=state, num_or_size_splits=2, axis=axis) if joined else state
        gates = matmul(concat([inputs, h], 1), self._used_kernel)
        gates = bias_add(gates, self._bias)
        new_c, new_h = basic_lstm_step(gates, c, axis, self._forget_bias, self._activation)
        if joined:
            return new_h, concat([new_c, new_h], 1)
        return new_h, LSTMStateTuple(new_c, new_h)

    def get_config(self) -> dict[str, Any]:
        return self._config(forget_bias=self._forget_bias, state_is_tuple=self._state_is_tuple)


@export("nn.rnn_cell.LSTMCell", "contrib.rnn.LSTMCell")
class LSTMCell(_KernelCell):
    """An LSTM cell with optional peepholes, clipping and projection (Sak et al., 2014).

    Args:
      num_units: the size of the memory.
      use_peepholes: whether the gates see the memory.
      cell_clip: a limit for the memory.
      initializer: of kernels and peepholes.
      num_proj: the size of the projected output.
      proj_clip: a limit for it.
      num_unit_shards, num_proj_shards: how many parts a kernel is split into.
      forget_bias: added to the biases of the forget gate.
      state_is_tuple: whether the state is an `LSTMStateTuple`, else `[c, h]` in one tensor.
      activation: a function or its name; tanh by default.
      reuse: whether the variables exist already.
      name: of the variable scope.
      dtype: of the variables; that of the inputs by default.

    Example:
      >>> cell = tf.contrib.rnn.LSTMCell(num_units=8, num_proj=4)
      >>> outputs, state = tf.nn.dynamic_rnn(cell, tf.ones([2, 5, 3]), dtype=tf.float32)
      >>> outputs.shape.as_list(), state.c.shape.as_list(), state.h.shape.as_list()
      ([2, 5, 4], [2, 8], [2, 4])
    """

    @noticed("contrib.rnn.LSTMCell")
    def __init__(
        self,
        num_units: Any,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: Any = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, _reuse=reuse, name=name, dtype=dtype, **kwargs)
        if not state_is_tuple:
            warn_of_joined_state(self)
        if num_unit_shards is not None or num_proj_shards is not None:
            tf_logging.warn(
                "%s: The num_unit_shards and proj_unit_shards parameters are deprecated and will "
                "be removed in Jan 2017.  Use a variable scope with a partitioner instead.",
                self,
            )
        self._use_peepholes, self._cell_clip = use_peepholes, cell_clip
        self._initializer = initializer_of(initializer)
        self._num_proj, self._proj_clip = num_proj, proj_clip
        self._num_unit_shards, self._num_proj_shards = num_unit_shards, num_proj_shards
        self._forget_bias, self._state_is_tuple = forget_bias, state_is_tuple
        self._output_size = num_proj if num_proj else num_units
        sizes = LSTMStateTuple(num_units, self._output_size)
        self._state_size = sizes if state_is_tuple else sum(sizes)

    @property
    def state_size(self) -> Any:
        return self._state_size

    @property
    def output_size(self) -> int:
        return self._output_size

    def build(self, inputs_shape: Any) -> None:
        units, projected = self._num_units, self._num_proj
        rows = self._checked_depth(inputs_shape) + (units if projected is None else projected)
        self._kernel = self._matrix(KERNEL, [rows, 4 * units], self._num_unit_shards)
        zeros = Zeros
        bias = zeros if self.dtype is None else zeros(dtype=self.dtype)
        self._bias = self.add_weight(BIAS, shape=[4 * units], initializer=bias)
        if self._use_peepholes:
            for gate in "fio":
                name = f"w_{gate}_diag"
                peephole = self.add_weight(name, shape=[units], initializer=self._initializer)
                setattr(self, f"_{name}", peephole)
        if projected is not None:
            self._proj_kernel = self._matrix(
                f"projection/{KERNEL}", [units, projected], self._num_proj_shards
            )
        self.built = True

    def _matrix(self, name: str, shape: list[int], shards: int | None) -> Any:
        partitioner = None if shards is None else fixed_size_partitioner(shards)
        return self.add_weight(
            name, shape=shape, initializer=self._initializer, partitioner=partitioner
        )

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Any]:
        check_dtypes(inputs, state)
        c_prev, m_prev = state if self._state_is_tuple else self._split_state(state)
        if inputs.get_shape().with_rank(2).dims[1].value is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        gates = matmul(concat([inputs, m_prev], 1), self._used_kernel)
        gates = bias_add(gates, self._bias)
        i, j, f, o = split(value=gates, num_or_size_splits=4, axis=1)
        peep = self._peep
        forget = sigmoid(peep(f + self._forget_bias, "f", c_prev))
        kept = forget * c_prev
        c = kept + sigmoid(peep(i, "i", c_prev)) * self._activation(j)
        if self._cell_clip is not None:
            c = clip_by_value(c, -self._cell_clip, self._cell_clip)
        m = sigmoid(peep(o, "o", c)) * self._activation(c)
        if self._num_proj is not None:
            m = matmul(m, self._proj_kernel)
            if self._proj_clip is not None:
                m = clip_by_value(m, -self._proj_clip, self._proj_clip)
        return m, LSTMStateTuple(c, m) if self._state_is_tuple else concat([c, m], 1)

    def _peep(self, gate: Any, which: str, memory: Any) -> Tensor:
        """Return the gate as it sees the memory."""
        return gate + getattr(self, f"_w_{which}_diag") * memory if self._use_peepholes else gate

    def _split_state(self, state: Any) -> tuple[Any, Any]:
        units = self._num_units
        return (
            slice_(state, [0, 0], [-1, units]),
            slice_(state, [0, units], [-1, self._output_size]),
        )

    def get_config(self) -> dict[str, Any]:
        return self._config(
            use_peepholes=self._use_peepholes,
            cell_clip=self._cell_clip,
            initializer=serialized("initializers", self._initializer),
            num_proj=self._num_proj,
            proj_clip=self._proj_clip,
            num_unit_shards=self._num_unit_shards,
            num_proj_shards=self._num_proj_shards,
            forget_bias=self._forget_bias,
            state_is_tuple=self._state_is_tuple,
        )
