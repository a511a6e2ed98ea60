"""tf.contrib.tpu.TPUEstimator, as it works with use_tpu=False: on the devices that are there."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from stillflow.contrib.tpu.estimator_spec import TPUEstimatorSpec
from stillflow.contrib.tpu.run_config import RunConfig, parse_iterations_per_loop
from stillflow.estimator.estimator import Estimator
from stillflow.estimator.mode_keys import ModeKeys
from stillflow.estimator.spec import EstimatorSpec
from stillflow.graph.api import device
from stillflow.graph.export import export
from stillflow.graph.graph import Graph
from stillflow.platform import tf_logging as logging
from stillflow.protos import Summary
from stillflow.train.global_step import new_global_step
from stillflow.train.step_counter import StepCounterHook
from stillflow.util.function_utils import fn_args

# Parameters that the estimator adds itself.
_BATCH_SIZE, _USE_TPU, _CONTEXT = "batch_size", "use_tpu", "context"


class BatchConfig(NamedTuple):
    """Settings of the function that batches requests to a served model."""

    num_batch_threads: int
    max_batch_size: int
    batch_timeout_micros: int
    allowed_batch_sizes: Any
    max_enqueued_batches: int = 10


class ExportSavedModelApiVersion(enum.Enum):
    """Wrapping of a computation for TPUs in an export."""

    V1 = 1
    V2 = 2


class ExamplesPerSecondHook(StepCounterHook):
    """Logs, and writes to summaries, how many steps and examples a second are made.

    Args:
      batch_size: how many examples a step takes.
      every_n_steps, every_n_secs, output_dir, summary_writer: as in `StepCounterHook`.
    """

    def __init__(
        self, batch_size: int, every_n_steps: int | None = 100, every_n_secs: float | None = None,
        output_dir: Any = None, summary_writer: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(every_n_steps, every_n_secs, output_dir, summary_writer)
        self._batch_size = batch_size

    def _log_and_record(self, elapsed_steps: Any, elapsed_time: Any, global_step: Any) -> None:
        speed = elapsed_steps / elapsed_time
        for tag, value in (("global_step/sec", speed), ("examples/sec", speed * self._batch_size)):
            if self._summary_writer is not None:
                summary = Summary(value=[{"tag": tag, "simple_value": value}])
                self._summary_writer.add_summary(summary, global_step)
            logging.info(f"{tag}: %g", value)


@export("contrib.tpu.TPUEstimator", "estimator.tpu.TPUEstimator")
class TPUEstimator(Estimator):
    """An `Estimator` whose model and input functions get `params["batch_size"]`.

    Args:
      model_fn: as in `Estimator`; it returns a `TPUEstimatorSpec` or an `EstimatorSpec`.
      model_dir, config, params, warm_start_from: as in `Estimator`; `config` is one of
        `tf.contrib.tpu`.
      use_tpu: must be False: there is no such device.
      train_batch_size, eval_batch_size, predict_batch_size: what the functions are given.
      batch_axis, eval_on_tpu, export_to_tpu, embedding_config_spec,
        export_saved_model_api_version: of such devices; without effect.
      export_to_cpu: must be True.

    Raises:
      NotImplementedError: if it is to use, or to export for, such a device.
      ValueError: if `config` is of another kind, or `params` has a name that is taken.

    Example:
      >>> model_fn = lambda features, params: tf.estimator.EstimatorSpec("infer", features)
      >>> config = tf.contrib.tpu.RunConfig(model_dir="model")
      >>> tf.contrib.tpu.TPUEstimator(model_fn, None, config, {"rate": 0.1}, use_tpu=False).params
      {'rate': 0.1}
    """

    def __init__(
        self, model_fn: Any = None, model_dir: Any = None, config: Any = None, params: Any = None,
        use_tpu: bool = True, train_batch_size: int | None = None,
        eval_batch_size: int | None = None, predict_batch_size: int | None = None,
        batch_axis: Any = None, eval_on_tpu: bool = True, export_to_tpu: bool = True,
        export_to_cpu: bool = True, warm_start_from: Any = None, embedding_config_spec: Any = None,
        export_saved_model_api_version: Any = ExportSavedModelApiVersion.V1,
    ) -> None:  # fmt: skip
        if not isinstance(config, RunConfig):
            raise ValueError("`config` must be provided with type `tpu_config.RunConfig`")
        reserved = [_BATCH_SIZE, _CONTEXT]
        if params is not None and any(name in params for name in reserved):
            raise ValueError(f"{reserved} are reserved keys but existed in params {params}.")
        if use_tpu:
            raise NotImplementedError(
                "tf.contrib.tpu.TPUEstimator: TPUs are not supported by Stillflow; pass "
                "use_tpu=False to run on the CPU or GPU"
            )
        if not export_to_cpu:
            raise NotImplementedError(
                "tf.contrib.tpu.TPUEstimator: exports for TPUs are not supported by Stillflow; "
                "leave export_to_cpu=True"
            )
        if not isinstance(export_saved_model_api_version, ExportSavedModelApiVersion):
            raise ValueError(
                "export_saved_model_api_version should be of type ExportSavedModelApiVersion; got "
                f"{export_saved_model_api_version}."
            )
        self._batch_sizes = {
            ModeKeys.TRAIN: train_batch_size,
            ModeKeys.EVAL: eval_batch_size,
            ModeKeys.PREDICT: predict_batch_size,
        }
        self._log_steps = config.log_step_count_steps
        super().__init__(
            model_fn, model_dir, config.replace(log_step_count_steps=None), params, warm_start_from
        )

    def _assert_members_are_not_overridden(self) -> None:
        """Do nothing: the overrides of this class are intended."""

    def _create_global_step(self, graph: Graph) -> Any:
        """Return the global step as TPUs want it: a resource."""
        return new_global_step(graph, use_resource=True)

    def _params_for(self, mode: Any) -> dict[str, Any]:
        """Return the parameters with the batch size of a mode, if there is one."""
        params = self.params
        for name, value in ((_BATCH_SIZE, self._batch_sizes[mode]), (_USE_TPU, False)):
            if value is not None:
                if hasattr(params, "add_hparam"):
                    params.add_hparam(name, value)
                else:
                    params[name] = value
        return params

    def _call_input_fn(self, input_fn: Callable[..., Any], mode: Any) -> Any:
        names = fn_args(input_fn)
        if "params" not in names:
            raise ValueError(
                f"input_fn ({input_fn}) does not include params argument, required by "
                'TPUEstimator to pass batch size as params["batch_size"]'
            )
        offered = {"mode": mode, "params": self._params_for(mode), "config": self.config}
        with device("/device:CPU:0"):
            return input_fn(**{name: offered[name] for name in offered if name in names})

    def _call_model_fn(self, features: Any, labels: Any, mode: Any, config: Any) -> EstimatorSpec:
        names = fn_args(self._model_fn)
        logging.info("Calling model_fn.")
        logging.info("Running %s on CPU/GPU", mode)
        offered = {
            "labels": labels, "mode": mode, "params": self._params_for(mode), "config": config,
        }  # fmt: skip
        if labels is not None and "labels" not in names:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        if "params" not in names:
            raise ValueError(
                f"model_fn ({self._model_fn}) does not include params argument, required by "
                "TPUEstimator to pass batch size as params['batch_size']"
            )
        spec = self._model_fn(
            features=features, **{name: offered[name] for name in offered if name in names}
        )
        if isinstance(spec, TPUEstimatorSpec):
            spec = spec.as_estimator_spec()
        if not isinstance(spec, EstimatorSpec):
            raise ValueError("model_fn should return an EstimatorSpec.")
        logging.info("Done calling model_fn.")
        return self._with_speed(spec, mode)

    def _with_speed(self, spec: EstimatorSpec, mode: Any) -> EstimatorSpec:
        """Return the specification with a hook that logs examples a second, in training."""
        batch_size = self._batch_sizes[mode]
        if mode != ModeKeys.TRAIN or self._log_steps is None or batch_size is None:
            return spec
        loop = parse_iterations_per_loop(self._config.tpu_config.iterations_per_loop)
        by_time = loop.unit == "seconds"
        hook = ExamplesPerSecondHook(
            batch_size, None if by_time else math.ceil(self._log_steps / loop.value),
            loop.value if by_time else None, output_dir=self.model_dir,
        )  # fmt: skip
        return spec._replace(training_hooks=(*spec.training_hooks, hook))
