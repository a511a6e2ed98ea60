"""The names of features and results that models of series know."""

from __future__ import annotations

from stillflow.graph.export import export
from stillflow.saved_model.names import DEFAULT_SERVING_SIGNATURE_DEF_KEY


class State:
    """Keys of the state to start from: a nested tuple, or the prefix of its numbered parts."""

    STATE_TUPLE = "start_tuple"
    STATE_PREFIX = "model_state"


class Times:
    """Keys of the times, integers that increase."""

    TIMES = "times"


class Values:
    """Keys of the values, one or more floats at each time."""

    VALUES = "values"


@export("contrib.timeseries.TrainEvalFeatures")
class TrainEvalFeatures(Times, Values):
    """Features in training and evaluation."""


class PredictionFeatures(Times, State):
    """Features in prediction."""


class FilteringFeatures(Times, Values, State):
    """Features of a served model that goes on with more values."""


class PredictionResults(Times):
    """Results of prediction besides the model's own."""


@export("contrib.timeseries.FilteringResults")
class FilteringResults(Times, State):
    """Results of evaluation."""


class SavedModelLabels:
    """Names of the signatures of an exported model."""

    PREDICT = DEFAULT_SERVING_SIGNATURE_DEF_KEY
    FILTER = "filter"
    COLD_START_FILTER = "cold_start_filter"
