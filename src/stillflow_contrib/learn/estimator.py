"""tf.contrib.learn.Estimator: the first estimators, which fit, evaluate and predict."""

from __future__ import annotations

import abc
import copy
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stillflow.estimator.evaluation import write_results
from stillflow.graph.export import export, redefinable
from stillflow.graph.graph import Graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow.graph.random_seed import set_random_seed
from stillflow.graph.sparse_tensor import SparseTensor, SparseTensorValue
from stillflow.metrics.means import mean
from stillflow.platform import tf_logging as logging
from stillflow.protos import ConfigProto
from stillflow.saved_model import names
from stillflow.train.checkpoint_management import latest_checkpoint
from stillflow.train.checkpoint_utils import list_variables, load_variable
from stillflow.train.device_setter import replica_device_setter
from stillflow.train.evaluation import StopAfterNEvalsHook, evaluate_once
from stillflow.train.global_step import create_global_step, get_or_create_global_step_read
from stillflow.train.logging_hooks import FeedFnHook
from stillflow.train.monitored_session import MonitoredSession
from stillflow.train.session_creator import ChiefSessionCreator
from stillflow.train.stopping_hooks import StopAtStepHook
from stillflow.util.deprecation import deprecated_args
from stillflow.util.function_utils import fn_args
from stillflow.util.notices import noticed
from stillflow_contrib.learn.bundle_export import export_bundle, parse_features
from stillflow_contrib.learn.estimator_export import export_savedmodel
from stillflow_contrib.learn.estimator_inputs import array_input, verify_input_args
from stillflow_contrib.learn.estimator_metrics import make_metrics_ops, split_metrics
from stillflow_contrib.learn.estimator_training import train
from stillflow_contrib.learn.interfaces import Evaluable, NotFittedError, Parametrized, Trainable
from stillflow_contrib.learn.keys import MetricKey
from stillflow_contrib.learn.mode_keys import ModeKeys
from stillflow_contrib.learn.model_fn_ops import ModelFnOps
from stillflow_contrib.learn.monitors.hooks import replace_monitors_with_hooks
from stillflow_contrib.learn.run_config import RunConfig
from stillflow_contrib.learn.saved_model_export import GraphRewriteSpec
from stillflow_contrib.learn.sk_compat import SKCompat
from stillflow_contrib.learn.tensor_signature import (
    create_example_parser_from_signatures,
    create_placeholders_from_signatures,
    create_signatures,
    tensors_compatible,
)

_SINCE = "2016-12-01"
_INSTEAD = (
    "Estimator is decoupled from Scikit Learn interface by moving into\n"
    "separate class SKCompat. Arguments x, y and batch_size are only\n"
    "available in the SKCompat class, Estimator will only accept input_fn.\n"
    "Example conversion:\n"
    "  est = Estimator(...) -> est = SKCompat(Estimator(...))"
)
_WITH_LABELS = deprecated_args(_SINCE, _INSTEAD, ("x", None), ("y", None), ("batch_size", None))
_WITHOUT_LABELS = deprecated_args(
    _SINCE, _INSTEAD, ("x", None), ("batch_size", None), ("as_iterable", True)
)
# The default export: the graph to serve, untransformed.
_AS_IT_IS = (GraphRewriteSpec((names.SERVING,), ()),)


