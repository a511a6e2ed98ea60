"""Whole models: an encoder and a decoder, unrolled over lists of inputs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.graph.export import export
from stillflow.nn.recurrent.static import static_rnn
from stillflow.nn.rnn_cell.base import RNNCell
from stillflow_contrib.legacy_seq2seq.decoders import (
    argmax_and_embed,
    check_projection,
    embedding_attention_decoder,
    embedding_rnn_decoder,
    rnn_decoder,
)
from stillflow_contrib.rnn.wrappers import EmbeddingWrapper, OutputProjectionWrapper

float32 = tf.float32


@export("contrib.legacy_seq2seq.basic_rnn_seq2seq")
def basic_rnn_seq2seq(
    encoder_inputs: list[Any],
    decoder_inputs: list[Any],
    cell: Any,
    dtype: Any = float32,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Return an encoder and a decoder of the same kind.

    Args:
      encoder_inputs, decoder_inputs: lists over time of [batch, n].
      cell: an RNNCell; the encoder gets a copy.
      dtype: of the encoder's first state.
      scope: a variable scope or its name, "basic_rnn_seq2seq" by default.

    Returns:
      A list over time of the decoder's outputs, and its last state.
    """
    with tf.variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


@export("contrib.legacy_seq2seq.tied_rnn_seq2seq")
def tied_rnn_seq2seq(
    encoder_inputs: list[Any],
    decoder_inputs: list[Any],
    cell: Any,
    loop_function: Callable[[Any, int], Any] | None = None,
    dtype: Any = float32,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Return an encoder and a decoder with the same variables.

    Args:
      encoder_inputs, decoder_inputs, cell, dtype: as of `basic_rnn_seq2seq`.
      loop_function: as of `rnn_decoder`.
      scope: a variable scope or its name, "tied_rnn_seq2seq" by default.

    Returns:
      A list over time of the decoder's outputs, and its last state.
    """
    with tf.variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        tf.get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function=loop_function, scope=scope)


def _either(
    feed_previous: Any, decoder: Callable[[bool], tuple[list[Any], Any]], count: int,
    structure: Callable[[], Any],
) -> tuple[list[Any], Any]:  # fmt: skip
    """Return a decoder whose tensor `feed_previous` says where inputs come from.

    Args:
      feed_previous: a scalar boolean tensor.
      decoder: of a bool; gives outputs and state.
      count: how many outputs there are.
      structure: gives the structure of the state.
    """

    def branch(previous: bool) -> list[Any]:
        reuse = None if previous else True
        with tf.variable_scope(tf.get_variable_scope(), reuse=reuse):
            outputs, state = decoder(previous)
            return outputs + (nest.flatten(state) if nest.is_sequence(state) else [state])

    values = tf.cond(feed_previous, lambda: branch(True), lambda: branch(False))
    states, template = values[count:], structure()
    nested = nest.is_sequence(template)
    state = nest.pack_sequence_as(template, states) if nested else states[0]
    return values[:count], state


@export("contrib.legacy_seq2seq.embedding_rnn_seq2seq")
def embedding_rnn_seq2seq(
    encoder_inputs: list[Any],
    decoder_inputs: list[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Return an encoder and a decoder of embedded symbols.

    Args:
      encoder_inputs, decoder_inputs: lists over time of int32 [batch].
      cell: an RNNCell; the encoder gets a copy.
      num_encoder_symbols, num_decoder_symbols: how many symbols there are.
      embedding_size: the size of a vector.
      output_projection: weights and biases from outputs to symbols; by default the decoder makes
        its own.
      feed_previous: True if only the first input counts and others are the most likely outputs; a
        bool or a scalar boolean tensor.
      dtype: of the encoder's first state; that of the variable scope by default.
      scope: a variable scope or its name, "embedding_rnn_seq2seq" by default.

    Returns:
      A list over time of the decoder's outputs, and its last state.
    """
    with tf.variable_scope(scope or "embedding_rnn_seq2seq") as opened:
        if dtype is not None:
            opened.set_dtype(dtype)
        encoder_cell = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        _, encoder_state = static_rnn(encoder_cell, encoder_inputs, dtype=dtype or opened.dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)

        def decoder(previous: bool, **options: Any) -> tuple[list[Any], Any]:
            return embedding_rnn_decoder(
                decoder_inputs, encoder_state, cell, num_decoder_symbols, embedding_size,
                output_projection=output_projection, feed_previous=previous, **options,
            )  # fmt: skip

        if isinstance(feed_previous, bool):
            return decoder(feed_previous)
        return _either(
            feed_previous,
            lambda previous: decoder(previous, update_embedding_for_previous=False),
            len(decoder_inputs),
            lambda: encoder_state,
        )


@export("contrib.legacy_seq2seq.embedding_tied_rnn_seq2seq")
def embedding_tied_rnn_seq2seq(
    encoder_inputs: list[Any],
    decoder_inputs: list[Any],
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_decoder_symbols: int | None = None,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[list[Any], Any]:
    """Return an encoder and a decoder of embedded symbols with the same variables.

    Args:
      encoder_inputs, decoder_inputs, cell, embedding_size, output_projection, feed_previous,
        dtype: as of `embedding_rnn_seq2seq`.
      num_symbols: how many symbols there are.
      num_decoder_symbols: how many of them are outputs; all by default.
      scope: a variable scope or its name, "embedding_tied_rnn_seq2seq" by default.

    Returns:
      A list over time of the decoder's outputs, and its last state.
    """
    with tf.variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as opened:
        dtype = opened.dtype
        if output_projection is not None:
            check_projection(output_projection, num_symbols, dtype)
        embedding = tf.get_variable("embedding", [num_symbols, embedding_size], dtype=dtype)
        sources, targets = (
            [tf.nn.embedding_lookup(embedding, x) for x in inputs]
            for inputs in (encoder_inputs, decoder_inputs)
        )
        if output_projection is None:
            given = num_decoder_symbols
            cell = OutputProjectionWrapper(cell, num_symbols if given is None else given)

        def decoder(previous: bool, update: bool) -> tuple[list[Any], Any]:
            function = argmax_and_embed(embedding, output_projection, update) if previous else None
            return tied_rnn_seq2seq(sources, targets, cell, loop_function=function, dtype=dtype)

        if isinstance(feed_previous, bool):
            return decoder(feed_previous, True)
        return _either(
            feed_previous,
            lambda previous: decoder(previous, False),
            len(decoder_inputs),
            lambda: cell.zero_state(_batch_size(encoder_inputs), dtype),
        )


def _batch_size(inputs: list[Any]) -> Any:
    static = inputs[0].get_shape()[0]
    for value in inputs[1:]:
        static.merge_with(value.get_shape()[0])
    return tf.shape(inputs[0])[0] if static.value is None else static.value


@export("contrib.legacy_seq2seq.embedding_attention_seq2seq")
def embedding_attention_seq2seq(
    encoder_inputs: list[Any],
    decoder_inputs: list[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    num_heads: int = 1,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> tuple[list[Any], Any]:
    """`embedding_rnn_seq2seq` whose decoder looks at the encoder's outputs.

    Args:
      encoder_inputs, decoder_inputs, cell, num_encoder_symbols, num_decoder_symbols,
        embedding_size, output_projection, feed_previous, dtype: as there.
      num_heads, initial_state_attention: as of `attention_decoder`.
      scope: a variable scope or its name, "embedding_attention_seq2seq" by default.

    Returns:
      A list over time of the decoder's outputs, and its last state.
    """
    with tf.variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as opened:
        encoder_cell = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        encoded, encoder_state = static_rnn(encoder_cell, encoder_inputs, dtype=opened.dtype)
        tops = [tf.reshape(e, [-1, 1, cell.output_size]) for e in encoded]
        attention_states = tf.concat(tops, 1)
        output_size = None
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
            output_size = num_decoder_symbols

        def decoder(previous: bool, **options: Any) -> tuple[list[Any], Any]:
            return embedding_attention_decoder(
                decoder_inputs, encoder_state, attention_states, cell, num_decoder_symbols,
                embedding_size, num_heads=num_heads, output_size=output_size,
                output_projection=output_projection, feed_previous=previous,
                initial_state_attention=initial_state_attention, **options,
            )  # fmt: skip

        if isinstance(feed_previous, bool):
            return decoder(feed_previous)
        return _either(
            feed_previous,
            lambda previous: decoder(previous, update_embedding_for_previous=False),
            len(decoder_inputs),
            lambda: encoder_state,
        )


@export("contrib.legacy_seq2seq.one2many_rnn_seq2seq")
def one2many_rnn_seq2seq(
    encoder_inputs: list[Any],
    decoder_inputs_dict: dict[Any, list[Any]],
    enc_cell: Any,
    dec_cells_dict: dict[Any, Any],
    num_encoder_symbols: int,
    num_decoder_symbols_dict: dict[Any, int],
    embedding_size: int,
    feed_previous: Any = False,
    dtype: Any = None,
    scope: Any = None,
) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """One encoder and several decoders (Luong et al., 2016).

    Args:
      encoder_inputs: a list over time of int32 [batch].
      decoder_inputs_dict: for each decoder a list over time of int32 [batch].
      enc_cell, dec_cells_dict: the cells.
      num_encoder_symbols, num_decoder_symbols_dict: how many symbols there are.
      embedding_size, feed_previous, dtype: as of `embedding_rnn_seq2seq`.
      scope: a variable scope or its name, "one2many_rnn_seq2seq" by default.

    Returns:
      For each decoder a list over time of its outputs, and its last state.

    Raises:
      TypeError: if a cell is no RNNCell.
      ValueError: if the decoders' names differ.
    """
    if not isinstance(enc_cell, RNNCell):
        raise TypeError(f"enc_cell is not an RNNCell: {type(enc_cell)}")
    if set(dec_cells_dict) != set(decoder_inputs_dict):
        raise ValueError("keys of dec_cells_dict != keys of decodre_inputs_dict")
    for cell in dec_cells_dict.values():
        if not isinstance(cell, RNNCell):
            raise TypeError(f"dec_cell is not an RNNCell: {type(cell)}")
    outputs: dict[Any, Any] = {}
    states: dict[Any, Any] = {}
    with tf.variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as opened:
        encoder_cell = EmbeddingWrapper(enc_cell, num_encoder_symbols, embedding_size)
        _, encoder_state = static_rnn(encoder_cell, encoder_inputs, dtype=opened.dtype)
        for name, inputs in decoder_inputs_dict.items():
            symbols = num_decoder_symbols_dict[name]
            with tf.variable_scope(f"one2many_decoder_{name}"):
                projected = OutputProjectionWrapper(dec_cells_dict[name], symbols)

                def decoder(
                    previous: bool, inputs: Any = inputs, cell: Any = projected, n: int = symbols
                ) -> tuple[list[Any], Any]:
                    return embedding_rnn_decoder(
                        inputs, encoder_state, cell, n, embedding_size, feed_previous=previous
                    )

                if isinstance(feed_previous, bool):
                    outputs[name], states[name] = decoder(feed_previous)
                else:
                    outputs[name], states[name] = _either(
                        feed_previous, decoder, len(inputs), lambda: encoder_state
                    )
    return outputs, states
