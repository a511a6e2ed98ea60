"""`tf.contrib.seq2seq.BasicDecoder`: a cell whose inputs a helper chooses."""

from __future__ import annotations

from typing import Any, NamedTuple

import stillflow as tf
from stillflow import nest
from stillflow.graph.export import export
from stillflow.graph.tensor_shape import TensorShape
from stillflow.layers.base import Layer
from stillflow.nn.rnn_cell.base import assert_like_rnncell
from stillflow_contrib.seq2seq.decoder import Decoder
from stillflow_contrib.seq2seq.helpers import Helper


@export("contrib.seq2seq.BasicDecoderOutput")
class BasicDecoderOutput(NamedTuple):
    """Output of a `BasicDecoder`'s step: the cell's (or its layer's) output, and a sample."""

    rnn_output: Any
    sample_id: Any


def checked_layer(output_layer: Any, kind: type) -> Any:
    """Return a decoder's output layer, or None; raise a TypeError if it is not of that kind."""
    if output_layer is None or isinstance(output_layer, kind):
        return output_layer
    raise TypeError(f"output_layer must be a Layer, received: {type(output_layer)}")


def layer_output_size(size: Any, layer: Any) -> Any:
    """Return the (nested) sizes of a layer's results for outputs of sizes.

    Those where there is none.
    """
    if layer is None:
        return size
    shapes = nest.map_structure(lambda s: TensorShape([None]).concatenate(s), size)
    return nest.map_structure(lambda s: s[1:], layer.compute_output_shape(shapes))


@export("contrib.seq2seq.BasicDecoder")
class BasicDecoder(Decoder):
    """A cell whose inputs a helper chooses.

    Args:
      cell: an RNNCell.
      helper: a Helper.
      initial_state: of the cell.
      output_layer: a layer applied to the cell's outputs.

    Raises:
      TypeError: if an argument is of the wrong type.
    """

    def __init__(
        self, cell: Any, helper: Any, initial_state: Any, output_layer: Any = None
    ) -> None:
        assert_like_rnncell("cell", cell)
        if not isinstance(helper, Helper):
            raise TypeError(f"helper must be a Helper, received: {type(helper)}")
        self._cell, self._helper, self._initial_state = cell, helper, initial_state
        self._output_layer = checked_layer(output_layer, Layer)

    @property
    def batch_size(self) -> Any:
        return self._helper.batch_size

    def _rnn_output_size(self) -> Any:
        return layer_output_size(self._cell.output_size, self._output_layer)

    @property
    def output_size(self) -> BasicDecoderOutput:
        return BasicDecoderOutput(
            rnn_output=self._rnn_output_size(), sample_id=self._helper.sample_ids_shape
        )

    @property
    def output_dtype(self) -> BasicDecoderOutput:
        dtype = nest.flatten(self._initial_state)[0].dtype
        return BasicDecoderOutput(
            nest.map_structure(lambda _: dtype, self._rnn_output_size()),
            self._helper.sample_ids_dtype,
        )

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        return (*self._helper.initialize(), self._initial_state)

    def step(
        self, time: Any, inputs: Any, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        with tf.name_scope(name, "BasicDecoderStep", (time, inputs, state)):
            outputs, cell_state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            sample_ids = self._helper.sample(time=time, outputs=outputs, state=cell_state)
            finished, next_inputs, next_state = self._helper.next_inputs(
                time=time, outputs=outputs, state=cell_state, sample_ids=sample_ids
            )
        return BasicDecoderOutput(outputs, sample_ids), next_state, next_inputs, finished
