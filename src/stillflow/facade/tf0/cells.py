"""Recurrent cells as they were until 0.12: functions that find their variables by scope.

A cell has no variables of its own. Each call looks them up in the variable scope where it stands,
so `[cell] * layers` has a matrix per layer, and a scope in reuse mode shares them. Variables have
the names of 0.x, and checkpoints of that time fit: "BasicLSTMCell/Linear/Matrix".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow import nest
from stillflow.facade.tf0 import minor_version
from stillflow.facade.tf0.functions import get_variable
from stillflow.graph.operation import Tensor
from stillflow.nn.rnn_cell.sizes import zero_state_tensors

if TYPE_CHECKING:
    from stillflow.variables.variable_scope import variable_scope


LSTMStateTuple = tf.nn.rnn_cell.LSTMStateTuple


class RNNCell:
    """A function of an input and a state that gives an output and the next state."""

    @property
    def state_size(self) -> Any:
        """The depth of the state, or a tuple of those of its parts."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The depth of the output."""
        raise NotImplementedError("Abstract method")

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """Return the output and the next state.

        Args:
          inputs: [batch, depth].
          state: (nested) tensors [batch, size] as `state_size` says.
          scope: a variable scope or its name, by default the name of the class.
        """
        raise NotImplementedError("Abstract method")

    def zero_state(self, batch_size: Any, dtype: Any = tf.float32) -> Any:
        """Return the state of zeros, (nested) tensors [batch_size, size]."""
        return zero_state_tensors(self.state_size, batch_size, dtype)

    def _scope(self, scope: Any, **settings: Any) -> variable_scope:
        return tf.variable_scope(scope or type(self).__name__, **settings)


def linear(args: Any, output_size: int, bias: bool, bias_start: float = 0.0,
           scope: Any = None) -> Tensor:  # fmt: skip
    """Return the product of joined inputs and a matrix, plus a bias.

    Args:
      args: a tensor [batch, depth] or several, which are joined along their depth.
      output_size: the depth of the result.
      bias: whether a bias is added.
      bias_start: the value that it begins with.
      scope: a variable scope or its name, "Linear" by default.

    Raises:
      ValueError: there is no input, or one whose depth is not known.
    """
    inputs = list(args) if nest.is_sequence(args) else [args]
    if not inputs or inputs[0] is None:
        raise ValueError("`args` must be specified")
    depths = [value.get_shape().with_rank(2).dims[1].value for value in inputs]
    if None in depths:
        raise ValueError(f"Linear expects the depth of its arguments to be known: {inputs}")
    dtype = inputs[0].dtype
    with tf.variable_scope(scope or "Linear"):
        matrix = get_variable("Matrix", [sum(depths), output_size], dtype)
        product = tf.matmul(inputs[0] if len(inputs) == 1 else tf.concat(inputs, 1), matrix)
        if not bias:
            return product
        start = tf.constant_initializer(bias_start, dtype=dtype)
        return product + get_variable("Bias", [output_size], dtype, start)


_linear = linear


class _Gated(RNNCell):
    """A cell whose output is as deep as its state."""

    def __init__(
        self, num_units: int, input_size: Any = None, activation: Callable[[Any], Any] = tf.tanh
    ) -> None:
        self._num_units = num_units
        self._activation = activation

    @property
    def state_size(self) -> int:
        return self._num_units

    @property
    def output_size(self) -> int:
        return self._num_units


class BasicRNNCell(_Gated):
    """A layer of tanh units that see their last output."""

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Tensor, Tensor]:
        with self._scope(scope):
            output = self._activation(linear([inputs, state], self._num_units, True))
        return output, output


class GRUCell(_Gated):
    """Gated recurrent unit (Cho et al. 2014, arXiv:1406.1078)."""

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Tensor, Tensor]:
        with self._scope(scope):
            with tf.variable_scope("Gates"):  # their bias lets everything through at first
                gates = tf.sigmoid(linear([inputs, state], 2 * self._num_units, True, 1.0))
                reset, update = tf.split(gates, 2, 1)
            with tf.variable_scope("Candidate"):
                joined = linear([inputs, reset * state], self._num_units, True)
                candidate = self._activation(joined)
            state = update * state + (1 - update) * candidate
        return state, state


