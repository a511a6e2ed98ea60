"""Wrappers of cells that are Keras' own: dropout, residual connections, placement on a device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.layers.recurrent.cells import AbstractRNNCell
from stillflow.nn.rnn_cell.dropout import Dropping
from stillflow.nn.rnn_cell.wrappers import OnDevice, Residual, Wrapping

if TYPE_CHECKING:
    from typing_extensions import Self


class CellWrapper(Wrapping, AbstractRNNCell):
    """A cell around another, `cell`, for `tf.keras.layers.RNN`."""

    def __init__(self, cell: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cell = cell

    def call(self, inputs: Any, state: Any, **kwargs: Any) -> tuple[Tensor, list[Tensor]]:
        """(output, new state) of a step, by the cell's `call`; `build` has built the cell."""
        return self._call_wrapped_cell(inputs, state, cell_call_fn=self.cell.call, **kwargs)

    def build(self, inputs_shape: Any) -> None:
        """Build the cell inside."""
        self.cell.build(inputs_shape)
        self.built = True

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Self:
        """Return the wrapper with these arguments, around the cell that `cell` describes."""
        from stillflow.keras.layers.serialization import deserialize

        config = dict(config)
        cell = deserialize(config.pop("cell"), custom_objects=custom_objects)
        return cls(cell, **config)


@export("compat.v2.nn.RNNCellDropoutWrapper")
class DropoutWrapper(Dropping, CellWrapper):
    __doc__ = Dropping.__doc__


@export("compat.v2.nn.RNNCellResidualWrapper")
class ResidualWrapper(Residual, CellWrapper):
    __doc__ = Residual.__doc__


@export("compat.v2.nn.RNNCellDeviceWrapper")
class DeviceWrapper(OnDevice, CellWrapper):
    __doc__ = OnDevice.__doc__
