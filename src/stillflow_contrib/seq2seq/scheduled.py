"""Scheduled sampling (Bengio et al., 2015): known inputs, now and then replaced by outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.nn.recurrent.steps import transpose_batch_time
from stillflow_contrib.seq2seq.helpers import TrainingHelper, lookup, unstacked
from stillflow_contrib.seq2seq.sampling import bernoulli_sample, categorical_sample


def _probability(value: Any) -> Tensor:
    tensor = tf.convert_to_tensor(value, name="sampling_probability")
    if tensor.get_shape().ndims not in (0, 1):
        raise ValueError(
            "sampling_probability must be either a scalar or a vector. saw shape: "
            f"{tensor.get_shape()}"
        )
    return tensor


def _scatter(sampled: Any, where: Any, others: Any, where_not: Any, shape: Any) -> Any:
    """Return rows merged from two parts."""
    return tf.scatter_nd(indices=where, updates=sampled, shape=shape) + tf.scatter_nd(
        indices=where_not, updates=others, shape=shape
    )


def _rows(condition: Any) -> Any:
    return tf.cast(tf.where(condition), tf.int32)


@export("contrib.seq2seq.ScheduledEmbeddingTrainingHelper")
class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """Replaces known inputs by embeddings of outputs that are drawn by their probability.

    Args:
      inputs, sequence_length, time_major, name: as of `TrainingHelper`.
      embedding: a function of numbers, or the vectors.
      sampling_probability: how likely an input is replaced, a scalar or [batch].
      seed: of the choice of outputs.
      scheduling_seed: of the choice of inputs that are replaced.

    Raises:
      ValueError: if the probability is of another rank.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        embedding: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        scheduling_seed: int | None = None,
        name: str | None = None,
    ) -> None:
        values = [embedding, sampling_probability]
        with tf.name_scope(name, "ScheduledEmbeddingSamplingWrapper", values):
            self._embedding_fn = lookup(embedding)
            self._sampling_probability = _probability(sampling_probability)
            self._seed, self._scheduling_seed = seed, scheduling_seed
            super().__init__(inputs, sequence_length, time_major=time_major, name=name)

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        values = [time, outputs, state]
        with tf.name_scope(name, "ScheduledEmbeddingTrainingHelperSample", values):
            chosen = bernoulli_sample(
                probs=self._sampling_probability, dtype=tf.bool, sample_shape=self.batch_size,
                seed=self._scheduling_seed,
            )  # fmt: skip
            drawn = categorical_sample(logits=outputs, seed=self._seed)
            return tf.where(chosen, drawn, tf.fill([self.batch_size], -1))

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        values = [time, outputs, state, sample_ids]
        with tf.name_scope(name, "ScheduledEmbeddingTrainingHelperNextInputs", values):
            finished, known, state = super().next_inputs(
                time=time, outputs=outputs, state=state, sample_ids=sample_ids, name=name
            )

            def replaced() -> Any:
                where, where_not = _rows(sample_ids > -1), _rows(sample_ids <= -1)
                ids = tf.gather_nd(sample_ids, where)
                others = tf.gather_nd(known, where_not)
                sampled = self._embedding_fn(ids)
                return _scatter(sampled, where, others, where_not, tf.shape(known))

            next_inputs = tf.cond(tf.reduce_all(finished), lambda: known, replaced)
            return finished, next_inputs, state


@export("contrib.seq2seq.ScheduledOutputTrainingHelper")
class ScheduledOutputTrainingHelper(TrainingHelper):
    """Replaces known inputs by outputs.

    Args:
      inputs, sequence_length, time_major, name: as of `TrainingHelper`.
      sampling_probability: how likely an input is replaced, a scalar or [batch].
      seed: of the choice.
      next_inputs_fn: of outputs; gives inputs, the outputs themselves by default.
      auxiliary_inputs: joined to all inputs.

    Raises:
      ValueError: if the probability is of another rank.
    """

    def __init__(
        self,
        inputs: Any,
        sequence_length: Any,
        sampling_probability: Any,
        time_major: bool = False,
        seed: int | None = None,
        next_inputs_fn: Callable[..., Any] | None = None,
        auxiliary_inputs: Any = None,
        name: str | None = None,
    ) -> None:
        values = [inputs, auxiliary_inputs, sampling_probability]
        with tf.name_scope(name, "ScheduledOutputTrainingHelper", values):
            self._sampling_probability = _probability(sampling_probability)
            self._auxiliary_input_tas = None
            if auxiliary_inputs is not None:
                inputs = tf.convert_to_tensor(inputs, name="inputs")
                auxiliary = tf.convert_to_tensor(auxiliary_inputs, name="auxiliary_inputs")
                inputs = tf.concat((inputs, auxiliary), -1)
                if not time_major:
                    auxiliary = transpose_batch_time(auxiliary)
                self._auxiliary_input_tas = unstacked(auxiliary)
            self._seed, self._next_inputs_fn = seed, next_inputs_fn
            super().__init__(inputs, sequence_length, time_major=time_major, name=name)

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Tensor:
        values = [time, outputs, state]
        with tf.name_scope(name, "ScheduledOutputTrainingHelperSample", values):
            return bernoulli_sample(
                probs=self._sampling_probability, sample_shape=self.batch_size, seed=self._seed
            )

    def _with_auxiliary(self, time: Any, outputs: Any, indices: Any = None) -> Any:
        if self._auxiliary_input_tas is None:
            return outputs
        auxiliary = self._auxiliary_input_tas.read(time + 1)
        if indices is not None:
            auxiliary = tf.gather_nd(auxiliary, indices)
        return nest.map_structure(lambda x: tf.concat((x, auxiliary), -1), outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> tuple[Any, Any, Any]:
        values = [time, outputs, state, sample_ids]
        with tf.name_scope(name, "ScheduledOutputTrainingHelperNextInputs", values):
            finished, known, state = super().next_inputs(
                time=time, outputs=outputs, state=state, sample_ids=sample_ids, name=name
            )
            chosen = tf.cast(sample_ids, tf.bool)

            def replaced() -> Tensor:
                function = self._next_inputs_fn
                if function is None:
                    return tf.where(chosen, self._with_auxiliary(time, outputs), known)
                where, where_not = _rows(chosen), _rows(tf.logical_not(chosen))
                sampled = tf.gather_nd(outputs, where)
                others = tf.gather_nd(known, where_not)
                sampled = self._with_auxiliary(time, function(sampled), where)
                return _scatter(sampled, where, others, where_not, tf.shape(known))

            all_finished = tf.reduce_all(finished)
            none_chosen = tf.logical_not(tf.reduce_any(chosen))
            unchanged = tf.logical_or(all_finished, none_chosen)
            return finished, tf.cond(unchanged, lambda: known, replaced), state
