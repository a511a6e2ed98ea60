"""Names of `tf.contrib.estimator` for functions of `tf.estimator`."""

from __future__ import annotations

from typing import Any

from stillflow.estimator.canned.dnn import dnn_logit_fn_builder
from stillflow.estimator.canned.linear import linear_logit_fn_builder
from stillflow.estimator.extenders import add_metrics
from stillflow.estimator.mode_keys import ModeKeys
from stillflow.estimator.receivers import (
    build_raw_supervised_input_receiver_fn,
    build_supervised_input_receiver_fn_from_input_fn,
)
from stillflow.graph.export import export, export_value

export_value("contrib.estimator.add_metrics", add_metrics)
export_value(
    "contrib.estimator.build_raw_supervised_input_receiver_fn",
    build_raw_supervised_input_receiver_fn,
)
export_value(
    "contrib.estimator.build_supervised_input_receiver_fn_from_input_fn",
    build_supervised_input_receiver_fn_from_input_fn,
)
export_value("contrib.estimator.dnn_logit_fn_builder", dnn_logit_fn_builder)
export_value("contrib.estimator.linear_logit_fn_builder", linear_logit_fn_builder)


@export("contrib.estimator.export_saved_model_for_mode")
def export_saved_model_for_mode(
    estimator: Any,
    export_dir_base: Any,
    input_receiver_fn: Any,
    assets_extra: Any = None,
    as_text: bool = False,
    checkpoint_path: Any = None,
    mode: str = ModeKeys.PREDICT,
) -> Any:
    """Write a SavedModel of a mode: see `tf.estimator.Estimator.export_saved_model`."""
    return estimator.export_saved_model(
        export_dir_base, input_receiver_fn, assets_extra=assets_extra, as_text=as_text,
        checkpoint_path=checkpoint_path, experimental_mode=mode,
    )  # fmt: skip


@export("contrib.estimator.export_all_saved_models")
def export_all_saved_models(
    estimator: Any,
    export_dir_base: Any,
    input_receiver_fn_map: Any,
    assets_extra: Any = None,
    as_text: bool = False,
    checkpoint_path: Any = None,
) -> Any:
    """Write a SavedModel of several modes: see `tf.estimator.Estimator`."""
    return estimator.experimental_export_all_saved_models(
        export_dir_base, input_receiver_fn_map, assets_extra=assets_extra, as_text=as_text,
        checkpoint_path=checkpoint_path,
    )  # fmt: skip
