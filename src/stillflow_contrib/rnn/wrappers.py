"""Wrappers of cells: embeddings, projections, attention over past outputs, highways."""

from __future__ import annotations

import math
from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.graph.card import find
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.nn.rnn_cell.base import RNNCell, assert_like_rnncell, warn_of_joined_state
from stillflow.platform import tf_logging
from stillflow.xla.jit_scope import jit_scope
from stillflow_contrib.rnn.linear import Linears


class _Wrapper(RNNCell):
    """A cell around another, which gives it the sizes and the zero state."""

    def __init__(self, cell: Any, reuse: Any = None) -> None:
        super().__init__(_reuse=reuse)
        assert_like_rnncell("cell", cell)
        self._cell = cell
        self._linear = Linears()

    @property
    def state_size(self) -> Any:
        return self._cell.state_size

    @property
    def output_size(self) -> int:
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return the zero state of the cell inside."""
        with self._zero_state_scope(batch_size):
            return self._cell.zero_state(batch_size, dtype)


@export("contrib.rnn.EmbeddingWrapper")
class EmbeddingWrapper(_Wrapper):
    """Embeds the numbers that a cell gets as inputs.

    Args:
      cell: the cell.
      embedding_classes: how many numbers there are.
      embedding_size: the size of a vector.
      initializer: of the vectors; that of the variable scope, or uniform of variance 1.
      reuse: whether the variables exist already.

    Raises:
      TypeError: if `cell` is no cell.
      ValueError: if a size is not positive.
    """

    def __init__(
        self,
        cell: Any,
        embedding_classes: int,
        embedding_size: int,
        initializer: Any = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                "Both embedding_classes and embedding_size must be > 0: "
                f"{embedding_classes}, {embedding_size}."
            )
        self._shape = [embedding_classes, embedding_size]
        self._initializer = initializer

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Any]:
        with tf.device("/cpu:0"):
            initializer = self._initializer or tf.get_variable_scope().initializer
            if not initializer:
                initializer = tf.random_uniform_initializer(-math.sqrt(3), math.sqrt(3))
            dtype = state[0].dtype if isinstance(state, tuple) else state.dtype
            embedding = tf.get_variable(
                "embedding", self._shape, initializer=initializer, dtype=dtype
            )
            embedded = tf.nn.embedding_lookup(embedding, tf.reshape(inputs, [-1]))
            return self._cell(embedded, state)


@export("contrib.rnn.InputProjectionWrapper")
class InputProjectionWrapper(_Wrapper):
    """Projects the inputs of a cell.

    Args:
      cell: the cell.
      num_proj: the size of what the cell gets.
      activation: of the projection; none by default.
      input_size: not used.
      reuse: whether the variables exist already.

    Raises:
      TypeError: if `cell` is no cell.
    """

    def __init__(
        self,
        cell: Any,
        num_proj: int,
        activation: Any = None,
        input_size: Any = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(cell, reuse)
        if input_size is not None:
            tf_logging.warn("%s: The input_size parameter is deprecated.", self)
        self._num_proj, self._activation = num_proj, activation

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Tensor]:
        projected = self._linear("inputs", inputs, self._num_proj)
        if self._activation:
            projected = self._activation(projected)
        return self._cell(projected, state)


@export("contrib.rnn.OutputProjectionWrapper")
class OutputProjectionWrapper(_Wrapper):
    """Projects the outputs of a cell.

    Args:
      cell: the cell.
      output_size: the size of the projection.
      activation: of the projection; none by default.
      reuse: whether the variables exist already.

    Raises:
      TypeError: if `cell` is no cell.
      ValueError: if the size is not positive.
    """

    def __init__(
        self, cell: Any, output_size: int, activation: Any = None, reuse: Any = None
    ) -> None:
        super().__init__(cell, reuse)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._output_size, self._activation = output_size, activation

    @property
    def output_size(self) -> int:
        return self._output_size

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Any]:
        output, new_state = self._cell(inputs, state)
        projected = self._linear("output", output, self._output_size)
        if self._activation:
            projected = self._activation(projected)
        return projected, new_state


@export("contrib.rnn.HighwayWrapper")
class HighwayWrapper(RNNCell):
    """Mixes the inputs and the outputs of a cell by gates that see the inputs.

    Args:
      cell: the cell.
      couple_carry_transform_gates: whether one gate is 1 minus the other.
      carry_bias_init: the first value of the bias of the gate that carries the inputs.
    """

    def __init__(
        self, cell: Any, couple_carry_transform_gates: bool = True, carry_bias_init: float = 1.0
    ) -> None:
        self._cell = cell
        self._couple = couple_carry_transform_gates
        self._carry_bias_init = carry_bias_init

    state_size = _Wrapper.state_size
    output_size = _Wrapper.output_size
    zero_state = _Wrapper.zero_state

    def _gate(self, name: str, inputs: Any, bias: float) -> Any:
        size = inputs.get_shape().with_rank(2).dims[1].value
        weight = tf.get_variable(f"{name}_w", [size, size])
        initializer = tf.constant_initializer(bias)
        biases = tf.get_variable(f"{name}_b", [size], initializer=initializer)
        return tf.sigmoid(tf.nn.xw_plus_b(inputs, weight, biases))

    def _highway(self, inputs: Any, outputs: Any) -> Any:
        carry = self._gate("carry", inputs, self._carry_bias_init)
        if self._couple:
            transform = 1 - carry
        else:
            transform = self._gate("transform", inputs, -self._carry_bias_init)
        return inputs * carry + outputs * transform

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        outputs, new_state = self._cell(inputs, state, scope=scope)
        nest.assert_same_structure(inputs, outputs)
        nest.map_structure(
            lambda x, y: x.get_shape().assert_is_compatible_with(y.get_shape()), inputs, outputs
        )
        return nest.map_structure(self._highway, inputs, outputs), new_state


@export("contrib.rnn.AttentionCellWrapper")
class AttentionCellWrapper(_Wrapper):
    """Attention over the last outputs of a cell (Bahdanau et al., 2015).

    Args:
      cell: the cell.
      attn_length: how many outputs.
      attn_size: the size of what attention gives; that of the outputs by default.
      attn_vec_size: the size of the space in which states and outputs are compared.
      input_size: the size of what the cell gets; that of the inputs by default.
      state_is_tuple: whether the state is a tuple; else its parts are joined.
      reuse: whether the variables exist already.

    Raises:
      TypeError: if `cell` is no cell.
      ValueError: if the length is not positive, or states are joined that are tuples.
    """

    def __init__(
        self,
        cell: Any,
        attn_length: int,
        attn_size: int | None = None,
        attn_vec_size: int | None = None,
        input_size: int | None = None,
        state_is_tuple: bool = True,
        reuse: Any = None,
    ) -> None:
        super().__init__(cell, reuse)
        if nest.is_sequence(cell.state_size) and not state_is_tuple:
            raise ValueError(
                "Cell returns tuple of states, but the flag state_is_tuple is not set. State size "
                f"is: {cell.state_size}"
            )
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        if not state_is_tuple:
            warn_of_joined_state(self)
        self._attn_size = cell.output_size if attn_size is None else attn_size
        self._attn_vec_size = self._attn_size if attn_vec_size is None else attn_vec_size
        self._attn_length, self._input_size = attn_length, input_size
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        past = self._attn_size * self._attn_length
        sizes = (self._cell.state_size, self._attn_size, past)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        return self._attn_size

    zero_state = RNNCell.zero_state

    def _parts(self, state: Any) -> Any:
        if self._state_is_tuple:
            return state
        own = self._cell.state_size
        sizes = (own, self._attn_size, self._attn_size * self._attn_length)
        starts = (0, own, own + self._attn_size)
        return [
            tf.slice(state, [0, start], [-1, size])
            for start, size in zip(starts, sizes, strict=True)
        ]

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Any]:
        state, attns, past = self._parts(state)
        past = tf.reshape(past, [-1, self._attn_length, self._attn_size])
        input_size = self._input_size or inputs.get_shape().as_list()[1]
        inputs = self._linear("inputs", [inputs, attns], input_size)
        output, new_state = self._cell(inputs, state)
        query = tf.concat(nest.flatten(new_state), 1) if self._state_is_tuple else new_state
        new_attns, new_past = self._attention(query, past)
        with tf.variable_scope("attn_output_projection"):
            output = self._linear("output", [output, new_attns], self._attn_size)
        new_past = tf.concat([new_past, tf.expand_dims(output, 1)], 1)
        new_past = tf.reshape(new_past, [-1, self._attn_length * self._attn_size])
        parts = (new_state, new_attns, new_past)
        return output, parts if self._state_is_tuple else tf.concat(list(parts), 1)

    def _attention(self, query: Any, past: Any) -> tuple[Any, Any]:
        """Return the result of attention, and all but the oldest output."""
        size, units, length = self._attn_size, self._attn_vec_size, self._attn_length
        with tf.variable_scope("attention"):
            kernel = tf.get_variable("attn_w", [1, 1, size, units])
            v = tf.get_variable("attn_v", [units])
            hidden = tf.reshape(past, [-1, length, 1, size])
            features = tf.nn.conv2d(hidden, kernel, [1, 1, 1, 1], "SAME")
            compared = tf.reshape(self._linear("query", query, units), [-1, 1, 1, units])
            scores = tf.reduce_sum(v * tf.tanh(features + compared), [2, 3])
            weights = tf.reshape(tf.nn.softmax(scores), [-1, length, 1, 1])
            attended = tf.reshape(tf.reduce_sum(weights * hidden, [1, 2]), [-1, size])
            return attended, tf.slice(past, [0, 1, 0], [-1, -1, -1])


@export("contrib.rnn.CompiledWrapper")
class CompiledWrapper(RNNCell):
    """Wishes that a cell be compiled.

    Args:
      cell: the cell.
      compile_stateful: whether stateful operations are to be compiled, too.
    """

    def __init__(self, cell: Any, compile_stateful: bool = False) -> None:
        super().__init__()
        self._cell, self._compile_stateful = cell, compile_stateful

    state_size = _Wrapper.state_size
    output_size = _Wrapper.output_size
    zero_state = _Wrapper.zero_state

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """Call the cell, whose operations are marked."""
        wish: Any = self._compile_stateful or _is_stateless
        with jit_scope(compile_ops=wish):
            return self._cell(inputs, state, scope=scope)


def _is_stateless(node_def: Any) -> bool:
    card = find(node_def.op)
    return card is not None and not card.signature.is_stateful
