"""tf.estimator.add_metrics: an estimator that measures more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.estimator.estimator import Estimator
from stillflow.estimator.mode_keys import ModeKeys
from stillflow.estimator.spec import EstimatorSpec
from stillflow.graph.export import export
from stillflow.util.function_utils import fn_args


@export("estimator.add_metrics")
def add_metrics(estimator: Any, metric_fn: Callable[..., dict[str, Any]]) -> Estimator:
    """Return an estimator like another one, with more metrics.

    Args:
      estimator: which is left as it is.
      metric_fn: called with those of `features`, `labels`, `predictions` and `config` that it
        takes; returns {name: metric} as `EstimatorSpec` takes them.

    Raises:
      ValueError: if the function has other arguments.
    """
    names = fn_args(metric_fn)
    others = list(set(names) - {"features", "labels", "predictions", "config"})
    if others:
        raise ValueError(f"metric_fn ({metric_fn}) has following not expected args: {others}")

    def model_fn(features: Any, labels: Any, mode: Any, config: Any) -> EstimatorSpec:
        spec = estimator.model_fn(features, labels, mode, config)
        if mode != ModeKeys.EVAL:
            return spec
        offered = {
            "features": features, "labels": labels, "predictions": spec.predictions,
            "config": config,
        }  # fmt: skip
        added = metric_fn(**{name: offered[name] for name in offered if name in names})
        return spec._replace(eval_metric_ops={**(spec.eval_metric_ops or {}), **added})

    return Estimator(
        model_fn, estimator.model_dir, estimator.config,
        warm_start_from=estimator._warm_start_settings,
    )  # fmt: skip