@export("contrib.learn.BaseEstimator")
class BaseEstimator(Parametrized, Evaluable, Trainable):
    """Estimator whose model subclasses build.

    Args:
      model_dir: the folder of checkpoints and event files; that of `config`, or a temporary one,
        if None.
      config: a `RunConfig`; one of defaults if None.

    Raises:
      ValueError: if both name a folder and they differ.
    """

    _Config = RunConfig

    @noticed("contrib.learn.BaseEstimator")
    def __init__(self, model_dir: str | None = None, config: Any = None) -> None:
        if config is None:
            config = BaseEstimator._Config()
            logging.info("Using default config.")
        self._session_config = config.session_config or ConfigProto(allow_soft_placement=True)
        if model_dir is not None and config.model_dir not in (None, model_dir):
            raise ValueError(
                "model_dir are set both in constructor and RunConfig, but with different values. "
                f"In constructor: '{model_dir}', in RunConfig: '{config.model_dir}' "
            )
        model_dir = model_dir or config.model_dir
        if model_dir is None:
            model_dir = tempfile.mkdtemp()
            logging.warning("Using temporary folder as model directory: %s", model_dir)
        self._model_dir: str = model_dir
        self._config = config if config.model_dir else config.replace(model_dir=model_dir)
        logging.info("Using config: %s", str(vars(self._config)))
        self._device_fn = _parameter_server_devices(self._config)
        self._features_info: Any = None
        self._labels_info: Any = None

    @property
    def config(self) -> Any:
        """A copy of the settings."""
        return copy.deepcopy(self._config)

    @property
    def model_dir(self) -> str:
        """The folder of checkpoints and event files."""
        return self._model_dir

    def get_variable_value(self, name: str) -> Any:
        """Return the value of a variable in the latest checkpoint."""
        return load_variable(self.model_dir, name)

    def get_variable_names(self) -> list[str]:
        """Return the names of the variables in the latest checkpoint."""
        return [name for name, _ in list_variables(self.model_dir)]

    @_WITH_LABELS
    def fit(
        self, x: Any = None, y: Any = None, input_fn: Any = None, steps: int | None = None,
        batch_size: int | None = None, monitors: Any = None, max_steps: int | None = None,
    ) -> Any:  # fmt: skip
        """Trains until so many steps are made, or the input ends.

        Args:
          x, y: features and labels as arrays.
          input_fn: gives (features, labels) as tensors; instead of `x` and `y`.
          steps: how many steps to make.
          batch_size: of `x` and `y`.
          monitors: monitors and hooks.
          max_steps: the global step to end at.

        Returns:
          The estimator.

        Raises:
          ValueError: if both limits are given, or the input twice or not at all.
        """
        limits = steps, max_steps
        if None not in limits:
            raise ValueError("Can not provide both steps and max_steps.")
        verify_input_args(x, y, input_fn, None, batch_size)
        if x is not None:
            SKCompat(self).fit(x, y, batch_size, *limits, monitors)
        elif max_steps is not None and self._steps_made() >= max_steps:
            logging.info("Skipping training since max_steps has already saved.")
        else:
            hooks = replace_monitors_with_hooks(monitors, self)
            hooks += [] if limits == (None, None) else [StopAtStepHook(*limits)]
            last = self._train_model(input_fn=input_fn, hooks=hooks)
            logging.info("Loss for final step: %s.", last)
        return self

    def _steps_made(self) -> int:
        if not latest_checkpoint(self._model_dir):
            return -1
        return int(load_variable(self._model_dir, GraphKeys.GLOBAL_STEP))

    @_WITH_LABELS
    def partial_fit(
        self, x: Any = None, y: Any = None, input_fn: Any = None, steps: int | None = 1,
        batch_size: int | None = None, monitors: Any = None,
    ) -> Estimator:  # fmt: skip
        """Fit like `fit`, by default one step."""
        logging.warning(
            "The current implementation of partial_fit is not optimized for use in a loop. "
            "Consider using fit() instead."
        )
        return self.fit(
            x=x, y=y, input_fn=input_fn, steps=steps, batch_size=batch_size, monitors=monitors
        )

    @redefinable
    @_WITH_LABELS
    def evaluate(
        self, x: Any = None, y: Any = None, input_fn: Any = None, feed_fn: Any = None,
        batch_size: int | None = None, steps: int | None = None, metrics: Any = None,
        name: str | None = None, checkpoint_path: Any = None, hooks: Any = None,
        log_progress: bool = True,
    ) -> dict[str, Any]:  # fmt: skip
        """Run metrics over the input.

        Args:
          x, y: features and labels as arrays.
          input_fn: gives (features, labels) as tensors; instead of `x` and `y`.
          feed_fn: gives what to feed in each round.
          batch_size: of `x` and `y`.
          steps: over how many batches; None for all.
          metrics: {name: `MetricSpec`}.
          name: of this evaluation, where there are several.
          checkpoint_path: the checkpoint to evaluate; the latest checkpoint if None.
          hooks: `SessionRunHook`s.
          log_progress: whether each round is logged.

        Returns:
          {metric: value}, with the mean `loss` and the `global_step`.

        Raises:
          ValueError: if the input is given twice or not at all, or `metrics` is no dict.
          NotFittedError: if there is no checkpoint.
        """
        verify_input_args(x, y, input_fn, feed_fn, batch_size)
        if x is not None:
            return SKCompat(self).score(x, y, batch_size, steps, metrics, name)
        return self._results(
            metrics, input_fn=input_fn, feed_fn=feed_fn, steps=steps, name=name, hooks=hooks,
            checkpoint_path=checkpoint_path, log_progress=log_progress,
        )  # fmt: skip

    def _results(self, metrics: Any, **settings: Any) -> dict[str, Any]:
        """Return {metric: value} of an evaluation, with its global step."""
        if not (metrics is None or isinstance(metrics, dict)):
            raise ValueError(f"Metrics argument should be None or dict. Got {metrics}.")
        values, step = self._evaluate_model(metrics=metrics, **settings)
        return values if values is None else {**values, GraphKeys.GLOBAL_STEP: step}

    @_WITHOUT_LABELS
    def predict(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None,
        outputs: Any = None, as_iterable: bool = True, iterate_batches: bool = False,
    ) -> Any:  # fmt: skip
        """Return predictions.

        Args:
          x: features as arrays.
          input_fn: gives features, or (features, labels), as tensors; instead of `x`.
          batch_size: of `x`.
          outputs: which of the predictions, if they are a dict.
          as_iterable: whether they come one by one, or of one batch at once.
          iterate_batches: whether they come batch by batch.

        Raises:
          ValueError: if the input is given twice or not at all, or nothing is chosen.
          NotFittedError: if there is no checkpoint.
        """
        verify_input_args(x, None, input_fn, None, batch_size)
        if x is not None and not as_iterable:
            return SKCompat(self).predict(x, batch_size)
        feed_fn = None
        if x is not None:
            input_fn, feed_fn = array_input(x, None, batch_size)
        return self._infer_model(
            input_fn=input_fn, feed_fn=feed_fn, outputs=outputs, as_iterable=as_iterable,
            iterate_batches=iterate_batches,
        )  # fmt: skip

    @abc.abstractmethod
    def _get_train_ops(self, features: Any, labels: Any) -> ModelFnOps:
        """Build the training operations."""

    @abc.abstractmethod
    def _get_predict_ops(self, features: Any) -> ModelFnOps:
        """Build the prediction operations."""

    def _get_eval_ops(self, features: Any, labels: Any, metrics: Any) -> ModelFnOps:
        """Build the evaluation operations."""
        raise NotImplementedError("_get_eval_ops not implemented in BaseEstimator")

    def _check_inputs(self, features: Any, labels: Any) -> None:
        """Raise an error for input that differs from that of an earlier call."""
        self._features_info = _checked("Features", "features", features, self._features_info)
        if labels is not None:
            self._labels_info = _checked("Labels", "labels", labels, self._labels_info)

    def _begin(self, graph: Graph) -> Any:
        """Set up a graph with its seed and global step."""
        set_random_seed(self._config.tf_random_seed)
        return create_global_step(graph)

    def _train_model(self, input_fn: Callable[[], Any], hooks: list[Any]) -> np.float32:
        with Graph().as_default() as graph, graph.device(self._device_fn):
            step = self._begin(graph)
            features, labels = input_fn()
            self._check_inputs(features, labels)
            get_or_create_global_step_read(graph)
            model = self._get_train_ops(features, labels)
            return train(self._config, self._session_config, self._model_dir, model, hooks, step)

    def _evaluate_model(
        self, input_fn: Callable[[], Any], steps: int | None, feed_fn: Any = None,
        metrics: Any = None, name: str | None = "", checkpoint_path: Any = None,
        hooks: Any = None, log_progress: bool = True,
    ) -> tuple[dict[str, Any], np.int64]:  # fmt: skip
        checkpoint_path = checkpoint_path or self._latest_checkpoint()
        eval_dir = os.path.join(self._model_dir, f"eval_{name}" if name else "eval")
        with Graph().as_default() as graph:
            step = self._begin(graph)
            features, labels = input_fn()
            self._check_inputs(features, labels)
            model = self._get_eval_ops(features, labels, metrics)
            update, values = split_metrics(model.eval_metric_ops)
            hooks = list(hooks or ())
            if feed_fn:
                hooks.append(FeedFnHook(feed_fn))
            if steps == 0:
                logging.warning(
                    "evaluation steps are 0. If `input_fn` does not raise `OutOfRangeError`, the "
                    "evaluation will never stop. Use steps=None if intended."
                )
            if steps:
                hooks.append(StopAfterNEvalsHook(steps, log_progress=log_progress))
            step_key = GraphKeys.GLOBAL_STEP
            while step_key in values:
                step_key = "_" + step_key
            values[step_key] = step
            results = evaluate_once(
                checkpoint_path, self._config.evaluation_master, model.scaffold, update,
                final_ops=values, hooks=hooks, config=self._session_config,
            )  # fmt: skip
            current = results[step_key]
            write_results(eval_dir, {**results, GraphKeys.GLOBAL_STEP: current}, None)
        return results, current

    @redefinable
    @noticed("contrib.learn.BaseEstimator")
    def export(
        self, export_dir: Any, input_fn: Any = parse_features,
        input_feature_key: str | None = None, use_deprecated_input_fn: bool = True,
        signature_fn: Any = None, prediction_key: str | None = None,
        default_batch_size: int | None = 1, exports_to_keep: int | None = None,
        checkpoint_path: Any = None,
    ) -> bytes:  # fmt: skip
        """Write a bundle, as programs served them before there were SavedModels.

        Args:
          export_dir: the folder of all exports of the model.
          input_fn: gives features of this estimator and a tensor of serialized `Example`s; without
            `use_deprecated_input_fn` takes nothing and gives features and labels.
          input_feature_key: the feature that is the tensor of examples.
          use_deprecated_input_fn: see `input_fn`.
          signature_fn: gives signatures of examples, features and predictions.
          prediction_key: which of the predictions it sees; all if None.
          default_batch_size: how many examples there are.
          exports_to_keep: how many exports stay.
          checkpoint_path: the values; the latest checkpoint if None.

        Returns:
          The path of the export, as bytes.

        Raises:
          ValueError: without input function, features or examples.
        """
        return export_bundle(
            self, export_dir, signature_fn, input_fn, default_batch_size, exports_to_keep,
            input_feature_key, use_deprecated_input_fn, prediction_key, checkpoint_path,
        )  # fmt: skip

    def _get_feature_ops_from_example(
        self, examples_batch: Any
    ) -> dict[str, Tensor | SparseTensor]:
        if self._features_info is None:
            raise ValueError("Features information missing, was fit() ever called?")
        return create_example_parser_from_signatures(self._features_info, examples_batch)

    def _latest_checkpoint(self) -> str:
        path = latest_checkpoint(self._model_dir)
        if not path:
            raise NotFittedError(f"Couldn't find trained model at {self._model_dir}.")
        return path

    def _infer_model(
        self, input_fn: Callable[[], Any], feed_fn: Any = None, outputs: Any = None,
        as_iterable: bool = True, iterate_batches: bool = False,
    ) -> Any:  # fmt: skip
        checkpoint_path = self._latest_checkpoint()
        with Graph().as_default() as graph:
            self._begin(graph)
            features = input_fn()
            if isinstance(features, (list, tuple)):
                features = features[0]
            model = self._get_predict_ops(features)
            predictions = _chosen(model.predictions, outputs)
            session = MonitoredSession(
                session_creator=ChiefSessionCreator(
                    checkpoint_filename_with_path=checkpoint_path, scaffold=model.scaffold,
                    config=self._session_config,
                )
            )  # fmt: skip
            if as_iterable:
                return _predictions(session, predictions, feed_fn, iterate_batches)
            with session:
                return session.run(predictions, feed_fn() if feed_fn else None)


