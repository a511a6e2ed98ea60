"""Decoders that are unrolled over a list of inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.rnn.linear import Linear


def argmax_and_embed(
    embedding: Any, output_projection: Any = None, update_embedding: bool = True
) -> Callable[[Any, int], Any]:
    """Return a function that embeds the most likely symbol of an output."""

    def loop_function(output: Any, _: int) -> Tensor:
        if output_projection is not None:
            output = tf.nn.xw_plus_b(output, output_projection[0], output_projection[1])
        embedded = tf.nn.embedding_lookup(embedding, tf.argmax(output, 1))
        return embedded if update_embedding else tf.stop_gradient(embedded)

    return loop_function


def check_projection(projection: Any, num_symbols: int, dtype: Any) -> None:
    """Check the shapes of a pair of weights and biases.

    Raises:
      ValueError: if they do not fit the number of symbols.
    """
    weights = tf.convert_to_tensor(projection[0], dtype=dtype)
    weights.get_shape().assert_is_compatible_with([None, num_symbols])
    biases = tf.convert_to_tensor(projection[1], dtype=dtype)
    biases.get_shape().assert_is_compatible_with([num_symbols])


def _next_input(function: Any, previous: Any, i: int, given: Any) -> Any:
    if function is None or previous is None:
        return given
    with tf.variable_scope("loop_function", reuse=True):
        return function(previous, i)


@export("contrib.legacy_seq2seq.rnn_decoder")
def rnn_decoder(
    decoder_inputs: Iterable[Any],
    initial_state: Any,
    cell: Any,
    loop_function: Callable[[Any, int], Any] | None = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Apply a cell to a list of inputs, or to the previous output.

    Args:
      decoder_inputs: a list over time of [batch, n].
      initial_state: of the cell.
      cell: an RNNCell.
      loop_function: of the output before and the number of the step; gives the next input.
      scope: a variable scope or its name, "rnn_decoder" by default.

    Returns:
      A list over time of outputs, and the last state.
    """
    with tf.variable_scope(scope or "rnn_decoder"):
        state: Any = initial_state
        outputs: list[Any] = []
        previous = None
        for i, given in enumerate(decoder_inputs):
            inputs = _next_input(loop_function, previous, i, given)
            if i > 0:
                tf.get_variable_scope().reuse_variables()
            previous, state = cell(inputs, state)
            outputs.append(previous)
    return outputs, state


@export("contrib.legacy_seq2seq.embedding_rnn_decoder")
def embedding_rnn_decoder(
    decoder_inputs: list[Any],
    initial_state: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """`rnn_decoder` on embedded symbols.

    Args:
      decoder_inputs: a list over time of int32 [batch].
      initial_state, cell: as of `rnn_decoder`.
      num_symbols: how many symbols there are.
      embedding_size: the size of a vector.
      output_projection: weights and biases from outputs to symbols, or None.
      feed_previous: True if only the first input counts, and others are the most likely outputs.
      update_embedding_for_previous: whether gradients go through those to the embedding.
      scope: a variable scope or its name, "embedding_rnn_decoder" by default.

    Returns:
      A list over time of outputs, and the last state.
    """
    with tf.variable_scope(scope or "embedding_rnn_decoder") as opened:
        if output_projection is not None:
            check_projection(output_projection, num_symbols, opened.dtype)
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size])
        update = update_embedding_for_previous
        function = argmax_and_embed(embedding, output_projection, update) if feed_previous else None
        embedded = (tf.nn.embedding_lookup(embedding, i) for i in decoder_inputs)
        return rnn_decoder(embedded, initial_state, cell, loop_function=function)


class _Heads:
    """Attention of several heads over the states of an encoder."""

    def __init__(self, states: Any, heads: int, dtype: Any) -> None:
        self.dtype, self.heads = dtype, heads
        self.length = states.get_shape()[1].value
        if self.length is None:
            self.length = tf.shape(states)[1]
        self.size = size = states.get_shape()[2].value
        self.hidden = tf.reshape(states, [-1, self.length, 1, size])
        self.features, self.vectors = [], []
        for a in range(heads):
            kernel = tf.get_variable(f"AttnW_{a}", [1, 1, size, size], dtype=dtype)
            self.features.append(tf.nn.conv2d(self.hidden, kernel, [1, 1, 1, 1], "SAME"))
            self.vectors.append(tf.get_variable(f"AttnV_{a}", [size], dtype=dtype))

    def zeros(self, batch_size: Any) -> list[Any]:
        shape = tf.stack([batch_size, self.size])
        values = [tf.zeros(shape, dtype=self.dtype) for _ in range(self.heads)]
        for value in values:
            value.set_shape([None, self.size])
        return values

    def __call__(self, query: Any) -> list[Any]:
        if nest.is_sequence(query):
            parts = nest.flatten(query)
            if any(part.get_shape().ndims not in (None, 0, 2) for part in parts):
                raise ValueError("The parts of a state that attention sees must be matrices")
            query = tf.concat(parts, 1)
        return [self._head(a, query) for a in range(self.heads)]

    def _head(self, a: int, query: Any) -> Tensor:
        with tf.variable_scope(f"Attention_{a}"):
            y = Linear(query, self.size, True)(query)
            y = tf.cast(tf.reshape(y, [-1, 1, 1, self.size]), self.dtype)
            scores = tf.reduce_sum(self.vectors[a] * tf.tanh(self.features[a] + y), [2, 3])
            weights = tf.nn.softmax(tf.cast(scores, dtype=tf.float32))
            weights = tf.reshape(tf.cast(weights, self.dtype), [-1, self.length, 1, 1])
            attended = tf.reduce_sum(weights * self.hidden, [1, 2])
            return tf.reshape(attended, [-1, self.size])


