"""`tf.contrib.seq2seq.AttentionWrapper`: a cell that looks at memories."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import stillflow as tf
from stillflow import nest
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape, dimension_value
from stillflow.layers.core import Dense
from stillflow.nn.rnn_cell.base import RNNCell, assert_like_rnncell
from stillflow.nn.rnn_cell.sizes import zero_state_tensors
from stillflow_contrib.framework.shapes import with_same_shape
from stillflow_contrib.seq2seq.attention import AttentionMechanism

_TILE = "Are you using the BeamSearchDecoder?  "
_ZERO_STATE = (
    "When calling zero_state of AttentionWrapper {}: Non-matching batch sizes between the memory "
    "(encoder output) and the requested batch size.  " + _TILE + "If so, make sure your encoder "
    "output has been tiled to beam_width via tf.contrib.seq2seq.tile_batch, and the batch_size= "
    "argument passed to zero_state is batch_size * beam_width."
)
_INITIAL_STATE = (
    "When constructing AttentionWrapper {}: Non-matching batch sizes between the memory (encoder "
    "output) and initial_cell_state.  " + _TILE + "You may need to tile your initial state via the "
    "tf.contrib.seq2seq.tile_batch function with argument multiple=beam_width."
)
_QUERY = (
    "When applying AttentionWrapper {}: Non-matching batch sizes between the memory (encoder "
    "output) and the query (decoder output).  " + _TILE + "You may need to tile your memory input "
    "via the tf.contrib.seq2seq.tile_batch function with argument multiple=beam_width."
)


class _State(NamedTuple):
    cell_state: Any
    attention: Any
    time: Any
    alignments: Any
    alignment_history: Any
    attention_state: Any


@export("contrib.seq2seq.AttentionWrapperState")
class AttentionWrapperState(_State):
    """The state of an `AttentionWrapper`.

    Attributes:
      cell_state: of the cell inside.
      attention: the result of attention in the step before.
      time: the number of steps done.
      alignments: the weights of the step before, one tensor per mechanism.
      alignment_history: TensorArrays of all weights, if they are kept.
      attention_state: of the mechanisms.
    """

    def clone(self, **kwargs: Any) -> AttentionWrapperState:
        """Return the same state with other values, which must be of the same shapes.

        Raises:
          ValueError: if one is not.
        """
        return nest.map_structure(_like, self, self._replace(**kwargs))


def _like(old: Any, new: Any) -> Any:
    """Return `new` with the shape of `old` checked, if both are tensors."""
    if not isinstance(old, Tensor) or not isinstance(new, Tensor):
        return new
    if not tf.executing_eagerly():
        return with_same_shape(old, new)
    if old.shape.as_list() != new.shape.as_list():
        raise ValueError(
            "The shape of the AttentionWrapperState is expected to be same as the one to clone. "
            f"self.shape: {old.shape}, input.shape: {new.shape}"
        )
    return new


def _attend(
    mechanism: Any, cell_output: Any, attention_state: Any, attention_layer: Any
) -> tuple[Any, Any, Any]:
    """Return a mechanism's context for a query, its weights, and its next state."""
    alignments, next_state = mechanism(cell_output, state=attention_state)
    context = tf.squeeze(tf.matmul(tf.expand_dims(alignments, 1), mechanism.values), [1])
    if attention_layer is None:
        return context, alignments, next_state
    return attention_layer(tf.concat([cell_output, context], 1)), alignments, next_state


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _known_columns(shape: Any) -> Any:
    return dimension_value(shape[-1])