class _LSTM(RNNCell):
    """Two parts of a state: as a tuple, or until 0.10 joined in one tensor."""

    _state_is_tuple: bool
    _sizes: tuple[int, int]

    def _set_state(self, sizes: tuple[int, int], state_is_tuple: bool | None) -> None:
        self._sizes = sizes
        since = 11
        is_default = state_is_tuple is None
        self._state_is_tuple = minor_version() >= since if is_default else bool(state_is_tuple)

    @property
    def state_is_tuple(self) -> bool:
        """True if the state is an LSTMStateTuple rather than one tensor."""
        return self._state_is_tuple

    @property
    def state_size(self) -> Any:
        return LSTMStateTuple(*self._sizes) if self._state_is_tuple else sum(self._sizes)

    @property
    def output_size(self) -> int:
        return self._sizes[1]

    def _parts(self, state: Any) -> Any:
        return state if self._state_is_tuple else tf.split(state, self._sizes, 1)

    def _joined(self, cell: Any, output: Any) -> Any:
        return (
            LSTMStateTuple(cell, output) if self._state_is_tuple else tf.concat([cell, output], 1)
        )


class BasicLSTMCell(_LSTM):
    """LSTM without peepholes and clipping (Zaremba et al. 2014, arXiv:1409.2329)."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: Any = None,
        state_is_tuple: bool | None = None,
        activation: Callable[[Any], Any] = tf.tanh,
    ) -> None:
        self._num_units = num_units
        self._forget_bias = forget_bias
        self._activation = activation
        self._set_state((num_units, num_units), state_is_tuple)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Tensor, Any]:
        with self._scope(scope):
            cell, hidden = self._parts(state)
            gates = linear([inputs, hidden], 4 * self._num_units, True)
            let_in, new, keep, let_out = tf.split(gates, 4, 1)
            kept = cell * tf.sigmoid(keep + self._forget_bias)
            cell = kept + tf.sigmoid(let_in) * self._activation(new)
            output = self._activation(cell) * tf.sigmoid(let_out)
            return output, self._joined(cell, output)


class LSTMCell(_LSTM):
    """LSTM with peepholes, clipping and a projection, each if asked for (Sak et al. 2014)."""

    def __init__(
        self,
        num_units: int,
        input_size: Any = None,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int = 1,
        num_proj_shards: int = 1,
        forget_bias: float = 1.0,
        state_is_tuple: bool | None = None,
        activation: Callable[[Any], Any] = tf.tanh,
    ) -> None:
        self._num_units = num_units
        self._use_peepholes = use_peepholes
        self._clips = (cell_clip, proj_clip)
        self._initializer = initializer
        self._num_proj = num_proj
        self._shards = (num_unit_shards, num_proj_shards)
        self._forget_bias = forget_bias
        self._activation = activation
        self._set_state((num_units, num_proj or num_units), state_is_tuple)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        cell, hidden = self._parts(state)
        dtype = inputs.dtype
        depth = inputs.get_shape().with_rank(2).dims[1].value
        if depth is None:
            raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
        with self._scope(scope, initializer=self._initializer):
            rows = depth + self._sizes[1]
            matrix = _sharded("W", rows, 4 * self._num_units, dtype, self._shards[0])
            bias = get_variable("B", [4 * self._num_units], dtype, tf.zeros_initializer())
            gates = tf.nn.bias_add(tf.matmul(tf.concat([inputs, hidden], 1), matrix), bias)
            let_in, new, keep, let_out = tf.split(gates, 4, 1)
            see_keep, see_in, see_out = self._peepholes(dtype)
            kept = tf.sigmoid(see_keep(keep + self._forget_bias, cell)) * cell
            cell = kept + tf.sigmoid(see_in(let_in, cell)) * self._activation(new)
            cell = _clipped(cell, self._clips[0])
            output = tf.sigmoid(see_out(let_out, cell)) * self._activation(cell)
            if self._num_proj is not None:
                projection = _sharded(
                    "W_P", self._num_units, self._num_proj, dtype, self._shards[1]
                )
                output = _clipped(tf.matmul(output, projection), self._clips[1])
        return output, self._joined(cell, output)

    def _peepholes(self, dtype: Any) -> list[Callable[[Any, Any], Any]]:
        """Return how the gates to keep, to let in and to let out see the cell's value."""
        if not self._use_peepholes:
            return [lambda gate, _: gate] * 3

        def peephole(name: str) -> Callable[[Any, Any], Any]:
            weights = get_variable(name, [self._num_units], dtype)
            return lambda gate, cell: gate + weights * cell

        return [peephole(name) for name in ("W_F_diag", "W_I_diag", "W_O_diag")]


def _sharded(name: str, rows: int, columns: int, dtype: Any, shards: int) -> Any:
    """Return a matrix that is kept in variables name_0, name_1, ... of about as many rows."""
    if shards > rows:
        raise ValueError(f"Too many shards: shape={[rows, columns]}, num_shards={shards}")
    least, more = divmod(rows, shards)
    parts = [
        get_variable(f"{name}_{i}", [least + (i < more), columns], dtype) for i in range(shards)
    ]
    return parts[0] if shards == 1 else tf.concat(parts, 0, name=f"{name}/concat")


