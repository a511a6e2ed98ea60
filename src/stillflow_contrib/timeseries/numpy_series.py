"""Series in arrays, brought to [batch, time, ...]."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow_contrib.timeseries.feature_keys import TrainEvalFeatures

_TIMES, _VALUES = TrainEvalFeatures.TIMES, TrainEvalFeatures.VALUES

# Numbers of dimensions of times: the maximum of values, the present ones, the missing ones.
_EXPECTED = {
    0: (1, "1 dimension ([number of features])", "batch or time dimension"),
    1: (2, "2 dimensions ([series length, number of features])", "batch dimension"),
}


def canonicalize_numpy_data(
    data: dict[str, Any], require_single_batch: bool
) -> dict[str, np.ndarray]:
    """Features of a series, or of some, each with its batch and its times in front.

    Args:
      data: {name: array}: times [], [length] or [batch, length], and all others with these
        dimensions in front; values may be without the last one, of features.
      require_single_batch: whether there may be one series only.

    Raises:
      ValueError: if times or values are missing, or dimensions do not fit together.
    """
    features = {key: np.array(value) for key, value in data.items()}
    if _TIMES not in features or _VALUES not in features:
        raise ValueError(f"{_TIMES} and {_VALUES} are required features.")
    times = features[_TIMES]
    for key, value in features.items():
        if value.shape[: times.ndim] != times.shape:
            raise ValueError(
                "All features must have their shapes prefixed by the shape of the times feature. "
                f"Got shape {value.shape} for feature '{key}', but shape {times.shape} for "
                f"'{_TIMES}'"
            )
    if times.ndim in _EXPECTED:
        features[_VALUES] = _with_features(features[_VALUES], times.ndim)
        missing = (None,) * (2 - times.ndim)
        features = {key: value[(*missing, ...)] for key, value in features.items()}
    elif times.ndim != 2:
        raise ValueError(
            "Got an unexpected number of dimensions for times. Was expecting at most two "
            f"([batch size, series length]), but got shape {times.shape}."
        )
    if require_single_batch and features[_TIMES].shape[0] != 1:
        raise ValueError("Got batch input, was expecting unbatched input.")
    return features


def _with_features(values: np.ndarray, rank_of_times: int) -> np.ndarray:
    """Return the values with a last dimension of features."""
    most, dimensions, absent = _EXPECTED[rank_of_times]
    if values.ndim == rank_of_times:
        return values[..., None]
    if values.ndim > most:
        raise ValueError(
            f"Got an unexpected number of dimensions for the '{_VALUES}' feature. Was expecting at "
            f"most {dimensions} since '{_TIMES}' does not have a {absent}, but got shape "
            f"{values.shape}"
        )
    return values
