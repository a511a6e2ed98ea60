"""Between the one vector of a network's weights and the variables of cells.

The vector has weights for each gate, apart for the input and the state, and two biases for each
gate. Cells have matrices for all gates, for input and state together, and one bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.recurrent.cudnn import to_canonical_ops, to_params_ops
from stillflow_contrib.cudnn_rnn.modes import (
    CUDNN_GRU,
    CUDNN_INPUT_LINEAR_MODE,
    CUDNN_LSTM,
    CUDNN_RNN_RELU,
    CUDNN_RNN_TANH,
    CUDNN_RNN_UNIDIRECTION,
    PARAMS_PER_LAYER,
    directions_of,
)

Tensors = list[Any]


class CudnnParamsFormatConverter:
    """Converter of one network's weights.

    Args:
      num_layers, num_units, input_size: its sizes.
      num_proj: the size the state is brought to, if any.
      input_mode: how the input is taken.
      direction: "unidirectional" or "bidirectional".
    """

    _rnn_mode: str

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_size: int,
        num_proj: int | None = None,
        input_mode: str = CUDNN_INPUT_LINEAR_MODE,
        direction: str = CUDNN_RNN_UNIDIRECTION,
    ) -> None:
        self._num_layers, self._num_units, self._input_size = num_layers, num_units, input_size
        self._num_proj = num_proj
        self._num_dirs = directions_of(direction)
        self._parts = num_layers * self._num_dirs
        self._how = {"rnn_mode": self._rnn_mode, "input_mode": input_mode, "direction": direction}

    def tf_canonical_to_opaque(self, tf_canonicals: Any, weights_proj: Any = None) -> Tensor:
        """Return the vector of these variables: all weights, then all biases.

        Args:
          tf_canonicals: layer by layer, the forward direction of a layer first.
          weights_proj: the projections, if there are any.
        """
        half = len(tf_canonicals) // 2
        of_weights, of_biases = self._split(tf_canonicals[:half]), self._split(tf_canonicals[half:])
        weights: Tensors = []
        biases: Tensors = []
        for part in range(self._parts):
            layer = part // self._num_dirs
            weights.extend(self._weights_from_cells(layer, *of_weights[part]))
            if weights_proj is not None:
                weights.append(tf.transpose(weights_proj[part]))
            biases.extend(self._biases_from_cells(*of_biases[part]))
        weights = [tf.reshape(weight, [-1]) for weight in weights]
        with tf.device("/gpu:0"):
            if self._num_proj:
                return to_params_ops["V2"](
                    *self._sizes(), weights, biases, num_proj=self._num_proj, **self._how
                )
            return to_params_ops[""](*self._sizes(), weights, biases, **self._how)

    def opaque_to_tf_canonical(self, opaque_param: Any) -> tuple[Tensors, ...]:
        """Return the weights and biases of cells in a vector, and any projections."""
        count = self._parts * PARAMS_PER_LAYER[self._rnn_mode]
        with tf.device("/gpu:0"):
            if self._num_proj:
                made = to_canonical_ops["V2"](
                    *self._sizes(), opaque_param, num_params_weights=count + self._parts,
                    num_params_biases=count, num_proj=self._num_proj, **self._how,
                )  # fmt: skip
            else:
                made = to_canonical_ops[""](
                    *self._sizes(), opaque_param, num_params=count, **self._how
                )
        weights: Tensors = []
        biases: Tensors = []
        projections: Tensors = []
        for given, offsets in zip(self._split(made[0]), self._split(made[1]), strict=True):
            found = self._weights_for_cells(*given)
            if self._num_proj:
                *found, projection = found
                projections.append(projection)
            weights.extend(found)
            biases.extend(self._biases_for_cells(*offsets))
        return (weights, biases, projections) if self._num_proj else (weights, biases)

    def _sizes(self) -> tuple[int, int, int]:
        return self._num_layers, self._num_units, self._input_size

    def _split(self, tensors: Sequence[Any]) -> list[Sequence[Any]]:
        """Return the tensors of each direction of each layer."""
        count = len(tensors) // self._parts
        return [tensors[i * count : (i + 1) * count] for i in range(self._parts)]

    def _widths(self, layer: int) -> list[int]:
        """Return the widths of a layer's input and state."""
        state = self._num_proj or self._num_units
        return [self._input_size if layer == 0 else state * self._num_dirs, state]

    def _weights_for_cells(self, *weights: Any) -> Tensors:
        raise NotImplementedError("Abstract method")

    def _weights_from_cells(self, layer: int, *weights: Any) -> Tensors:
        raise NotImplementedError("Abstract method")

    def _biases_for_cells(self, *biases: Any) -> Tensors:
        raise NotImplementedError("Abstract method")

    def _biases_from_cells(self, *biases: Any) -> Tensors:
        raise NotImplementedError("Abstract method")


