"""ValidationMonitor: evaluates while it trains, and stops when that gets no better."""

from __future__ import annotations

import copy
import time
from typing import Any

from stillflow.estimator.estimator import Estimator as CoreEstimator
from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging
from stillflow.train.checkpoint_management import latest_checkpoint
from stillflow_contrib.learn.monitors.base import EveryN


@export("contrib.learn.monitors.ValidationMonitor")
class ValidationMonitor(EveryN):
    """Monitor that evaluates each new checkpoint.

    Args:
      x, y: features and labels as arrays.
      input_fn: gives them as tensors; instead of `x` and `y`.
      batch_size: of `x` and `y`.
      eval_steps: over how many batches.
      every_n_steps: how often it looks for a checkpoint, in steps.
      metrics: {name: `MetricSpec`}.
      hooks: `SessionRunHook`s of the evaluation.
      early_stopping_rounds: training ends if so many steps brought nothing better.
      early_stopping_metric: which metric tells.
      early_stopping_metric_minimize: whether less is better.
      name: of the evaluation.
      check_interval_secs: how often it looks at most.

    Raises:
      ValueError: if there is no input, or no such metric.
    """

    _best_value: Any = None
    _best_value_step: int | None = None
    _best_metrics: dict[str, Any] | None = None
    _early_stopped = False
    _latest_path: str | None = None
    _latest_path_step: int | None = None
    _last_checkpoint_check_time: float | None = None

    def __init__(
        self, x: Any = None, y: Any = None, input_fn: Any = None, batch_size: int | None = None,
        eval_steps: int | None = None, every_n_steps: int = 100, metrics: Any = None,
        hooks: Any = None, early_stopping_rounds: int | None = None,
        early_stopping_metric: str = "loss", early_stopping_metric_minimize: bool = True,
        name: str | None = None, check_interval_secs: float | None = 5,
    ) -> None:  # fmt: skip
        super().__init__(every_n_steps=every_n_steps, first_n_steps=-1)
        if x is None and input_fn is None:
            raise ValueError("Either x or input_fn should be provided.")
        self.x, self.y, self.input_fn, self.batch_size = x, y, input_fn, batch_size
        self.eval_steps, self.metrics, self.hooks, self.name = eval_steps, metrics, hooks, name
        self._check_interval_secs = check_interval_secs
        self.early_stopping_rounds = early_stopping_rounds
        self.early_stopping_metric = early_stopping_metric
        self.early_stopping_metric_minimize = early_stopping_metric_minimize

    @property
    def early_stopped(self) -> bool:
        """True if it ended training."""
        return self._early_stopped

    @property
    def best_step(self) -> int | None:
        """The step of the best value."""
        return self._best_value_step

    @property
    def best_value(self) -> float:
        """The best value of the metric that tells."""
        return self._best_value

    @property
    def best_metrics(self) -> dict[str, Any] | None:
        """All metrics at that step."""
        return self._best_metrics

    def every_n_step_end(self, step: int, outputs: dict[Any, Any]) -> bool:
        super().every_n_step_end(step, outputs)
        if self._estimator is None:
            raise ValueError("Missing call to set_estimator.")
        if not self._finds_checkpoint(step):
            return False
        results = self._evaluate_estimator()
        shown = ", ".join(f"{name} = {value!s}" for name, value in results.items())
        logging.info("Validation (step %d): %s", step, shown)
        return self.early_stopping_rounds is not None and self._stops_early(step, results)

    def _finds_checkpoint(self, step: int) -> bool:
        now, before = time.time(), self._last_checkpoint_check_time
        interval = self._check_interval_secs
        if interval is not None and before is not None and now - before <= interval:
            logging.debug(
                "Skipping evaluation since less than %d seconds have passed since last check for "
                "a new checkpoint.", interval,
            )  # fmt: skip
            return False
        self._last_checkpoint_check_time = now
        path = latest_checkpoint(self._estimator.model_dir)
        if path is None:
            logging.debug(
                "Skipping evaluation since model has not been saved yet at step %d.", step
            )
            return False
        if path == self._latest_path:
            logging.debug(
                "Skipping evaluation due to same checkpoint %s for step %d as for step %d.",
                path, step, self._latest_path_step,
            )  # fmt: skip
            return False
        self._latest_path, self._latest_path_step = path, step
        return True

    def _evaluate_estimator(self) -> dict[str, Any]:
        arguments = {
            "input_fn": self.input_fn, "steps": self.eval_steps, "hooks": self.hooks,
            "name": self.name,
        }  # fmt: skip
        older = {"x": self.x, "y": self.y, "batch_size": self.batch_size, "metrics": self.metrics}
        if not isinstance(self._estimator, CoreEstimator):
            arguments.update(older)
        elif any(value is not None for value in older.values()):
            raise ValueError(
                "tf.estimator.Estimator does not support following arguments: x, y, batch_size, "
                "metrics. Should set as `None` in ValidationMonitor"
            )
        return self._estimator.evaluate(**arguments)

    def _stops_early(self, step: int, results: dict[str, Any]) -> bool:
        metric = self.early_stopping_metric
        if metric not in results:
            raise ValueError(f"Metric {metric} missing from outputs {set(results.keys())}.")
        value, best = results[metric], self._best_value
        less_is_better = self.early_stopping_metric_minimize
        if best is None or (value < best if less_is_better else value > best):
            self._best_value = value
            self._best_metrics = copy.deepcopy(results)
            self._best_value_step = step
        best_step = step if self._best_value_step is None else self._best_value_step
        if step - best_step < (self.early_stopping_rounds or 0):
            return False
        logging.info(f"Stopping. Best step: {best_step} with {metric} = {self._best_value}.")
        self._early_stopped = True
        return True