@export("contrib.learn.Estimator")
class Estimator(BaseEstimator):
    """Estimator of a model function.

    Args:
      model_fn: called with features, labels and, if it has such arguments, `mode`, `params`,
        `config`, `model_dir`; returns `ModelFnOps`, or (predictions, loss, train_op).
      model_dir: as for `BaseEstimator`.
      config: as for `BaseEstimator`.
      params: given to the model function.
      feature_engineering_fn: called with features and labels; returns those of the model.

    Raises:
      ValueError: if there are parameters, and the model function does not take them.
    """

    def __init__(
        self, model_fn: Callable[..., Any] | None = None, model_dir: str | None = None,
        config: Any = None, params: Any = None, feature_engineering_fn: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(model_dir=model_dir, config=config)
        if model_fn is not None:
            takes_params = "params" in fn_args(model_fn)
            if params is not None and not takes_params:
                raise ValueError(
                    f"Estimator's model_fn ({model_fn}) does not have a params argument, but "
                    f"params ({params}) were passed to the Estimator's constructor."
                )
            if params is None and takes_params:
                logging.warning(
                    "Estimator's model_fn (%s) includes params argument, but params are not passed "
                    "to Estimator.", model_fn,
                )  # fmt: skip
        self._model_fn: Any = model_fn
        self.params = params
        self._feature_engineering_fn = feature_engineering_fn

    @property
    def model_fn(self) -> Callable[..., Any]:
        """The model function as `model_fn(features, labels, mode, config)`."""

        def public_model_fn(features: Any, labels: Any, mode: Any, config: Any) -> ModelFnOps:
            return self._call_model_fn(features, labels, mode, config=config)

        return public_model_fn

    def _call_model_fn(
        self, features: Any, labels: Any, mode: str, metrics: Any = None, config: Any = None
    ) -> ModelFnOps:
        if self._feature_engineering_fn is not None:
            features, labels = self._feature_engineering_fn(features, labels)
        offered = {
            "mode": mode, "params": self.params, "config": config or self.config,
            "model_dir": self.model_dir,
        }  # fmt: skip
        taken = fn_args(self._model_fn)
        arguments = {name: value for name, value in offered.items() if name in taken}
        model = self._model_fn(features, labels, **arguments)
        if not isinstance(model, ModelFnOps):
            if len(model) != 3:
                raise ValueError(
                    "Unrecognized value returned by model_fn, please return ModelFnOps."
                )
            predictions, loss, train_op = model
            model = ModelFnOps(mode, predictions=predictions, loss=loss, train_op=train_op)
        model.eval_metric_ops.update(make_metrics_ops(metrics, features, labels, model.predictions))
        return model

    def _get_train_ops(self, features: Any, labels: Any) -> ModelFnOps:
        return self._call_model_fn(features, labels, ModeKeys.TRAIN)

    def _get_eval_ops(self, features: Any, labels: Any, metrics: Any) -> ModelFnOps:
        model = self._call_model_fn(features, labels, ModeKeys.EVAL, metrics)
        if MetricKey.LOSS not in model.eval_metric_ops:
            model.eval_metric_ops[MetricKey.LOSS] = mean(model.loss)
        return model

    def _get_predict_ops(self, features: Any) -> ModelFnOps:
        labels = create_placeholders_from_signatures(self._labels_info)
        return self._call_model_fn(features, labels, ModeKeys.INFER)

    def export_savedmodel(
        self, export_dir_base: Any, serving_input_fn: Any,
        default_output_alternative_key: str | None = None, assets_extra: Any = None,
        as_text: bool = False, checkpoint_path: Any = None,
        graph_rewrite_specs: Any = _AS_IT_IS,
        strip_default_attrs: bool = False,
    ) -> bytes:  # fmt: skip
        """Write a SavedModel into a new folder, named by the time.

        Args:
          export_dir_base: the folder it is made in.
          serving_input_fn: gives `InputFnOps`.
          default_output_alternative_key: which output is served by default, if there are several.
          assets_extra: {path below `assets.extra`: file} of more files.
          as_text: whether the message is written as text.
          checkpoint_path: the values; the latest checkpoint if None.
          graph_rewrite_specs: the tags of the graph; those after the first one add it again, after
            graph transforms.
          strip_default_attrs: whether attributes with default values are left out.

        Returns:
          The path of the folder, as bytes.

        Raises:
          ValueError: if there is no input function, or no such output, or the first graph is to be
            transformed.
          NotFittedError: if there is no checkpoint.
        """
        if serving_input_fn is None:
            raise ValueError("serving_input_fn must be defined.")
        return export_savedmodel(
            self, export_dir_base, serving_input_fn, default_output_alternative_key, assets_extra,
            as_text, checkpoint_path or self._latest_checkpoint(), graph_rewrite_specs,
            strip_default_attrs,
        )  # fmt: skip


def _parameter_server_devices(config: Any) -> Callable[..., Any] | None:
    """Places variables on the parameter servers, if there are some."""
    if not config.num_ps_replicas:
        return None
    job = config.task_type
    return replica_device_setter(
        ps_tasks=config.num_ps_replicas,
        worker_device=f"/job:{job}/task:{config.task_id}" if job else "/job:worker",
        merge_devices=True, ps_ops=None, cluster=config.cluster_spec,
    )  # fmt: skip


def _checked(title: str, name: str, tensors: Any, signatures: Any) -> Any:
    if signatures is None:
        signatures = create_signatures(tensors)
        logging.debug("Setting %s info to %s.", name, signatures)
    elif not tensors_compatible(tensors, signatures):
        raise ValueError(
            f"{title} are incompatible with given information. Given {name}: {tensors}, required "
            f"signatures: {signatures}."
        )
    return signatures


def _chosen(predictions: Any, outputs: Any) -> Any:
    if not outputs:
        return predictions
    if not isinstance(predictions, dict):
        raise ValueError("outputs argument is not valid in case of non-dict predictions.")
    chosen = {name: tensor for name, tensor in predictions.items() if name in outputs}
    if not chosen:
        raise ValueError(
            f"Expected to run at least one output from {predictions.keys()}, provided {outputs}."
        )
    return chosen


def _predictions(session: Any, tensors: Any, feed_fn: Any, whole_batches: bool) -> Iterator[Any]:
    with session:
        endless = feed_fn is None and not session.graph.get_collection(GraphKeys.QUEUE_RUNNERS)
        while not session.should_stop():
            batch = session.run(tensors, feed_fn() if feed_fn else None)
            if whole_batches:
                yield batch
            elif not isinstance(batch, dict):
                yield from batch
            else:
                first = next(iter(batch.values()))
                sparse = isinstance(first, SparseTensorValue)
                length = first.dense_shape[0] if sparse else first.shape[0]
                for index in range(length):
                    yield {name: values[index] for name, values in batch.items()}
            if endless:
                return