@export("contrib.seq2seq.AttentionWrapper")
class AttentionWrapper(RNNCell):
    """Cell with attention to memories by its outputs, and the contexts as further inputs.

    Args:
      cell: the cell.
      attention_mechanism: one, or a list of them.
      attention_layer_size: the size of a layer that sees output and context, one per mechanism;
        by default attention is the context itself.
      alignment_history: whether all weights are kept.
      cell_input_fn: of inputs and attention; joins them by default.
      output_attention: whether the output is the attention, else that of the cell.
      initial_cell_state: the state of the cell that `zero_state` gives.
      name: of the variable scope.
      attention_layer: the layers themselves.
      attention_fn: computes attention, weights and next state.
      dtype: of the variables.

    Raises:
      TypeError: if an argument is of the wrong type.
      ValueError: if sizes or layers do not fit the mechanisms.
    """

    def __init__(
        self,
        cell: Any,
        attention_mechanism: Any,
        attention_layer_size: Any = None,
        alignment_history: bool = False,
        cell_input_fn: Any = None,
        output_attention: bool = True,
        initial_cell_state: Any = None,
        name: Any = None,
        attention_layer: Any = None,
        attention_fn: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        assert_like_rnncell("cell", cell)
        self._is_multi = isinstance(attention_mechanism, (list, tuple))
        self._attention_mechanisms = _as_tuple(attention_mechanism)
        self._check_mechanisms()
        if cell_input_fn is not None and not callable(cell_input_fn):
            raise TypeError(
                f"cell_input_fn must be callable, saw type: {type(cell_input_fn).__name__}"
            )
        self._cell = cell
        self._set_layers(attention_layer_size, attention_layer)
        self._attention_fn = attention_fn or _attend
        self._cell_input_fn = cell_input_fn or (
            lambda inputs, attention: tf.concat([inputs, attention], -1)
        )
        self._output_attention = output_attention
        self._alignment_history = alignment_history
        self._initial_cell_state = None
        with tf.name_scope(name, "AttentionWrapperInit"):
            if initial_cell_state is not None:
                self._initial_cell_state = self._checked_initial_state(initial_cell_state)

    def _check_mechanisms(self) -> None:
        message = (
            "attention_mechanism must contain only instances of AttentionMechanism, saw type: "
            if self._is_multi
            else "attention_mechanism must be an AttentionMechanism or list of multiple "
            "AttentionMechanism instances, saw type: "
        )
        for mechanism in self._attention_mechanisms:
            if not isinstance(mechanism, AttentionMechanism):
                raise TypeError(message + type(mechanism).__name__)

    def _set_layers(self, sizes: Any, layers: Any) -> None:
        """Set the layers of output and context, and the size of their results together."""
        mechanisms: Any = self._attention_mechanisms
        if sizes is not None and layers is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        given = _as_tuple(layers if sizes is None else sizes)
        which, items = ("attention_layer", "layer") if sizes is None else (
            "attention_layer_size", "integer")  # fmt: skip
        self._attention_layers: Any = None
        if sizes is None and layers is None:
            self._attention_layer_size = sum(_known_columns(m.values.shape) for m in mechanisms)
            return
        if len(given) != len(mechanisms):
            raise ValueError(
                f"If provided, {which} must contain exactly one {items} per attention_mechanism, "
                f"saw: {len(given)} vs {len(mechanisms)}"
            )
        if sizes is not None:
            self._attention_layers = tuple(
                Dense(size, name="attention_layer", use_bias=False, dtype=mechanism.dtype)
                for size, mechanism in zip(given, mechanisms, strict=True)
            )
            self._attention_layer_size = sum(given)
            return
        self._attention_layers = given
        columns = [self._cell.output_size + _known_columns(m.values.shape) for m in mechanisms]
        self._attention_layer_size = sum(
            _known_columns(layer.compute_output_shape([None, size]))
            for layer, size in zip(given, columns, strict=True)
        )

    def _checked_initial_state(self, state: Any) -> Any:
        last = nest.flatten(state)[-1]
        batch_size = dimension_value(last.shape[0]) or tf.shape(last)[0]
        message = _INITIAL_STATE.format(self._base_name)
        with tf.control_dependencies(self._batch_size_checks(batch_size, message)):
            return nest.map_structure(
                lambda s: tf.identity(s, name="check_initial_cell_state"), state
            )

    def _batch_size_checks(self, batch_size: Any, message: str) -> list[Any]:
        mechanisms: Any = self._attention_mechanisms
        return [
            tf.assert_equal(batch_size, mechanism.batch_size, message=message)
            for mechanism in mechanisms
        ]

    def _item_or_tuple(self, values: Iterable[Any]) -> Any:
        values = tuple(values)
        return values if self._is_multi else values[0]

    @property
    def output_size(self) -> int:
        return self._attention_layer_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> AttentionWrapperState:
        mechanisms, kept = self._attention_mechanisms, self._alignment_history
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            time=TensorShape([]),
            attention=self._attention_layer_size,
            alignments=self._item_or_tuple(m.alignments_size for m in mechanisms),
            attention_state=self._item_or_tuple(m.state_size for m in mechanisms),
            alignment_history=self._item_or_tuple(
                m.alignments_size if kept else () for m in mechanisms
            ),
        )

    def zero_state(self, batch_size: Any, dtype: Any) -> AttentionWrapperState:
        """Return the state before the first step.

        Args:
          batch_size: that of the memories.
          dtype: of the state.
        """
        mechanisms: Any = self._attention_mechanisms
        with self._zero_state_scope(batch_size):
            cell_state = self._initial_cell_state
            if cell_state is None:
                cell_state = self._cell.get_initial_state(batch_size=batch_size, dtype=dtype)
            message = _ZERO_STATE.format(self._base_name)
            with tf.control_dependencies(self._batch_size_checks(batch_size, message)):
                cell_state = nest.map_structure(
                    lambda s: tf.identity(s, name="checked_cell_state"), cell_state
                )
            alignments = [m.initial_alignments(batch_size, dtype) for m in mechanisms]
            return AttentionWrapperState(
                cell_state=cell_state,
                time=tf.zeros([], dtype=tf.int32),
                attention=zero_state_tensors(self._attention_layer_size, batch_size, dtype),
                alignments=self._item_or_tuple(alignments),
                attention_state=self._item_or_tuple(
                    m.initial_state(batch_size, dtype) for m in mechanisms
                ),
                alignment_history=self._item_or_tuple(
                    self._history(weights, dtype) for weights in alignments
                ),
            )

    def _history(self, weights: Any, dtype: Any) -> Any:
        if not self._alignment_history:
            return ()
        return tf.TensorArray(dtype, size=0, dynamic_size=True, element_shape=weights.shape)

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, AttentionWrapperState]:
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(
                "Expected state to be instance of AttentionWrapperState. Received type "
                f"{type(state)} instead."
            )
        cell_inputs = self._cell_input_fn(inputs, state.attention)
        output, next_cell_state = self._cell(cell_inputs, state.cell_state)
        batch_size = dimension_value(output.shape[0]) or tf.shape(output)[0]
        with tf.control_dependencies(self._batch_size_checks(batch_size, _QUERY.format(self.name))):
            output = tf.identity(output, name="checked_cell_output")
        states, histories = state.attention_state, state.alignment_history
        if not self._is_multi:
            states, histories = [states], [histories]
        results = []
        for i, mechanism in enumerate(self._attention_mechanisms):
            layer = self._attention_layers[i] if self._attention_layers else None
            attention, weights, next_state = self._attention_fn(mechanism, output, states[i], layer)
            kept = self._alignment_history
            history = histories[i].write(state.time, weights) if kept else ()
            results.append((attention, weights, next_state, history))
        attentions, weights, next_states, next_histories = zip(*results, strict=True)
        attention = tf.concat(list(attentions), 1)
        following = AttentionWrapperState(
            time=state.time + 1,
            cell_state=next_cell_state,
            attention=attention,
            attention_state=self._item_or_tuple(next_states),
            alignments=self._item_or_tuple(weights),
            alignment_history=self._item_or_tuple(next_histories),
        )
        return (attention if self._output_attention else output), following
