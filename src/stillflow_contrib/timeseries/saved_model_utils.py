"""`tf.contrib.timeseries.saved_model_utils`: calls of exported models of series."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow_contrib.timeseries.feature_keys import (
    FilteringResults,
    PredictionFeatures,
    PredictionResults,
    SavedModelLabels,
)
from stillflow_contrib.timeseries.head import state_to_dictionary
from stillflow_contrib.timeseries.model_utils import canonicalize_times_or_steps_from_output
from stillflow_contrib.timeseries.numpy_series import canonicalize_numpy_data


def _call(
    session: Any, signature: Any, features: dict[str, Any], continue_from: Any = None
) -> dict[str, Any]:
    """Run a signature; give its outputs and the times."""
    state = continue_from or {}
    if FilteringResults.STATE_TUPLE in state:  # of an evaluation, which has it nested
        state = state_to_dictionary(state[FilteringResults.STATE_TUPLE])
    graph = session.graph
    inputs = {key: graph.as_graph_element(info.name) for key, info in signature.inputs.items()}
    fetches = {key: graph.as_graph_element(info.name) for key, info in signature.outputs.items()}
    feeds = {inputs[key]: value for key, value in state.items()}
    feeds.update({inputs[key]: value for key, value in features.items()})
    outputs: dict[str, Any] = session.run(fetches, feed_dict=feeds)
    outputs[PredictionResults.TIMES] = features[PredictionFeatures.TIMES]
    return outputs


@export("contrib.timeseries.saved_model_utils.predict_continuation")
def predict_continuation(
    continue_from: dict[str, Any], signatures: Any, session: Any, steps: int | None = None,
    times: Any = None, exogenous_features: dict[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return predictions after an evaluation or a filtering.

    Args:
      continue_from: what `evaluate`, or a function of this module, returned.
      signatures: the MetaGraphDef that `tf.saved_model.loader.load` returned.
      session: into which the model was loaded.
      steps: how many times are predicted, from the next one on.
      times: instead of steps: [batch, times], or [times], integers after those seen.
      exogenous_features: {name: array [batch, times, ...]}, features that are known.

    Returns:
      {name: array}, with the times.

    Raises:
      ValueError: if both or neither of steps and times are given, or times are too early.
    """
    predict_times = canonicalize_times_or_steps_from_output(times, steps, continue_from)
    features = {PredictionFeatures.TIMES: predict_times, **(exogenous_features or {})}
    signature = signatures.signature_def[SavedModelLabels.PREDICT]
    return _call(session, signature, features, continue_from)


@export("contrib.timeseries.saved_model_utils.cold_start_filter")
def cold_start_filter(signatures: Any, session: Any, features: dict[str, Any]) -> dict[str, Any]:
    """Return the state after the first values of series, to go on from.

    Args:
      signatures: the MetaGraphDef that `tf.saved_model.loader.load` returned.
      session: into which the model was loaded.
      features: {name: array}: times, values and others of one series, or of a batch.

    Returns:
      {name: array}, with the times.

    Raises:
      ValueError: if features are missing or do not fit together.
    """
    data = canonicalize_numpy_data(features, require_single_batch=False)
    signature = signatures.signature_def[SavedModelLabels.COLD_START_FILTER]
    return _call(session, signature, data)


@export("contrib.timeseries.saved_model_utils.filter_continuation")
def filter_continuation(
    continue_from: dict[str, Any], signatures: Any, session: Any, features: dict[str, Any]
) -> dict[str, Any]:
    """Return the state after more values; `continue_from` is the result of one of these functions.

    Args:
      continue_from: what `evaluate`, or a function of this module, returned.
      signatures, session, features: as of `cold_start_filter`.

    Returns:
      {name: array}, with the times.

    Raises:
      ValueError: if features are missing or do not fit together.
    """
    data = canonicalize_numpy_data(features, require_single_batch=False)
    signature = signatures.signature_def[SavedModelLabels.FILTER]
    return _call(session, signature, data, continue_from)
