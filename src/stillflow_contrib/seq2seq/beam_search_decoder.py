"""`tf.contrib.seq2seq.BeamSearchDecoder`."""

from __future__ import annotations

from typing import Any, NamedTuple

import stillflow as tf
from stillflow import nest
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_shape import TensorShape
from stillflow.layers.base_layer import Layer
from stillflow.nn.recurrent.steps import static_shape
from stillflow.nn.rnn_cell.base import assert_like_rnncell
from stillflow.platform import tf_logging
from stillflow_contrib.ops.gather_tree import gather_tree
from stillflow_contrib.seq2seq.basic_decoder import checked_layer, layer_output_size
from stillflow_contrib.seq2seq.beam_step import (
    BeamSearchDecoderOutput,
    BeamSearchDecoderState,
    attention_probs,
    beam_search_step,
    first_log_probs,
)
from stillflow_contrib.seq2seq.beams import (
    assert_beams,
    check_rank_known,
    gather_tree_from_array,
    has_beams,
)
from stillflow_contrib.seq2seq.decoder import BaseDecoder, Decoder
from stillflow_contrib.seq2seq.helpers import as_tokens, lookup, of_token_rank


@export("contrib.seq2seq.FinalBeamSearchDecoderOutput")
class FinalBeamSearchDecoderOutput(NamedTuple):
    """Output of a beam search: tokens [batch, time, beams], best first, and all steps' outputs."""

    predicted_ids: Any
    beam_search_decoder_output: Any


