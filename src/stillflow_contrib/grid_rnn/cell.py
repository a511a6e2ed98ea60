"""`tf.contrib.grid_rnn.GridRNNCell`: a recurrent cell in several dimensions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import stillflow as tf
from stillflow.contrib.layers.initializers import xavier_initializer
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.nn.rnn_cell.base import RNNCell
from stillflow.nn.rnn_cell.lstm import LSTMCell
from stillflow.platform import tf_logging

if TYPE_CHECKING:
    from stillflow.variables.variable_scope import variable_scope


class _Grid(NamedTuple):
    """Dimensions of the grid, and their roles."""

    num_dims: int
    inputs: list[int]
    outputs: list[int]
    priority: list[int]
    non_recurrent: list[int]

    @property
    def recurrents(self) -> list[int]:
        return [i for i in range(self.num_dims) if i not in self.non_recurrent]

    @property
    def others(self) -> list[int]:
        """Those without priority."""
        return [i for i in range(self.num_dims) if i not in self.priority]


def _dimensions(given: Any, num_dims: int) -> list[int]:
    listed = [] if given is None else given if isinstance(given, (list, tuple)) else [given]
    found = sorted(set(listed))
    if any(i < 0 or i >= num_dims for i in found):
        raise ValueError(f"Invalid dims: {found}. Must be in [0, {num_dims})")
    return found


def _warn_of_joined(cell: Any, what: str) -> None:
    tf_logging.warn(
        "%s: Using a concatenated %s is slower and will soon be deprecated.  Use %s_is_tuple=True.",
        cell, what, what,
    )  # fmt: skip


class _Step:
    """Values computed in a step, by dimension."""

    def __init__(self, c_prev: list[Any], m_prev: list[Any]) -> None:
        self.c_prev, self.m_prev = c_prev, m_prev
        self.outputs: list[Any] = [None] * len(m_prev)
        self.states: list[Any] = [None] * len(m_prev)

    def output(self, i: int) -> Tensor:
        """Return the output of a dimension, or its input as long as there is none."""
        return self.m_prev[i] if self.outputs[i] is None else self.outputs[i]


@export("contrib.grid_rnn.GridRNNCell")
class GridRNNCell(RNNCell):
    """A cell that has a cell for each of its dimensions (Kalchbrenner et al., 2015).

    Args:
      num_units: the size of the memories.
      num_dims: how many dimensions there are.
      input_dims: those that take inputs, one or a list.
      output_dims: those that give outputs.
      priority_dims: those that are computed last, with the outputs of the others.
      non_recurrent_dims: those that have a dense layer instead of a cell.
      tied: whether all dimensions share one cell.
      cell_fn: makes a cell of a number of units; an `LSTMCell` by default.
      non_recurrent_fn: the activation of dense layers, `tf.nn.relu` by default.
      state_is_tuple: whether the state is a tuple; otherwise it is one tensor.
      output_is_tuple: whether the output is.

    Raises:
      ValueError: for dimensions that are not there.
      TypeError: if `cell_fn` makes no cell.
    """

    def __init__(
        self, num_units: int, num_dims: int = 1, input_dims: Any = None, output_dims: Any = None,
        priority_dims: Any = None, non_recurrent_dims: Any = None, tied: bool = False,
        cell_fn: Callable[[int], Any] | None = None,
        non_recurrent_fn: Callable[[Any], Any] | None = None, state_is_tuple: bool = True,
        output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        if not state_is_tuple:
            _warn_of_joined(self, "state")
        if not output_is_tuple:
            _warn_of_joined(self, "output")
        if num_dims < 1:
            raise ValueError(f"dims must be >= 1: {num_dims}")
        groups = (input_dims, output_dims, priority_dims, non_recurrent_dims)
        self._grid = _Grid(num_dims, *(_dimensions(group, num_dims) for group in groups))
        self._num_units, self._tied = num_units, tied
        self._non_recurrent_fn = non_recurrent_fn or tf.nn.relu
        self._state_is_tuple, self._output_is_tuple = state_is_tuple, output_is_tuple
        if cell_fn is None:
            make = functools.partial(LSTMCell, num_units=num_units, state_is_tuple=state_is_tuple)
        else:
            make = functools.partial(cell_fn, num_units)
        self._cells = [make()] * num_dims if tied else [make() for _ in range(num_dims)]
        if not isinstance(self._cells[0], RNNCell):
            raise TypeError(f"cell_fn must return an RNNCell instance, saw: {type(self._cells[0])}")

    @property
    def output_size(self) -> int | tuple[int, ...]:
        outputs, size = len(self._grid.outputs), self._cells[0].output_size
        return (size,) * outputs if self._output_is_tuple else size * outputs

    @property
    def state_size(self) -> int | tuple[Any, ...]:
        recurrents = len(self._grid.recurrents)
        if self._state_is_tuple:
            return (self._cells[0].state_size,) * recurrents
        return self._cell_state_size() * recurrents

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, tuple[Any, ...]]:
        """Return the outputs of the output dimensions, and the states of the recurrent ones.

        Args:
          inputs: [batch, depth], cut into as many pieces as there are input dimensions; no depth
            for no input.
          state: as `state_size` says.
          scope: the variable scope; the class's name by default.

        Raises:
          ValueError: for a state of other length.
        """
        grid = self._grid
        hidden = self._cell_state_size() - self._num_units
        step = _Step(*self._extract_states(state, hidden))
        with tf.variable_scope(scope or type(self).__name__):
            self._project_input(inputs, step, hidden > 0)
            self._propagate(grid.others, step, first_call=True)
            self._propagate(grid.priority, step, first_call=False)
            outputs = tuple(step.outputs[i] for i in grid.outputs)
            output = outputs if self._output_is_tuple else _joined(outputs, inputs.dtype)
            states = tuple(step.states[i] for i in grid.recurrents)
            if not self._state_is_tuple:
                states = _joined([part for each in states for part in each], inputs.dtype)
        return output, states

    def _extract_states(self, state: Any, hidden: int) -> tuple[list[Any], list[Any]]:
        """Memories and outputs of the step before, by dimension; `hidden` is 0 without memories."""
        grid = self._grid
        c_prev: list[Any] = [None] * grid.num_dims
        m_prev: list[Any] = [None] * grid.num_dims
        if not self._state_is_tuple:
            return self._sliced_states(state, hidden, c_prev, m_prev)
        if len(grid.recurrents) != len(state):
            raise ValueError(f"Expected state as a tuple of {len(grid.recurrents)} element")
        for i, part in zip(grid.recurrents, state, strict=True):
            if hidden > 0:
                c_prev[i], m_prev[i] = part
            else:
                m_prev[i] = part
        return c_prev, m_prev

    def _sliced_states(
        self, state: Any, hidden: int, c_prev: list[Any], m_prev: list[Any]
    ) -> tuple[list[Any], list[Any]]:
        units, size = self._num_units, self._cell_state_size()
        for number, i in enumerate(self._grid.recurrents):
            start = number * size
            first = tf.slice(state, [0, start], [-1, units])
            if hidden > 0:
                c_prev[i] = first
                m_prev[i] = tf.slice(state, [0, start + units], [-1, hidden])
            else:
                m_prev[i] = first
        return c_prev, m_prev

    def _project_input(self, inputs: Any, step: _Step, with_c: bool) -> None:
        """Set the previous values of input dimensions to the projected inputs."""
        dims = self._grid.inputs
        if not dims or inputs is None or tf.dimension_value(inputs.shape.with_rank(2)[1]) <= 0:
            return
        pieces = tf.split(value=inputs, num_or_size_splits=len(dims), axis=1)
        depth = tf.dimension_value(pieces[0].shape.with_rank(2)[1])

        def projected(piece: Any, name: str) -> Tensor:
            kernel = tf.get_variable(name, [depth, self._num_units], dtype=inputs.dtype)
            return tf.matmul(piece, kernel)

        for piece, i in zip(pieces, dims, strict=True):
            step.m_prev[i] = projected(piece, f"project_m_{i}")
            if with_c:
                step.c_prev[i] = projected(piece, f"project_c_{i}")

    def _cell_state_size(self) -> int:
        sizes = self._cells[0].state_size
        total: int = sum(sizes) if isinstance(sizes, tuple) else sizes
        return total

    def _propagate(self, dims: list[int], step: _Step, first_call: bool) -> None:
        """Compute some dimensions, from the others' outputs so far."""
        if not dims:
            return
        if self._grid.num_dims > 1:
            cell_inputs = tf.concat([step.output(i) for i in range(self._grid.num_dims - 1)], 1)
        else:
            first = step.m_prev[0]
            cell_inputs = tf.zeros([first.get_shape().as_list()[0], 0], first.dtype)
        last = step.output(self._grid.num_dims - 1)
        for i in dims:
            reuse = self._tied and not (first_call and i == dims[0])
            if i in self._grid.non_recurrent:
                step.outputs[i] = self._dense(i, cell_inputs, last, reuse)
            else:
                state = last if step.c_prev[i] is None else (step.c_prev[i], last)
                with self._dimension_scope("recurrent", i, reuse):
                    step.outputs[i], step.states[i] = self._cells[i](cell_inputs, state)

    def _dimension_scope(self, name: str, i: int, reuse: bool) -> variable_scope:
        scope = name if self._tied else f"{name}/cell_{i}"
        return tf.variable_scope(scope, reuse=reuse or None)

    def _dense(self, i: int, cell_inputs: Any, last: Any, reuse: bool) -> Tensor:
        inputs = tf.concat([cell_inputs, last], 1) if self._grid.num_dims > 1 else last
        with self._dimension_scope("non_recurrent", i, reuse):
            scope = tf.get_variable_scope()
            return tf.contrib.layers.fully_connected(
                inputs,
                num_outputs=self._num_units,
                activation_fn=self._non_recurrent_fn,
                weights_initializer=scope.initializer or xavier_initializer,
                weights_regularizer=scope.regularizer,
            )


def _joined(parts: Any, dtype: Any) -> Any:
    return tf.concat(list(parts), 1) if parts else tf.zeros([0, 0], dtype)
