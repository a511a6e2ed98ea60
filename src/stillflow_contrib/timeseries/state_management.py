"""Sources of a window's initial state: the start, or the window before it."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.graph.operation import Tensor
from stillflow_contrib.timeseries.feature_keys import FilteringFeatures, TrainEvalFeatures
from stillflow_contrib.timeseries.matrices import replicate_state
from stillflow_contrib.timeseries.model import ModelOutputs
from stillflow_contrib.timeseries.state_tables import TupleOfTensorsLookup

_STATE = FilteringFeatures.STATE_TUPLE


_STATES_BY_CHUNK = {
    "key_dtype": tf.int64,
    "empty_key": -1,
    "deleted_key": -2,
    "name": "cached_states",
}


class PassthroughStateManager:
    """Every window begins with the model's first state."""

    def __init__(self) -> None:
        self._input_statistics: Any = None
        self._graph_initialized = False

    def initialize_graph(self, model: Any, input_statistics: Any = None) -> None:
        """Create its variables in the graph."""
        self._graph_initialized = True
        self._input_statistics = input_statistics

    def define_loss(self, model: Any, features: dict[str, Any], mode: str) -> ModelOutputs:
        """Return the loss of windows; see `TimeSeriesModel.define_loss`.

        Raises:
          ValueError: if a state is among the features.
        """
        if _STATE in features:
            raise ValueError("Overriding start state is not supported for this model.")
        outputs: ModelOutputs = model.define_loss(features, mode)
        return outputs


class _OverridableStateManager(PassthroughStateManager):
    """Windows begin with a state among the features, if there is one."""

    def _define_loss_with_saved_state(
        self, model: Any, features: dict[str, Any], mode: str
    ) -> ModelOutputs:
        raise NotImplementedError

    def define_loss(self, model: Any, features: dict[str, Any], mode: str) -> ModelOutputs:
        """Return the loss of windows; the state is removed from `features`.

        Raises:
          ValueError: if a state is given in training.
        """
        if _STATE not in features:
            return self._define_loss_with_saved_state(model, features, mode)
        if mode == tf.estimator.ModeKeys.TRAIN:
            raise ValueError(
                "Overriding saved state for training is not supported (but a value for feature "
                f"{_STATE} was specified)."
            )
        start_state = features.pop(_STATE)
        outputs: ModelOutputs = model.get_batch_loss(
            features=features, mode=mode, state=start_state
        )
        return outputs


class FilteringOnlyStateManager(_OverridableStateManager):
    """Windows without a state among the features begin with the model's first one."""

    def _define_loss_with_saved_state(
        self, model: Any, features: dict[str, Any], mode: str
    ) -> ModelOutputs:
        outputs: ModelOutputs = model.define_loss(features, mode)
        return outputs


class ChainingStateManager(_OverridableStateManager):
    """Windows begin with the state in which an earlier one was left at about that time.

    Args:
      state_saving_interval: states are kept for every so many times.
      checkpoint_state: whether they are in checkpoints.
    """

    def __init__(self, state_saving_interval: int = 20, checkpoint_state: bool = False) -> None:
        super().__init__()
        self._checkpoint_state = checkpoint_state
        self._state_saving_interval = state_saving_interval
        self._start_state: Any = None
        self._cached_states: Any = None

    def initialize_graph(self, model: Any, input_statistics: Any = None) -> None:
        """Create the tables of states."""
        super().initialize_graph(model, input_statistics)
        self._start_state = start = model.get_start_state()
        self._cached_states = TupleOfTensorsLookup(
            default_values=start, checkpoint=self._checkpoint_state, **_STATES_BY_CHUNK
        )

    def _define_loss_with_saved_state(
        self, model: Any, features: dict[str, Any], mode: str
    ) -> ModelOutputs:
        if not self._graph_initialized:
            raise ValueError(
                "ChainingStateManager requires initialize_graph() to be called before use."
            )
        loss, end_state, predictions = self._update_cached_states(model, features, mode)
        # One state only: that of the batch's last window.
        last = [value[-1][None] for value in nest.flatten(end_state)]
        predictions["observed"] = features[TrainEvalFeatures.VALUES]
        return ModelOutputs(
            loss,
            nest.pack_sequence_as(end_state, last),
            predictions,
            features[TrainEvalFeatures.TIMES],
        )

    def _get_chunk_number(self, time: Any) -> Tensor:
        return time // self._state_saving_interval

    def _get_cached_states(self, times: Any) -> tuple[Tensor, Tensor, Tensor]:
        """Return the states [batch, ...] that are kept for times [batch]."""
        chunks = self._get_chunk_number(times)
        found = tuple(self._cached_states.lookup(tf.cast(chunks, tf.int64)))
        statistics = self._input_statistics
        start_time = 0 if statistics is None else statistics.start_time
        is_first = tf.equal(chunks, self._get_chunk_number(start_time))
        starts = nest.flatten(replicate_state(self._start_state, tf.shape(times)[0]))
        states = [
            tf.where(is_first, start, kept)
            for start, kept in zip(starts, nest.flatten(found), strict=True)
        ]
        return nest.pack_sequence_as(found, states)

    def _update_cached_states(
        self, model: Any, features: dict[str, Any], mode: str
    ) -> tuple[Any, Any, dict[str, Any]]:
        """Return the loss, the states at the ends, and predictions.

        All states on the way are kept.
        """
        times = features[TrainEvalFeatures.TIMES]
        start = self._get_cached_states(times[:, 0])
        loss, states, predictions = model.per_step_batch_loss(
            features=features, mode=mode, state=start
        )
        # A state belongs to the chunk of the next time, but never to that of its own.
        earliest = self._get_chunk_number(times) + 1
        next_times = tf.concat([times[:, 1:], times[:, -1:] + 1], axis=1)
        chunks = tf.maximum(self._get_chunk_number(next_times), earliest)
        saved = self._cached_states.insert(keys=chunks, values=states)
        end_state = nest.map_structure(lambda steps: steps[:, -1], states)
        with tf.control_dependencies([saved]):
            return tf.identity(loss), end_state, predictions