class _Beams:
    """Base class of the beam-search decoders."""

    _batch_size: Any
    _end_token: Any
    _embedding_fn: Any

    def _set_up(
        self, cell: Any, beam_width: int, output_layer: Any, penalties: tuple[Any, Any],
        reorder_tensor_arrays: bool,
    ) -> None:  # fmt: skip
        assert_like_rnncell("cell", cell)
        self._cell, self._output_layer = cell, checked_layer(output_layer, Layer)
        self._reorder_tensor_arrays, self._beam_width = reorder_tensor_arrays, beam_width
        self._penalties = penalties

    def _begin(self, start_tokens: Any, end_token: Any, initial_state: Any) -> None:
        """Set the start of the search."""
        given = {"start_tokens": start_tokens, "end_token": end_token}
        tokens, self._end_token = (
            of_token_rank(as_tokens(value, name), name) for name, value in given.items()
        )
        self._batch_size = tf.size(start_tokens)
        self._initial_cell_state = nest.map_structure(
            self._maybe_split_batch_beams, initial_state, self._cell.state_size
        )
        width = self._beam_width
        self._start_tokens = tf.tile(tf.expand_dims(tokens, 1), [1, width])
        self._start_inputs = self._embedding_fn(self._start_tokens)
        # All beams of a sequence but the first one begin finished: they are equal.
        first = tf.zeros([self._batch_size], dtype=tf.int32)
        self._finished = tf.one_hot(first, width, on_value=False, off_value=True, dtype=tf.bool)

    @property
    def batch_size(self) -> Any:
        return self._batch_size

    @property
    def tracks_own_finished(self) -> bool:
        """True: finished and unfinished beams are mixed again in every step."""
        return True

    @property
    def output_size(self) -> BeamSearchDecoderOutput:
        size = TensorShape([self._beam_width])
        return BeamSearchDecoderOutput(scores=size, predicted_ids=size, parent_ids=size)

    @property
    def output_dtype(self) -> BeamSearchDecoderOutput:
        dtype = nest.flatten(self._initial_cell_state)[0].dtype
        size = layer_output_size(self._cell.output_size, self._output_layer)
        return BeamSearchDecoderOutput(
            scores=nest.map_structure(lambda _: dtype, size),
            predicted_ids=tf.int32,
            parent_ids=tf.int32,
        )

    def _first(self) -> tuple[Any, Any, Any]:
        """Return the start of a search: the finished flags, the inputs, the state."""
        dtype = nest.flatten(self._initial_cell_state)[0].dtype
        log_probs = first_log_probs(self._batch_size, self._beam_width, dtype)
        seen = attention_probs(self._initial_cell_state, self._penalties[1])
        state = BeamSearchDecoderState(
            cell_state=self._initial_cell_state,
            log_probs=log_probs,
            finished=self._finished,
            lengths=tf.zeros([self._batch_size, self._beam_width], dtype=tf.int64),
            accumulated_attention_probs=() if seen is None else seen,
        )
        return self._finished, self._start_inputs, state

    def step(
        self, time: Any, inputs: Any, state: Any, name: str | None = None
    ) -> tuple[Any, Any, Any, Any]:
        cell = self._cell
        with tf.name_scope(name, "BeamSearchDecoderStep", (time, inputs, state)):
            inputs = nest.map_structure(lambda x: self._merge_batch_beams(x, s=x.shape[2:]), inputs)
            cell_state = nest.map_structure(
                self._maybe_merge_batch_beams, state.cell_state, cell.state_size
            )
            outputs, next_cell_state = cell(inputs, cell_state)
            outputs = nest.map_structure(
                lambda out: self._split_batch_beams(out, out.shape[1:]), outputs
            )
            next_cell_state = nest.map_structure(
                self._maybe_split_batch_beams, next_cell_state, cell.state_size
            )
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            output, next_state = beam_search_step(
                time, outputs, next_cell_state, state, self._batch_size, self._beam_width,
                self._end_token, *self._penalties,
            )  # fmt: skip
            finished = next_state.finished
            next_inputs = tf.cond(
                tf.reduce_all(finished),
                lambda: self._start_inputs,
                lambda: self._embedding_fn(output.predicted_ids),
            )
        return output, next_state, next_inputs, finished

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> tuple[Any, Any]:
        """Return the tokens of the final beams, and the state with arrays in their order."""
        longest = tf.cast(tf.reduce_max(final_state.lengths, axis=1), tf.int32)
        predicted_ids = gather_tree(
            outputs.predicted_ids, outputs.parent_ids, longest, self._end_token
        )
        if self._reorder_tensor_arrays:
            sorted_state = nest.map_structure(
                lambda t: self._maybe_sort_array(t, outputs.parent_ids, final_state.lengths),
                final_state.cell_state,
            )
            final_state = final_state._replace(cell_state=sorted_state)
        result = FinalBeamSearchDecoderOutput(
            beam_search_decoder_output=outputs, predicted_ids=predicted_ids
        )
        return result, final_state

    # ---- between [batch, beams, ...] and [batch * beams, ...]

    def _merge_batch_beams(self, t: Any, s: Any = None) -> Tensor:
        shape = tf.shape(t)
        rows = static_value(self._batch_size)
        rows = None if rows is None else rows * self._beam_width
        joined = tf.concat(([self._batch_size * self._beam_width], shape[2:]), 0)
        merged = tf.reshape(t, joined)
        merged.set_shape(TensorShape([rows]).concatenate(TensorShape(static_shape(s))))
        return merged

    def _split_batch_beams(self, t: Any, s: Any = None) -> Tensor:
        shape = tf.shape(t)
        size = [self._batch_size, self._beam_width]
        split = tf.reshape(t, tf.concat((size, shape[1:]), 0))
        expected = TensorShape([static_value(self._batch_size), self._beam_width])
        expected = expected.concatenate(TensorShape(static_shape(s)))
        if not split.shape.is_compatible_with(expected):
            raise ValueError(
                "Unexpected behavior when reshaping between beam width and batch size.  The "
                f"reshaped tensor has shape: {split.shape}.  We expected it to have shape "
                f"(batch_size, beam_width, depth) == {expected}.  Perhaps you forgot to create a "
                "zero_state with batch_size=encoder_batch_size * beam_width?"
            )
        split.set_shape(expected)
        return split

    def _maybe_split_batch_beams(self, t: Any, s: Any) -> Any:
        if isinstance(t, tf.TensorArray):
            return t
        check_rank_known(t)
        return self._split_batch_beams(t, s) if t.shape.ndims >= 1 else t

    def _maybe_merge_batch_beams(self, t: Any, s: Any) -> Any:
        if isinstance(t, tf.TensorArray):
            return t
        check_rank_known(t)
        return self._merge_batch_beams(t, s) if t.shape.ndims >= 2 else t

    def _maybe_sort_array(self, t: Any, parent_ids: Any, sequence_length: Any) -> Any:
        if not isinstance(t, tf.TensorArray):
            return t
        rank = t.element_shape.ndims
        if rank is None or rank < 1:
            tf_logging.warn(
                f"The TensorArray {t.handle.name} in the cell state is not amenable to sorting "
                "based on the beam search result. For a TensorArray to be sorted, its elements "
                "shape must be defined and have at least a rank of 1, but saw shape: "
                f"{t.element_shape}"
            )
            return t
        if not has_beams(t.element_shape, static_value(self._batch_size), self._beam_width):
            return t
        stacked = t.stack()
        check = assert_beams(stacked, self._batch_size, self._beam_width)
        with tf.control_dependencies([check]):
            return gather_tree_from_array(stacked, parent_ids, sequence_length)