def _clipped(value: Any, limit: float | None) -> Tensor:
    return value if limit is None else tf.clip_by_value(value, -limit, limit)


class _Wrapper(RNNCell):
    """A cell around another one."""

    def __init__(self, cell: Any) -> None:
        if not callable(cell) or not hasattr(cell, "state_size"):
            raise TypeError("The parameter cell is not RNNCell.")
        self._cell = cell

    @property
    def state_size(self) -> int:
        return self._cell.state_size

    @property
    def output_size(self) -> int:
        return self._cell.output_size


class OutputProjectionWrapper(_Wrapper):
    """Wrapper that projects a cell's outputs."""

    def __init__(self, cell: Any, output_size: int) -> None:
        super().__init__(cell)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._output_size = output_size

    @property
    def output_size(self) -> int:
        return self._output_size

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Tensor, Tensor]:
        output, state = self._cell(inputs, state)
        with self._scope(scope):
            return linear(output, self._output_size, True), state


class InputProjectionWrapper(_Wrapper):
    """Wrapper that projects a cell's inputs."""

    def __init__(self, cell: Any, num_proj: int, input_size: Any = None) -> None:
        super().__init__(cell)
        self._num_proj = num_proj

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Tensor, Tensor]:
        with self._scope(scope):
            projected = linear(inputs, self._num_proj, True)
        return self._cell(projected, state)


class DropoutWrapper(_Wrapper):
    """Drops parts of a cell's inputs and outputs.

    A probability is a number or a tensor; without dropout no operations are made.
    """

    def __init__(
        self, cell: Any, input_keep_prob: Any = 1.0, output_keep_prob: Any = 1.0, seed: Any = None
    ) -> None:
        super().__init__(cell)
        for name, keep in (("input", input_keep_prob), ("output", output_keep_prob)):
            if isinstance(keep, float) and not 0.0 <= keep <= 1.0:
                text = f"Parameter {name}_keep_prob must be between 0 and 1: {keep}"
                raise ValueError(text)
        self._keep = (input_keep_prob, output_keep_prob)
        self._seed = seed

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Tensor, Tensor]:
        output, state = self._cell(self._dropped(inputs, self._keep[0]), state)
        return self._dropped(output, self._keep[1]), state

    def _dropped(self, value: Any, keep: Any) -> Any:
        if isinstance(keep, float) and keep >= 1.0:
            return value
        return tf.nn.dropout(value, keep, seed=self._seed)


class EmbeddingWrapper(_Wrapper):
    """Looks up the embedding of the symbols that a cell gets."""

    def __init__(
        self, cell: Any, embedding_classes: int, embedding_size: int, initializer: Any = None
    ) -> None:
        super().__init__(cell)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                "Both embedding_classes and embedding_size must be > 0: "
                f"{embedding_classes}, {embedding_size}."
            )
        self._shape = [embedding_classes, embedding_size]
        self._initializer = initializer

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Tensor, Tensor]:
        with self._scope(scope), tf.device("/cpu:0"):
            initializer = self._initializer or tf.get_variable_scope().initializer
            if initializer is None:
                bound = math.sqrt(3)  # so the variance is 1
                initializer = tf.random_uniform_initializer(-bound, bound)
            dtype = nest.flatten(state)[0].dtype
            embedding = get_variable("embedding", self._shape, dtype, initializer)
            embedded = tf.nn.embedding_lookup(embedding, tf.reshape(inputs, [-1]))
        return self._cell(embedded, state)


class MultiRNNCell(RNNCell):
    """Cells one above the other; a cell may stand in the list several times."""

    def __init__(self, cells: Sequence[Any], state_is_tuple: bool | None = None) -> None:
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        self._cells = cells
        is_default = state_is_tuple is None
        self._state_is_tuple = minor_version() > 10 if is_default else bool(state_is_tuple)
        sizes = [cell.state_size for cell in cells]
        if not self._state_is_tuple and any(map(nest.is_sequence, sizes)):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set.  "
                f"State sizes are: {sizes}"
            )

    @property
    def state_size(self) -> Any:
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> int:
        return self._cells[-1].output_size

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        with self._scope(scope):
            if not self._state_is_tuple:
                state = tf.split(state, [cell.state_size for cell in self._cells], 1)
            states = []
            for i, (cell, before) in enumerate(zip(self._cells, state, strict=True)):
                with tf.variable_scope(f"Cell{i}"):
                    inputs, after = cell(inputs, before)
                states.append(after)
            return inputs, (tuple(states) if self._state_is_tuple else tf.concat(states, 1))