@export("contrib.legacy_seq2seq.attention_decoder")
def attention_decoder(
    decoder_inputs: list[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: Callable[[Any, int], Any] | None = None,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """`rnn_decoder` that looks at the states of an encoder (Vinyals et al., 2015).

    Args:
      decoder_inputs, initial_state, cell, loop_function: as of `rnn_decoder`.
      attention_states: [batch, time, n].
      output_size: of the outputs; that of the cell by default.
      num_heads: how many heads look.
      dtype: of the variables; that of the variable scope by default.
      scope: a variable scope or its name, "attention_decoder" by default.
      initial_state_attention: whether to look before the first step, else that gets zeros.

    Returns:
      A list over time of outputs, and the last state.

    Raises:
      ValueError: if there are no inputs or heads, or sizes are unknown.
    """
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    if attention_states.get_shape()[2].value is None:
        raise ValueError(
            f"Shape[2] of attention_states must be known: {attention_states.get_shape()}"
        )
    output_size = cell.output_size if output_size is None else output_size
    with tf.variable_scope(scope or "attention_decoder", dtype=dtype) as opened:
        dtype = opened.dtype
        batch_size = tf.shape(decoder_inputs[0])[0]
        attend = _Heads(attention_states, num_heads, dtype)
        state: Any = initial_state
        outputs: list[Any] = []
        previous = None
        attns = attend.zeros(batch_size)
        if initial_state_attention:
            attns = attend(initial_state)
        for i, given in enumerate(decoder_inputs):
            if i > 0:
                tf.get_variable_scope().reuse_variables()
            value = _next_input(loop_function, previous, i, given)
            size = value.get_shape().with_rank(2)[1]
            if size.value is None:
                raise ValueError(f"Could not infer input size from input: {value.name}")
            inputs = [tf.cast(part, dtype) for part in [value, *attns]]
            cell_output, state = cell(Linear(inputs, size, True)(inputs), state)
            again = i == 0 and initial_state_attention
            if again:
                with tf.variable_scope(tf.get_variable_scope(), reuse=True):
                    attns = attend(state)
            else:
                attns = attend(state)
            with tf.variable_scope("AttnOutputProjection"):
                inputs = [tf.cast(cell_output, dtype), *attns]
                previous = Linear(inputs, output_size, True)(inputs)
            outputs.append(previous)
    return outputs, state


@export("contrib.legacy_seq2seq.embedding_attention_decoder")
def embedding_attention_decoder(
    decoder_inputs: list[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_size: int | None = None,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """`attention_decoder` on embedded symbols.

    Args:
      initial_state, attention_states, cell, num_heads, output_size, dtype,
        initial_state_attention: as of `attention_decoder`.
      decoder_inputs, num_symbols, embedding_size, output_projection, feed_previous,
        update_embedding_for_previous: as of `embedding_rnn_decoder`.
      scope: a variable scope or its name, "embedding_attention_decoder" by default.

    Returns:
      A list over time of outputs, and the last state.
    """
    output_size = cell.output_size if output_size is None else output_size
    if output_projection is not None:
        biases = tf.convert_to_tensor(output_projection[1], dtype=dtype)
        biases.get_shape().assert_is_compatible_with([num_symbols])
    with tf.variable_scope(scope or "embedding_attention_decoder", dtype=dtype):
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size])
        update = update_embedding_for_previous
        function = argmax_and_embed(embedding, output_projection, update) if feed_previous else None
        embedded = [tf.nn.embedding_lookup(embedding, i) for i in decoder_inputs]
        return attention_decoder(
            embedded, initial_state, attention_states, cell, output_size=output_size,
            num_heads=num_heads, loop_function=function,
            initial_state_attention=initial_state_attention,
        )  # fmt: skip
