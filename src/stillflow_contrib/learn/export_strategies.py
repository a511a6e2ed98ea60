"""tf.contrib.learn.make_export_strategy: SavedModels that an `Experiment` exports."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from stillflow.estimator.estimator import Estimator
from stillflow.estimator.exporters import keep_latest
from stillflow.graph.export import export
from stillflow_contrib.learn.export_strategy import ExportStrategy


@export("contrib.learn.make_export_strategy")
def make_export_strategy(
    serving_input_fn: Callable[[], Any],
    default_output_alternative_key: str | None = None,
    assets_extra: dict[str, str] | None = None,
    as_text: bool = False,
    exports_to_keep: int | None = 5,
    strip_default_attrs: bool | None = None,
) -> ExportStrategy:
    """Return a strategy by which an `Experiment` exports its model for serving.

    Args:
      serving_input_fn: gives the features and their inputs.
      default_output_alternative_key: which output is served by default; it has to be None for a
        `tf.estimator.Estimator`.
      assets_extra: {path below `assets.extra`: file} of more files.
      as_text: whether messages are written as text.
      exports_to_keep: how many exports stay; all if None.
      strip_default_attrs: whether attributes with default values are left out.

    Returns:
      The strategy, named "Servo". It raises ValueError for an output of a `tf.estimator.Estimator`.
    """

    def export_fn(
        estimator: Any,
        export_dir_base: Any,
        checkpoint_path: Any = None,
        strip_default_attrs: bool = False,
    ) -> bytes:
        options: dict[str, Any] = {}
        if not isinstance(estimator, Estimator):
            options["default_output_alternative_key"] = default_output_alternative_key
        elif default_output_alternative_key is not None:
            raise ValueError(
                "default_output_alternative_key is not supported in core Estimator. Given: "
                f"{default_output_alternative_key}"
            )
        exported = estimator.export_savedmodel(
            export_dir_base,
            serving_input_fn,
            assets_extra=assets_extra,
            as_text=as_text,
            checkpoint_path=checkpoint_path,
            strip_default_attrs=strip_default_attrs,
            **options,
        )
        if exports_to_keep is not None:
            keep_latest(os.fsdecode(export_dir_base), exports_to_keep)
        return exported

    return ExportStrategy("Servo", export_fn, strip_default_attrs)
