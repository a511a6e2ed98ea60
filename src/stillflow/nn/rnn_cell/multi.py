"""`tf.nn.rnn_cell.MultiRNNCell`."""

from __future__ import annotations

from typing import Any

from stillflow import nest
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.layers.base import Layer
from stillflow.nn.rnn_cell.base import RNNCell
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.slicing import slice_
from stillflow.platform import tf_logging
from stillflow.train.tracking.base import Trackable
from stillflow.util.notices import noticed
from stillflow.variables.variable_scope import variable_scope


@export("nn.rnn_cell.MultiRNNCell", "contrib.rnn.MultiRNNCell")
class MultiRNNCell(RNNCell):
    """Cells one after another, each of which takes the output of the one before.

    Args:
      cells: a list of cells.
      state_is_tuple: whether the state is a tuple of those of the cells; else they are joined.

    Raises:
      ValueError: if there are no cells, or states are joined that are tuples.
      TypeError: if `cells` is no list or tuple.

    Example:
      >>> cell = tf.contrib.rnn.MultiRNNCell([tf.contrib.rnn.GRUCell(size) for size in (8, 4)])
      >>> cell.state_size, cell.output_size
      ((8, 4), 4)
    """

    @noticed("contrib.rnn.MultiRNNCell")
    def __init__(self, cells: Any, state_is_tuple: bool = True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not nest.is_sequence(cells):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        if len({id(cell) for cell in cells}) < len(cells):
            tf_logging.log_first_n(
                tf_logging.WARN,
                "At least two cells provided to MultiRNNCell are the same object and will share "
                "weights.",
                1,
            )
        self._cells = cells
        for number, cell in enumerate(cells):
            if isinstance(cell, Trackable):
                self._track_trackable(cell, name=f"cell-{number}")
        self._state_is_tuple = state_is_tuple
        sizes = [cell.state_size for cell in cells]
        if not state_is_tuple and any(nest.is_sequence(size) for size in sizes):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set.  "
                f"State sizes are: {sizes}"
            )

    @property
    def state_size(self) -> int | tuple[Any, ...]:
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> int:
        return self._cells[-1].output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Tensor | tuple[Any, Any]:
        """Return the zero states of the cells."""
        with self._zero_state_scope(batch_size):
            if not self._state_is_tuple:
                return super().zero_state(batch_size, dtype)
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def _of_cells(self, attribute: str) -> list[Any]:
        layers = [cell for cell in self._cells if isinstance(cell, Layer)]
        return [variable for layer in layers for variable in getattr(layer, attribute)]

    @property
    def trainable_weights(self) -> list[Any]:
        return self._of_cells("trainable_weights") if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        frozen = [] if self.trainable else self._of_cells("trainable_weights")
        return frozen + self._of_cells("non_trainable_weights")

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Tensor | tuple[Any, Any]]:
        new_states: list[Any] = []
        output, start = inputs, 0
        for i, cell in enumerate(self._cells):
            with variable_scope(f"cell_{i}"):
                if not self._state_is_tuple:
                    own = slice_(state, [0, start], [-1, cell.state_size])
                    start += cell.state_size
                elif nest.is_sequence(state):
                    own = state[i]
                else:
                    raise ValueError(
                        f"Expected state to be a tuple of length {len(self._cells)}, but "
                        f"received: {state}"
                    )
                output, new_state = cell(output, own)
                new_states.append(new_state)
        return output, tuple(new_states) if self._state_is_tuple else concat(new_states, 1)
