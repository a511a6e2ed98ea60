"""Checks of heads' inputs: times, values, and that all features are as long as they."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stillflow.graph.operation import Tensor
from stillflow_contrib.timeseries.feature_keys import (
    PredictionFeatures,
    State,
    TrainEvalFeatures,
)

_TIMES, _VALUES = TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES


def check_predict_features(
    features: dict[str, Any], required: Iterable[str], ignored: set[str]
) -> None:
    """Check the features of predictions.

    Args:
      features: {name: tensor [batch, window, ...]}.
      required: which have to be there.
      ignored: which may be of another shape.

    Raises:
      ValueError: if one is missing, or has another shape.
    """
    for name in required:
        if name not in features:
            raise ValueError(f"Expected a '{name}' feature for prediction.")
    times = _checked_times(features, PredictionFeatures.TIMES)
    _check_shapes(features, times, ignored)


def check_train_eval_features(features: dict[str, Any], model: Any) -> None:
    """Check the features of training and evaluation; see `check_predict_features`."""
    for name in (_TIMES, _VALUES):
        if name not in features:
            raise ValueError(f"Expected a '{name}' feature for training/evaluation.")
    times = _checked_times(features, _TIMES)
    width = model.num_features
    if not features[_VALUES].get_shape().is_compatible_with([None, None, width]):
        raise ValueError(
            f"Expected shape (batch dimension, window size, {width}) for feature '{_VALUES}', since"
            f" the model was configured with num_features={width} (got shape {times.get_shape()})"
        )
    _check_shapes(features, times, {State.STATE_TUPLE})


def _checked_times(features: dict[str, Any], name: str) -> Tensor:
    times = features[name]
    if not times.get_shape().is_compatible_with([None, None]):
        raise ValueError(
            f"Expected shape (batch dimension, window size) for feature '{name}' (got shape "
            f"{times.get_shape()})"
        )
    return times


def _check_shapes(features: dict[str, Any], times: Any, ignored: set[str]) -> None:
    """Check that all features begin with the dimensions of times, as far as they are known."""
    expected, window = "Features must have shape (batch dimension, window size, ...)", times.shape
    shapes = {name: value.shape for name, value in features.items() if name not in ignored}
    for name, shape in shapes.items():
        if shape.ndims in (0, 1):
            raise ValueError(f"{expected} (got rank {shape.ndims} for feature '{name}')")
        if not shape[:2].is_compatible_with(window):
            raise ValueError(
                f"{expected} where batch dimension and window size match the '{_TIMES}' feature "
                f"(got shape {shape} for feature '{name}' but shape {window} for feature "
                f"'{_TIMES}')"
            )
