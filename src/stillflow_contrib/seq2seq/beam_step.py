"""One step of a beam search: scores, the best continuations, the next state."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import stillflow as tf
from stillflow import nest
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow_contrib.seq2seq.attention_wrapper import AttentionWrapperState
from stillflow_contrib.seq2seq.beams import gather_beams, maybe_gather_beams


@export("contrib.seq2seq.BeamSearchDecoderState")
class BeamSearchDecoderState(NamedTuple):
    """The state of a beam search.

    Attributes:
      cell_state: of the cell, [batch, beams, ...].
      log_probs: of the beams, [batch, beams].
      finished: bool [batch, beams].
      lengths: int64 [batch, beams].
      accumulated_attention_probs: [batch, beams, time], where coverage counts.
    """

    cell_state: Any
    log_probs: Any
    finished: Any
    lengths: Any
    accumulated_attention_probs: Any


@export("contrib.seq2seq.BeamSearchDecoderOutput")
class BeamSearchDecoderOutput(NamedTuple):
    """Output of a step, [batch, beams] each: scores, tokens, and the beams they continue."""

    scores: Any
    predicted_ids: Any
    parent_ids: Any


class Search(NamedTuple):
    """Constants of a search."""

    batch_size: Any
    beam_width: int
    end_token: Any
    length_penalty_weight: Any
    coverage_penalty_weight: Any

    def pick(self, indices: Any, values: Any, name: str | None = None) -> Tensor:
        """Return the entries of [batch, beams] that the chosen beams continue."""
        return gather_beams(indices, values, self.batch_size, self.beam_width, [-1], name)


def beam_search_step(
    time: Any,
    logits: Any,
    next_cell_state: Any,
    beam_state: Any,
    batch_size: Any,
    beam_width: int,
    end_token: Any,
    length_penalty_weight: Any,
    coverage_penalty_weight: Any,
) -> tuple[BeamSearchDecoderOutput, BeamSearchDecoderState]:
    """Return the best continuations of all beams.

    Args:
      time: not used.
      logits: [batch, beams, classes].
      next_cell_state: of the cell after the step.
      beam_state: of the search.
      batch_size: how many sequences are decoded.
      beam_width: how many beams there are.
      end_token: which finishes a sequence.
      length_penalty_weight, coverage_penalty_weight: of the scores.
    """
    search = Search(
        batch_size, beam_width, end_token, length_penalty_weight, coverage_penalty_weight
    )
    return _step(search, logits, next_cell_state, beam_state)


def _step(
    search: Search, logits: Any, next_cell_state: Any, state: Any
) -> tuple[BeamSearchDecoderOutput, BeamSearchDecoderState]:
    batch_size, width, end = search.batch_size, search.beam_width, search.end_token
    finished = state.finished
    not_finished = tf.logical_not(finished)
    log_probs = mask_finished(tf.nn.log_softmax(logits), end, finished)
    total_probs = tf.expand_dims(state.log_probs, 2) + log_probs
    classes = logits.shape.dims[-1].value or tf.shape(logits)[-1]
    lengths = _new_lengths(search, classes, not_finished, state.lengths)
    attention = None
    seen = attention_probs(next_cell_state, search.coverage_penalty_weight)
    if seen is not None:
        seen *= tf.expand_dims(tf.cast(not_finished, tf.float32), 2)
        attention = state.accumulated_attention_probs + seen
    scores = get_scores(search, total_probs, lengths, finished, attention)
    best_scores, best = _top(search, scores)
    next_probs = gather_beams(
        best, total_probs, batch_size, width * classes, [-1], "next_beam_probs"
    )
    word_ids = tf.cast(tf.mod(best, classes, name="next_beam_word_ids"), tf.int32)
    parents = tf.cast(best / classes, tf.int32, name="next_beam_parent_ids")
    finished = search.pick(parents, finished)
    now_finished = tf.logical_or(finished, tf.equal(word_ids, end), name="next_beam_finished")
    added = tf.cast(tf.logical_not(finished), tf.int64)
    next_lengths = search.pick(parents, state.lengths)
    next_lengths += added
    rows = [batch_size * width, -1] if attention is not None else None
    next_attention: Any = ()
    if attention is not None:
        next_attention = gather_beams(
            parents, attention, batch_size, width, rows, "next_accumulated_attention_probs"
        )
    next_cell_state = nest.map_structure(
        lambda value: maybe_gather_beams(
            parents, value, batch_size, width, [batch_size * width, -1]
        ),
        next_cell_state,
    )
    next_state = BeamSearchDecoderState(
        cell_state=next_cell_state, log_probs=next_probs, finished=now_finished,
        lengths=next_lengths, accumulated_attention_probs=next_attention,
    )  # fmt: skip
    return BeamSearchDecoderOutput(best_scores, word_ids, parents), next_state


def _new_lengths(search: Search, classes: Any, not_finished: Any, lengths: Any) -> Tensor:
    """Return the length of every continuation: the end counts for nothing."""
    ends = tf.fill([search.batch_size, search.beam_width], search.end_token)
    added = tf.one_hot(
        indices=ends, depth=classes, on_value=tf.cast(0, tf.int64, name="ToInt64"),
        off_value=tf.cast(1, tf.int64, name="ToInt64"), dtype=tf.int64,
    )  # fmt: skip
    mask = tf.cast(not_finished, tf.int64)
    added *= tf.expand_dims(mask, 2)
    return added + tf.expand_dims(lengths, 2)


def _top(search: Search, scores: Any) -> tuple[Any, Any]:
    """Return the best scores of every row, and where they stand."""
    flat = tf.reshape(scores, [search.batch_size, -1])
    count = tf.convert_to_tensor(search.beam_width, dtype=tf.int32, name="beam_width")
    best_scores, best = tf.nn.top_k(flat, k=count)
    rows = static_value(search.batch_size)
    for value in (best_scores, best):
        value.set_shape([rows, search.beam_width])
    return best_scores, best


def mask_finished(probs: Any, end_token: Any, finished: Any) -> Tensor:
    """Finished beams give the end with certainty."""
    classes, least = tf.shape(probs)[2], probs.dtype.min
    zero = tf.convert_to_tensor(0.0, dtype=probs.dtype)
    end = tf.one_hot(end_token, classes, zero, least, dtype=probs.dtype)
    end = tf.reshape(end, [1, 1, -1])
    certain = tf.tile(end, tf.concat([tf.shape(finished), [1]], 0))
    return tf.where(tf.tile(tf.expand_dims(finished, 2), [1, 1, classes]), certain, probs)


def get_scores(
    search: Search, log_probs: Any, lengths: Any, finished: Any, attention: Any
) -> Tensor:
    """Return logarithms of probabilities with penalties for length and for missing attention.

    Raises:
      ValueError: if coverage counts and there is no attention, or its weight is no scalar.
    """
    by_length = tf.cast(length_penalty(lengths, search.length_penalty_weight), log_probs.dtype)
    scores = log_probs / by_length
    weight = tf.convert_to_tensor(search.coverage_penalty_weight, name="coverage_penalty_weight")
    if weight.shape.ndims != 0:
        raise ValueError(
            f"coverage_penalty_weight should be a scalar, but saw shape: {weight.shape}"
        )
    if static_value(weight) == 0.0:
        return scores
    return scores + tf.expand_dims(_coverage(attention, finished) * weight, 2)


def _coverage(attention: Any, finished: Any) -> Tensor:
    """Return the logarithm [batch, beams] of the attention that finished beams are short of."""
    if attention is None:
        raise ValueError(
            "accumulated_attention_probs can be None only if coverage penalty is disabled."
        )
    nothing = tf.equal(attention, 0.0)
    counted = tf.where(nothing, tf.ones_like(attention), attention)
    logarithms = tf.log(tf.minimum(counted, 1.0))
    return tf.reduce_sum(logarithms, 2) * tf.cast(finished, tf.float32)


def length_penalty(sequence_lengths: Any, penalty_factor: Any) -> Tensor | float:
    """((5 + length) / 6) ** factor (Wu et al., 2016)."""
    factor = tf.convert_to_tensor(penalty_factor, name="penalty_factor")
    factor.set_shape(())
    known = static_value(factor)
    if known is not None and known == 0:
        return 1.0
    length = tf.cast(sequence_lengths, tf.float32)
    return tf.div((5.0 + length) ** factor, (5.0 + 1.0) ** factor)


def _mean(parts: Any) -> Any:
    expanded = [tf.expand_dims(part, -1) for part in parts]
    return tf.reduce_mean(tf.concat(expanded, -1), -1)


def attention_probs(cell_state: Any, coverage_penalty_weight: Any) -> Tensor | None:
    """Return the mean weights of attention in a cell's state.

    None where coverage counts for nothing.

    Raises:
      ValueError: if coverage counts and there is no attention.
    """
    if coverage_penalty_weight == 0.0:
        return None
    states: Any = ()
    if isinstance(cell_state, AttentionWrapperState):
        states = (cell_state,)
    elif isinstance(cell_state, tuple):
        states = tuple(s for s in cell_state if isinstance(s, AttentionWrapperState))
    if not states:
        raise ValueError("coverage_penalty_weight must be 0.0 if no cell is attentional.")
    weights = [s.alignments for s in states]
    probs = [_mean(part) if isinstance(part, tuple) else part for part in weights]
    return probs[0] if len(probs) == 1 else _mean(probs)


def first_log_probs(batch_size: Any, width: int, dtype: Any) -> Tensor:
    """0 for the first beam, minus infinity for the others, which are the same."""
    return tf.one_hot(
        tf.zeros([batch_size], dtype=tf.int32), depth=width,
        on_value=tf.convert_to_tensor(0.0, dtype=dtype),
        off_value=tf.convert_to_tensor(-np.inf, dtype=dtype), dtype=dtype,
    )  # fmt: skip
