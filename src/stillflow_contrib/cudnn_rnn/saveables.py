"""Networks in checkpoints: as the variables of cells that any device runs."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.train.saveables import SaveableObject, SaveSpec
from stillflow.variables.variable_scope import VariableScope
from stillflow_contrib.cudnn_rnn import converters
from stillflow_contrib.cudnn_rnn.modes import (
    CUDNN_INPUT_LINEAR_MODE,
    CUDNN_RNN_UNIDIRECTION,
    directions_of,
)

_GRU_PARTS = ("gates", "candidate/input_projection", "candidate/hidden_projection")


class CudnnOpaqueParamsSaveable(SaveableObject):
    """The vector of a network's weights, saved as the variables of cells.

    Args:
      opaque_params: the variable.
      num_layers, num_units, input_size: the network's sizes.
      input_mode, direction: how it takes its input, and in which directions.
      scope: the scope of the cells, or its name.
      name: of this object.
    """

    _format_converter_cls: type[converters.CudnnParamsFormatConverter]
    _rnn_cell_name: str
    _parts: tuple[str, ...] = ("",)

    def __init__(
        self,
        opaque_params: Any,
        num_layers: int,
        num_units: int,
        input_size: int,
        input_mode: str = CUDNN_INPUT_LINEAR_MODE,
        direction: str = CUDNN_RNN_UNIDIRECTION,
        scope: Any = None,
        name: str = "cudnn_rnn_saveable",
    ) -> None:
        self._variables = opaque_params
        self._format_converter = self._format_converter_cls(
            num_layers, num_units, input_size, input_mode=input_mode, direction=direction
        )
        weights, biases = self._format_converter.opaque_to_tf_canonical(opaque_params)
        scope = scope.name if isinstance(scope, VariableScope) else scope
        prefix = f"{scope}/" if scope else ""
        prefixes = [
            f"{prefix}{cell}/{part}{'/' if part else ''}"
            for cell in _cells(num_layers, directions_of(direction), self._rnn_cell_name)
            for part in self._parts
        ]
        names = [f"{p}kernel" for p in prefixes] + [f"{p}bias" for p in prefixes]
        specs = [
            SaveSpec(tensor, "", name)
            for tensor, name in zip([*weights, *biases], names, strict=True)
        ]
        super().__init__(tf.identity(opaque_params), specs, name)

    @property
    def format_converter(self) -> converters.CudnnParamsFormatConverter:
        """The converter of the weights."""
        return self._format_converter

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Tensor:
        """Assign the vector of the restored variables."""
        del restored_shapes
        params = self._format_converter.tf_canonical_to_opaque(restored_tensors)
        return tf.assign(self._variables, params, validate_shape=False)


def _cells(layers: int, directions: int, cell: str) -> list[str]:
    if directions == 1:
        return [f"rnn/multi_rnn_cell/cell_{layer}/{cell}" for layer in range(layers)]
    return [
        f"stack_bidirectional_rnn/cell_{layer}/bidirectional_rnn/{way}/{cell}"
        for layer in range(layers)
        for way in ("fw", "bw")
    ]


@export("contrib.cudnn_rnn.CudnnLSTMSaveable")
class CudnnLSTMSaveable(CudnnOpaqueParamsSaveable):
    """An LSTM, saved as `CudnnCompatibleLSTMCell`s."""

    _format_converter_cls = converters.CudnnParamsFormatConverterLSTM
    _rnn_cell_name = "cudnn_compatible_lstm_cell"


@export("contrib.cudnn_rnn.CudnnGRUSaveable")
class CudnnGRUSaveable(CudnnOpaqueParamsSaveable):
    """Gated recurrent units, saved as `CudnnCompatibleGRUCell`s."""

    _format_converter_cls = converters.CudnnParamsFormatConverterGRU
    _rnn_cell_name = "cudnn_compatible_gru_cell"
    _parts = _GRU_PARTS


@export("contrib.cudnn_rnn.CudnnRNNTanhSaveable")
class CudnnRNNTanhSaveable(CudnnOpaqueParamsSaveable):
    """Plain units with a hyperbolic tangent, saved as `BasicRNNCell`s."""

    _format_converter_cls = converters.CudnnParamsFormatConverterTanh
    _rnn_cell_name = "basic_rnn_cell"


@export("contrib.cudnn_rnn.CudnnRNNReluSaveable")
class CudnnRNNReluSaveable(CudnnOpaqueParamsSaveable):
    """Plain units that are rectified, saved as `BasicRNNCell`s."""

    _format_converter_cls = converters.CudnnParamsFormatConverterRelu
    _rnn_cell_name = "basic_rnn_cell"
