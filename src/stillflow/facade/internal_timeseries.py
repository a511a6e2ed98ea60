"""Internal names of `tensorflow.contrib.timeseries` that have an equivalent of our own."""

from __future__ import annotations

_TF = "tensorflow.contrib.timeseries.python.timeseries"
_OURS = "stillflow_contrib.timeseries"

# Internal modules that we have whole.
MODULES = {
    **{f"{_TF}.{name}": f"{_OURS}.{name}"
       for name in ("feature_keys", "model_utils", "saved_model_utils", "state_management")},
    **{f"{_TF}.state_space_models.{name}": f"{_OURS}.state_space.{name}"
       for name in ("filtering_postprocessor", "kalman_filter", "level_trend", "periodic",
                    "structural_ensemble", "varma")},
}

OBJECTS: dict[str, dict[str, str]] = {
    # The package, or its modules would be looked for among ours.
    _TF: {"saved_model_utils": f"{_OURS}.saved_model_utils"},
    f"{_TF}.ar_model": {
        "*": f"{_OURS}.ar_model {_OURS}.anomaly_mixture {_OURS}.prediction_networks",
    },
    f"{_TF}.estimators": {"*": f"{_OURS}.estimators"},
    f"{_TF}.head": {"*": f"{_OURS}.head"},
    f"{_TF}.input_pipeline": {
        "_canonicalize_numpy_data": f"{_OURS}.numpy_series:canonicalize_numpy_data",
        "*": f"{_OURS}.windows {_OURS}.readers",
    },
    f"{_TF}.math_utils": {
        "*": f"{_OURS}.densities {_OURS}.matrices {_OURS}.state_tables {_OURS}.statistics",
    },
    f"{_TF}.model": {"*": f"{_OURS}.model {_OURS}.sequential"},
    f"{_TF}.state_space_models.state_space_model": {
        "*": f"{_OURS}.state_space.state_space_model {_OURS}.state_space.ensembles",
    },
}
