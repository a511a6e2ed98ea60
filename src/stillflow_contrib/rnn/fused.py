"""Cells that take a whole sequence."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.nn.recurrent.dynamic import dynamic_rnn
from stillflow.nn.recurrent.static import static_rnn


@export("contrib.rnn.FusedRNNCell")
class FusedRNNCell:
    """A cell that takes a whole sequence; a subclass says how."""

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """Return the outputs and the last state.

        Args:
          inputs: [time, batch, n], or a list over time.
          initial_state: of the cell; zeros by default.
          dtype: of the zero state and the outputs.
          sequence_length: int [batch].
          scope: of the variables.
        """
        raise NotImplementedError


@export("contrib.rnn.FusedRNNCellAdaptor")
class FusedRNNCellAdaptor(FusedRNNCell):
    """An RNNCell as one that takes a whole sequence.

    Args:
      cell: the cell.
      use_dynamic_rnn: whether it runs in a loop of the graph.
    """

    def __init__(self, cell: Any, use_dynamic_rnn: bool = False) -> None:
        self._cell, self._use_dynamic_rnn = cell, use_dynamic_rnn

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """Return the outputs, in the form of the inputs, and the last state."""
        is_list, dynamic = isinstance(inputs, list), self._use_dynamic_rnn
        options = {
            "sequence_length": sequence_length, "initial_state": initial_state, "dtype": dtype,
            "scope": scope,
        }  # fmt: skip
        if dynamic:
            inputs = tf.stack(inputs) if is_list else inputs
            outputs, state = dynamic_rnn(self._cell, inputs, time_major=True, **options)
            return tf.unstack(outputs) if is_list else outputs, state
        inputs = inputs if is_list else tf.unstack(inputs)
        outputs, state = static_rnn(self._cell, inputs, **options)
        return outputs if is_list else tf.stack(outputs), state


@export("contrib.rnn.TimeReversedFusedRNN")
class TimeReversedFusedRNN(FusedRNNCell):
    """A cell that takes a whole sequence, from its last to its first element.

    Args:
      cell: a FusedRNNCell.
    """

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def _reverse(self, values: Any, lengths: Any) -> Any:
        if isinstance(values, list):
            return list(reversed(values))
        if lengths is None:
            return tf.reverse(values, [0])
        return tf.reverse_sequence(values, lengths, 0, 1)

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """Return the outputs, in the order of the inputs, and the last state."""
        outputs, state = self._cell(
            self._reverse(inputs, sequence_length),
            initial_state=initial_state, dtype=dtype, sequence_length=sequence_length, scope=scope,
        )  # fmt: skip
        return self._reverse(outputs, sequence_length), state