@export("contrib.cudnn_rnn.CudnnParamsFormatConverterLSTM")
class CudnnParamsFormatConverterLSTM(CudnnParamsFormatConverter):
    """Converter of weights of LSTMs."""

    _rnn_mode = CUDNN_LSTM

    @staticmethod
    def _reordered(first: Any, second: Any, third: Any, fourth: Any) -> Tensors:
        """Forgetting and new memory change places: cells have these gates the other way round."""
        return [first, third, second, fourth]

    def _weights_for_cells(self, *weights: Any) -> Tensors:
        gates = [tf.concat(pair, axis=1) for pair in zip(weights[:4], weights[4:8], strict=True)]
        kernel = tf.transpose(tf.concat(self._reordered(*gates), axis=0))
        return [kernel, *(tf.transpose(projection) for projection in weights[8:])]

    def _weights_from_cells(self, layer: int, *weights: Any) -> Tensors:
        (kernel,) = weights
        gates = tf.split(tf.transpose(kernel), 4, axis=0)
        pairs = [tf.split(gate, self._widths(layer), axis=1) for gate in gates]
        pairs = self._reordered(*pairs)
        return [of_input for of_input, _ in pairs] + [of_state for _, of_state in pairs]

    def _biases_for_cells(self, *biases: Any) -> Tensors:
        gates = [a + b for a, b in zip(biases[:4], biases[4:], strict=True)]
        return [tf.concat(self._reordered(*gates), axis=0)]

    def _biases_from_cells(self, *biases: Any) -> Tensors:
        (bias,) = biases
        halves = [gate * 0.5 for gate in self._reordered(*tf.split(bias, 4, axis=0))]
        return halves + halves


@export("contrib.cudnn_rnn.CudnnParamsFormatConverterGRU")
class CudnnParamsFormatConverterGRU(CudnnParamsFormatConverter):
    """Converter of weights of gated recurrent units."""

    _rnn_mode = CUDNN_GRU

    def _weights_for_cells(self, *weights: Any) -> Tensors:
        gates = [tf.concat(pair, axis=1) for pair in zip(weights[:2], weights[3:5], strict=True)]
        kernel = tf.transpose(tf.concat(gates, axis=0))
        return [kernel, tf.transpose(weights[2]), tf.transpose(weights[5])]

    def _weights_from_cells(self, layer: int, *weights: Any) -> Tensors:
        kernel, of_input, of_state = (tf.transpose(weight) for weight in weights)
        gates = tf.split(kernel, 2, axis=0)
        pairs = [tf.split(gate, self._widths(layer), axis=1) for gate in gates]
        return [pairs[0][0], pairs[1][0], of_input, pairs[0][1], pairs[1][1], of_state]

    def _biases_for_cells(self, *biases: Any) -> Tensors:
        gates = tf.concat(biases[:2], axis=0) + tf.concat(biases[3:5], axis=0)
        return [gates, biases[2], biases[5]]

    def _biases_from_cells(self, *biases: Any) -> Tensors:
        gates, of_input, of_state = biases
        halves = [gates * 0.5, gates * 0.5]
        given, recurrent = (tf.split(half, 2, axis=0) for half in halves)
        return [*given, of_input, *recurrent, of_state]


class CudnnParamsFormatConverterBasic(CudnnParamsFormatConverter):
    """Converter of weights of plain units."""

    def _weights_for_cells(self, *weights: Any) -> Tensors:
        return [tf.transpose(tf.concat(weights, axis=1))]

    def _weights_from_cells(self, layer: int, *weights: Any) -> Tensors:
        (kernel,) = weights
        pair: Tensors = tf.split(tf.transpose(kernel), self._widths(layer), axis=1)
        return pair

    def _biases_for_cells(self, *biases: Any) -> Tensors:
        return [biases[0] + biases[1]]

    def _biases_from_cells(self, *biases: Any) -> Tensors:
        (bias,) = biases
        return [bias * 0.5, bias * 0.5]


@export("contrib.cudnn_rnn.CudnnParamsFormatConverterTanh")
class CudnnParamsFormatConverterTanh(CudnnParamsFormatConverterBasic):
    """Converter of weights of plain units with a hyperbolic tangent."""

    _rnn_mode = CUDNN_RNN_TANH


@export("contrib.cudnn_rnn.CudnnParamsFormatConverterRelu")
class CudnnParamsFormatConverterRelu(CudnnParamsFormatConverterBasic):
    """Converter of weights of plain rectified units."""

    _rnn_mode = CUDNN_RNN_RELU
