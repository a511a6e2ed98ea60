"""Grids of one to three dimensions with the usual cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.export import export
from stillflow.nn.rnn_cell.lstm import BasicLSTMCell, LSTMCell
from stillflow.nn.rnn_cell.simple import BasicRNNCell, GRUCell
from stillflow_contrib.grid_rnn.cell import GridRNNCell

_Activation = Callable[[Any], Any] | None


class _FirstDimensionCell(GridRNNCell):
    """A grid whose first dimension takes inputs, gives outputs, and has priority.

    Args:
      num_units: the size of the memories.
      num_dims: how many dimensions there are.
      cell_fn: makes a cell of a number of units.
      tied: whether all dimensions share one cell.
      non_recurrent_fn: an activation, if the first dimension is to be a dense layer.
      state_is_tuple, output_is_tuple: whether state and output are tuples.
    """

    def __init__(
        self, num_units: int, num_dims: int, cell_fn: Callable[[int], Any], tied: bool = False,
        non_recurrent_fn: _Activation = None, state_is_tuple: bool = True,
        output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units=num_units, num_dims=num_dims, input_dims=0, output_dims=0, priority_dims=0,
            tied=tied, non_recurrent_dims=None if non_recurrent_fn is None else 0,
            cell_fn=cell_fn, non_recurrent_fn=non_recurrent_fn, state_is_tuple=state_is_tuple,
            output_is_tuple=output_is_tuple,
        )  # fmt: skip


def _basic_lstm(forget_bias: float) -> Callable[[int], Any]:
    return lambda units: BasicLSTMCell(num_units=units, forget_bias=forget_bias)


def _lstm(forget_bias: float, use_peepholes: bool) -> Callable[[int], Any]:
    return lambda units: LSTMCell(
        num_units=units, forget_bias=forget_bias, use_peepholes=use_peepholes
    )


@export("contrib.grid_rnn.Grid1BasicRNNCell")
class Grid1BasicRNNCell(_FirstDimensionCell):
    """One dimension of `BasicRNNCell`; arguments are those of `GridRNNCell`."""

    def __init__(
        self, num_units: int, state_is_tuple: bool = True, output_is_tuple: bool = True
    ) -> None:
        super().__init__(
            num_units, 1, BasicRNNCell, state_is_tuple=state_is_tuple,
            output_is_tuple=output_is_tuple,
        )  # fmt: skip


@export("contrib.grid_rnn.Grid2BasicRNNCell")
class Grid2BasicRNNCell(_FirstDimensionCell):
    """Two dimensions of `BasicRNNCell`; arguments are those of `GridRNNCell`."""

    def __init__(
        self, num_units: int, tied: bool = False, non_recurrent_fn: _Activation = None,
        state_is_tuple: bool = True, output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, 2, BasicRNNCell, tied, non_recurrent_fn, state_is_tuple, output_is_tuple
        )


@export("contrib.grid_rnn.Grid1BasicLSTMCell")
class Grid1BasicLSTMCell(_FirstDimensionCell):
    """One dimension of `BasicLSTMCell`; arguments are those of both classes."""

    def __init__(
        self, num_units: int, forget_bias: float = 1, state_is_tuple: bool = True,
        output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, 1, _basic_lstm(forget_bias), state_is_tuple=state_is_tuple,
            output_is_tuple=output_is_tuple,
        )  # fmt: skip


@export("contrib.grid_rnn.Grid2BasicLSTMCell")
class Grid2BasicLSTMCell(_FirstDimensionCell):
    """Two dimensions of `BasicLSTMCell`; arguments are those of both classes."""

    def __init__(
        self, num_units: int, tied: bool = False, non_recurrent_fn: _Activation = None,
        forget_bias: float = 1, state_is_tuple: bool = True, output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, 2, _basic_lstm(forget_bias), tied, non_recurrent_fn, state_is_tuple,
            output_is_tuple,
        )  # fmt: skip


@export("contrib.grid_rnn.Grid1LSTMCell")
class Grid1LSTMCell(_FirstDimensionCell):
    """One dimension of `LSTMCell`; arguments are those of both classes."""

    def __init__(
        self, num_units: int, use_peepholes: bool = False, forget_bias: float = 1.0,
        state_is_tuple: bool = True, output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, 1, _lstm(forget_bias, use_peepholes), state_is_tuple=state_is_tuple,
            output_is_tuple=output_is_tuple,
        )  # fmt: skip


class _LSTMGrid(_FirstDimensionCell):
    """Some dimensions of `LSTMCell`; arguments are those of both classes."""

    dimensions: int

    def __init__(
        self, num_units: int, tied: bool = False, non_recurrent_fn: _Activation = None,
        use_peepholes: bool = False, forget_bias: float = 1.0, state_is_tuple: bool = True,
        output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, self.dimensions, _lstm(forget_bias, use_peepholes), tied, non_recurrent_fn,
            state_is_tuple, output_is_tuple,
        )  # fmt: skip


@export("contrib.grid_rnn.Grid2LSTMCell")
class Grid2LSTMCell(_LSTMGrid):
    """Two dimensions of `LSTMCell`; arguments are those of both classes."""

    dimensions = 2


@export("contrib.grid_rnn.Grid3LSTMCell")
class Grid3LSTMCell(_LSTMGrid):
    """Three dimensions of `LSTMCell`; arguments are those of both classes."""

    dimensions = 3


@export("contrib.grid_rnn.Grid2GRUCell")
class Grid2GRUCell(_FirstDimensionCell):
    """Two dimensions of `GRUCell`; arguments are those of `GridRNNCell`."""

    def __init__(
        self, num_units: int, tied: bool = False, non_recurrent_fn: _Activation = None,
        state_is_tuple: bool = True, output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            num_units, 2, GRUCell, tied, non_recurrent_fn, state_is_tuple, output_is_tuple
        )