@export("contrib.seq2seq.BeamSearchDecoder")
class BeamSearchDecoder(_Beams, Decoder):
    """Beam-search decoder of a sequence.

    Args:
      cell: an RNNCell.
      embedding: a function of numbers, or the vectors.
      start_tokens: int32 [batch], the first inputs.
      end_token: int32 scalar, which finishes a sequence.
      initial_state: of the cell, [batch * beam_width, ...] (`tile_batch`).
      beam_width: how many beams there are.
      output_layer: a layer applied to the cell's outputs.
      length_penalty_weight: how much longer sequences are favoured.
      coverage_penalty_weight: how much it counts that attention has covered the inputs.
      reorder_tensor_arrays: whether TensorArrays in the state are put into the order of the final
        beams.

    Raises:
      TypeError: if `cell` or `output_layer` is of the wrong type.
      ValueError: if a token is of the wrong rank, or the state does not fit.
    """

    def __init__(
        self,
        cell: Any,
        embedding: Any,
        start_tokens: Any,
        end_token: Any,
        initial_state: Any,
        beam_width: int,
        output_layer: Any = None,
        length_penalty_weight: Any = 0.0,
        coverage_penalty_weight: Any = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        penalties = (length_penalty_weight, coverage_penalty_weight)
        self._set_up(cell, beam_width, output_layer, penalties, reorder_tensor_arrays)
        self._embedding_fn = lookup(embedding)
        self._begin(start_tokens, end_token, initial_state)

    def initialize(self, name: str | None = None) -> tuple[Any, Any, Any]:
        return self._first()


class BeamSearchDecoderV2(_Beams, BaseDecoder):
    """`BeamSearchDecoder` as a layer, called with the vectors, tokens and state it begins with.

    Args:
      cell, beam_width, output_layer, length_penalty_weight, coverage_penalty_weight,
        reorder_tensor_arrays: as for `BeamSearchDecoder`.
      embedding_fn: a function of numbers; else vectors are given in calls.
      **kwargs: as for `BaseDecoder`.

    Raises:
      ValueError: if `embedding_fn` is no function.
    """

    def __init__(
        self,
        cell: Any,
        beam_width: int,
        embedding_fn: Any = None,
        output_layer: Any = None,
        length_penalty_weight: Any = 0.0,
        coverage_penalty_weight: Any = 0.0,
        reorder_tensor_arrays: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        penalties = (length_penalty_weight, coverage_penalty_weight)
        self._set_up(cell, beam_width, output_layer, penalties, reorder_tensor_arrays)
        if embedding_fn is not None and not callable(embedding_fn):
            raise ValueError(f"embedding_fn is expected to be a callable, got {type(embedding_fn)}")
        self._given_fn = embedding_fn

    def initialize(
        self, embedding: Any, start_tokens: Any, end_token: Any, initial_state: Any
    ) -> tuple[Any, Any, Any]:
        """Begins a search.

        Raises:
          ValueError: if both vectors and a function are given.
        """
        if embedding is not None and self._given_fn is not None:
            raise ValueError("embedding and embedding_fn cannot be provided at same time")
        self._embedding_fn = self._given_fn if embedding is None else lookup(embedding)
        self._begin(start_tokens, end_token, initial_state)
        return self._first()

    def call(  # type: ignore[override]  # as TF's, with the start of the search
        self, embedding: Any, start_tokens: Any, end_token: Any, initial_state: Any, **kwargs: Any
    ) -> Any:
        """Search from these tokens and states; see `dynamic_decode`."""
        return super().call(
            embedding, initial_state, start_tokens=start_tokens, end_token=end_token, **kwargs
        )
