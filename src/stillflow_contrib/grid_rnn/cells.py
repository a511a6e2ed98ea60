"""Grids of one to three dimensions with the usual cells."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from stillflow.graph.export import export
from stillflow.nn.rnn_cell.lstm import BasicLSTMCell, LSTMCell
from stillflow.nn.rnn_cell.simple import BasicRNNCell, GRUCell
from stillflow_contrib.grid_rnn.cell import GridRNNCell

_Activation = Callable[[Any], Any] | None


class _FirstDimensionCell(GridRNNCell):
    """A grid whose first dimension takes inputs, gives outputs, and has priority."""

    _dims = 2
    _cell: Callable[..., Any]

    def _set_up(self, given: dict[str, Any]) -> None:
        """Construct it of the arguments of a constructor below.

        Args:
          given: `num_units`, the size of the memories; `tied`, whether all dimensions share one
            cell; `non_recurrent_fn`, an activation, if the first dimension is to be a dense layer;
            `state_is_tuple`, `output_is_tuple`; and arguments of the cell.
        """
        of_grid = ("tied", "non_recurrent_fn", "state_is_tuple", "output_is_tuple")
        settings = {name: given[name] for name in of_grid if name in given}
        of_cell = ("forget_bias", "use_peepholes")
        cell = partial(type(self)._cell, **{name: given[name] for name in of_cell if name in given})
        dense = None if settings.get("non_recurrent_fn") is None else 0
        super().__init__(
            given["num_units"], self._dims, input_dims=0, output_dims=0, priority_dims=0,
            non_recurrent_dims=dense, cell_fn=cell, **settings,
        )  # fmt: skip


@export("contrib.grid_rnn.Grid1BasicRNNCell")
class Grid1BasicRNNCell(_FirstDimensionCell):
    """One dimension of `BasicRNNCell`; arguments are those of `GridRNNCell`."""

    _dims = 1
    _cell = BasicRNNCell

    def __init__(
        self, num_units: int, state_is_tuple: bool = True, output_is_tuple: bool = True
    ) -> None:
        self._set_up(dict(locals()))


@export("contrib.grid_rnn.Grid2BasicRNNCell")
class Grid2BasicRNNCell(_FirstDimensionCell):
    """Two dimensions of `BasicRNNCell`; arguments are those of `GridRNNCell`."""

    _cell = BasicRNNCell

    def __init__(
        self, num_units: int, tied: bool = False, non_recurrent_fn: _Activation = None,
        state_is_tuple: bool = True, output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        self._set_up(dict(locals()))


@export("contrib.grid_rnn.Grid1BasicLSTMCell")
class Grid1BasicLSTMCell(_FirstDimensionCell):
    """One dimension of `BasicLSTMCell`; arguments are those of both classes."""

    _dims = 1
    _cell = BasicLSTMCell

    def __init__(
        self, num_units: int, forget_bias: float = 1, state_is_tuple: bool = True,
        output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        self._set_up(dict(locals()))


@export("contrib.grid_rnn.Grid2BasicLSTMCell")
class Grid2BasicLSTMCell(_FirstDimensionCell):
    """Two dimensions of `BasicLSTMCell`; arguments are those of both classes."""

    _cell = BasicLSTMCell

    def __init__(
        self, num_units: int, tied: bool = False, non_recurrent_fn: _Activation = None,
        forget_bias: float = 1, state_is_tuple: bool = True, output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        self._set_up(dict(locals()))


@export("contrib.grid_rnn.Grid1LSTMCell")
class Grid1LSTMCell(_FirstDimensionCell):
    """One dimension of `LSTMCell`; arguments are those of both classes."""

    _dims = 1
    _cell = LSTMCell

    def __init__(
        self, num_units: int, use_peepholes: bool = False, forget_bias: float = 1.0,
        state_is_tuple: bool = True, output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        self._set_up(dict(locals()))


class _LSTMGrid(_FirstDimensionCell):
    """Some dimensions of `LSTMCell`; arguments are those of both classes."""

    _cell = LSTMCell

    def __init__(
        self, num_units: int, tied: bool = False, non_recurrent_fn: _Activation = None,
        use_peepholes: bool = False, forget_bias: float = 1.0, state_is_tuple: bool = True,
        output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        self._set_up(dict(locals()))


@export("contrib.grid_rnn.Grid2LSTMCell")
class Grid2LSTMCell(_LSTMGrid):
    """Two dimensions of `LSTMCell`; arguments are those of both classes."""


@export("contrib.grid_rnn.Grid3LSTMCell")
class Grid3LSTMCell(_LSTMGrid):
    """Three dimensions of `LSTMCell`; arguments are those of both classes."""

    _dims = 3


@export("contrib.grid_rnn.Grid2GRUCell")
class Grid2GRUCell(_FirstDimensionCell):
    """Two dimensions of `GRUCell`; arguments are those of `GridRNNCell`."""

    _cell = GRUCell

    def __init__(
        self, num_units: int, tied: bool = False, non_recurrent_fn: _Activation = None,
        state_is_tuple: bool = True, output_is_tuple: bool = True,
    ) -> None:  # fmt: skip
        self._set_up(dict(locals()))
