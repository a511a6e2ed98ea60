"""tf.estimator.Estimator: trains, evaluates, predicts and exports the model of a function."""

from __future__ import annotations

import copy
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stillflow.estimator.checks import check_model_fn, hook_list, listener_list
from stillflow.estimator.cluster_task import TaskType
from stillflow.estimator.coordinated import is_coordinated, run_alone
from stillflow.estimator.distributed import evaluated_by_replicas, train_distributed
from stillflow.estimator.evaluation import evaluation_scaffold, metric_operations, write_results
from stillflow.estimator.exporting import export_all_saved_models
from stillflow.estimator.input_results import features_and_labels
from stillflow.estimator.last_step import steps_made
from stillflow.estimator.mode_keys import ModeKeys
from stillflow.estimator.run_config import RunConfig, default_session_config
from stillflow.estimator.spec import EstimatorSpec
from stillflow.estimator.training import train_with_spec
from stillflow.estimator.warm_start import warm_start_settings
from stillflow.graph.api import device, get_collection
from stillflow.graph.export import export, redefinable
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow.graph.random_seed import set_random_seed
from stillflow.nest import flatten
from stillflow.platform import tf_logging as logging
from stillflow.platform.compat import path_to_str
from stillflow.train.checkpoint_management import latest_checkpoint
from stillflow.train.checkpoint_utils import list_variables, load_variable
from stillflow.train.device_setter import replica_device_setter
from stillflow.train.evaluation import StopAfterNEvalsHook, evaluate_once
from stillflow.train.global_step import (
    create_global_step,
    get_global_step,
    get_or_create_global_step_read,
)
from stillflow.train.monitored_session import MonitoredSession
from stillflow.train.session_creator import ChiefSessionCreator
from stillflow.train.stopping_hooks import StopAtStepHook
from stillflow.train.warm_starting import warm_start
from stillflow.util.function_utils import fn_args
from stillflow.util.notices import noticed

# Methods that subclasses may override.
_OPEN = {"model_fn", "_create_and_assert_global_step", "_export_all_saved_models"}


@export("estimator.Estimator")
class Estimator:
    """Estimator of a model function; each method builds its own graph.

    Args:
      model_fn: called with `features` and, if it has such arguments, `labels`, `mode`, `params`,
        `config`; returns an `EstimatorSpec`.
      model_dir: the folder of checkpoints and event files; that of `config`, or a temporary one,
        if None.
      config: a `RunConfig`; one of defaults if None.
      params: given to the model and input functions.
      warm_start_from: a checkpoint or SavedModel whose values variables begin with, or
        `WarmStartSettings`.

    Raises:
      ValueError: if `model_fn` has other arguments, a subclass replaces a method, or two folders
        are named.

    Example:
      >>> double = lambda features: tf.estimator.EstimatorSpec("infer", features["x"] * 2)
      >>> inputs = lambda: tf.data.Dataset.from_tensors({"x": [1.0, 2.5]})
      >>> [float(y) for y in tf.estimator.Estimator(double, "model").predict(inputs)]
      [2.0, 5.0]
    """

    def __init__(
        self, model_fn: Callable[..., Any], model_dir: Any = None, config: Any = None,
        params: Any = None, warm_start_from: Any = None,
    ) -> None:  # fmt: skip
        type(self)._assert_members_are_not_overridden(self)  # a static method may replace it
        self._config = config = settled_config(config, model_dir)
        logging.info("Using config: %s", str(vars(config)))
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        check_model_fn(model_fn, params)
        self._model_fn, self._params = model_fn, copy.deepcopy(params or {})
        self._warm_start_settings = warm_start_settings(warm_start_from)
        self._model_dir: str = config.model_dir
        self._session_config = config.session_config
        self._device_fn = config.device_fn or _parameter_server_devices(config)

    @property
    def model_dir(self) -> str:
        """The folder of checkpoints and event files."""
        return self._model_dir

    @property
    def config(self) -> Any:
        """A copy of the settings."""
        return copy.deepcopy(self._config)

    @property
    def params(self) -> dict[str, float]:
        """A copy of the parameters."""
        return copy.deepcopy(self._params)

    @property
    def model_fn(self) -> Callable[..., Any]:
        """The model function as `model_fn(features, labels, mode, config)`."""

        def public_model_fn(features: Any, labels: Any, mode: Any, config: Any) -> EstimatorSpec:
            return self._call_model_fn(features, labels, mode, config)

        return public_model_fn

    def get_variable_value(self, name: str) -> Any:
        """Return the value of a variable in the latest checkpoint.

        Raises:
          ValueError: if there is no checkpoint.
        """
        self._check_trained()
        return load_variable(self.model_dir, name)

    def get_variable_names(self) -> list[str]:
        """Return the names of the variables in the latest checkpoint.

        Raises:
          ValueError: if there is no checkpoint.
        """
        self._check_trained()
        return [name for name, _ in list_variables(self.model_dir)]

    def _check_trained(self) -> None:
        if not latest_checkpoint(self.model_dir):
            raise ValueError(f"Could not find trained model in model_dir: {self.model_dir}.")

    def latest_checkpoint(self) -> str | None:
        """Return the path of the latest checkpoint; None if there is none."""
        return latest_checkpoint(self.model_dir)

    def train(
        self, input_fn: Callable[..., Any], hooks: Any = None, steps: int | None = None,
        max_steps: int | None = None, saving_listeners: Any = None,
    ) -> Any:  # fmt: skip
        """Trains until so many steps are made, or the input ends.

        Args:
          input_fn: gives features, (features, labels), or a dataset of them.
          hooks: `SessionRunHook`s.
          steps: how many steps to make.
          max_steps: the global step to end at.
          saving_listeners: `CheckpointSaverListener`s.

        Returns:
          The estimator.

        Raises:
          ValueError: if both limits are given, one is not positive, or this task does not train.
        """
        if self._config.task_type in (TaskType.EVALUATOR, TaskType.PS):
            raise ValueError(
                "Train has been called wrong configuration. Please use "
                "tf.estimator.train_and_evaluate which calls proper API according to given "
                f"configuration. Current configuration: {self.config}."
            )
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        for name, value in (("steps", steps), ("max_steps", max_steps)):
            if value is not None and value <= 0:
                raise ValueError(f"Must specify {name} > 0, given: {value}")
        if max_steps is not None and max_steps <= steps_made(self.model_dir):
            logging.info("Skipping training since max_steps has already saved.")
            return self
        hooks = hook_list(hooks)
        if steps is not None or max_steps is not None:
            hooks.append(StopAtStepHook(steps, max_steps))
        loss = self._train_model(input_fn, hooks, listener_list(saving_listeners))
        logging.info("Loss for final step: %s.", loss)
        return self

    def _train_model(
        self, input_fn: Any, hooks: list[Any], listeners: list[Any]
    ) -> np.float32 | None:
        if self._config.train_distribute:
            if is_coordinated(self._config):
                return run_alone(
                    self, "train",
                    lambda local, is_chief: local._train_model(
                        input_fn, hooks if is_chief else [], listeners
                    ),
                )  # fmt: skip
            strategy = self._config.train_distribute
            return train_distributed(self, strategy, input_fn, hooks, listeners)
        with Graph().as_default() as graph, graph.device(self._device_fn):
            if self._begin(graph) is not None:  # a model that is read has its own later
                get_or_create_global_step_read(graph)
            features, labels, input_hooks = features_and_labels(
                self._call_input_fn(input_fn, ModeKeys.TRAIN)
            )
            spec = self._call_model_fn(features, labels, ModeKeys.TRAIN, self.config)
            if self._warm_start_settings:
                self._warm_start()
            step = get_global_step(graph)
            return train_with_spec(self._config, spec, [*input_hooks, *hooks], step, listeners)

    def _begin(self, graph: Graph) -> Any:
        """Set up a graph with its seed and global step."""
        set_random_seed(self._config.tf_random_seed)
        return self._create_and_assert_global_step(graph)

    def _create_and_assert_global_step(self, graph: Graph) -> Any:
        step = self._create_global_step(graph)
        assert step is get_global_step()
        assert step.dtype.is_integer
        return step

    def _create_global_step(self, graph: Graph) -> Any:
        return create_global_step(graph)

    def _warm_start(self) -> None:
        logging.info("Warm-starting with WarmStartSettings: %s", (self._warm_start_settings,))
        warm_start(*(self._warm_start_settings or ()))

    def eval_dir(self, name: str | None = None) -> str:
        """Return the folder of the summaries of an evaluation: `eval`, or `eval_` and its name."""
        return os.path.join(self._model_dir, f"eval_{name}" if name else "eval")

    def evaluate(
        self, input_fn: Callable[..., Any], steps: int | None = None, hooks: Any = None,
        checkpoint_path: Any = None, name: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Run the metrics over the input.

        Args:
          input_fn: as in `train`.
          steps: over how many batches; None for all.
          hooks: `SessionRunHook`s.
          checkpoint_path: the checkpoint to evaluate; the latest checkpoint if None.
          name: of this evaluation, where there are several.

        Returns:
          {metric: value}, with the mean `loss` and the `global_step`.

        Raises:
          ValueError: if `steps` is not positive, or a metric's name is taken.
        """
        if self._config.eval_distribute and is_coordinated(self._config):
            return run_alone(
                self, "evaluate",
                lambda local, is_chief: local.evaluate(
                    input_fn, steps, hooks if is_chief else [], checkpoint_path, name
                ),
            )  # fmt: skip
        hooks = hook_list(hooks)
        if steps is not None:
            if steps <= 0:
                raise ValueError(f"Must specify steps > 0, given: {steps}")
            hooks.append(StopAfterNEvalsHook(steps))
        checkpoint_path = checkpoint_path or self._latest_or_none("evaluate")
        with Graph().as_default():
            built = self._evaluate_build_graph(input_fn, hooks, checkpoint_path)
            return self._evaluate_run(checkpoint_path, *built, self.eval_dir(name))

    def _evaluate_build_graph(
        self, input_fn: Callable[..., Any], hooks: list[Any], checkpoint_path: Any
    ) -> tuple[Any, Any, dict[str, Any], list[Any]]:
        """Build the scaffold, the update and the values of metrics, and all hooks."""
        step = self._begin(get_default_graph())
        if self._config.eval_distribute:
            scaffold, update, values, own_hooks = evaluated_by_replicas(
                self, self._config.eval_distribute, input_fn, step
            )
            self._warm_start_unless(checkpoint_path)
            return evaluation_scaffold(scaffold), update, values, [*own_hooks, *hooks]
        features, labels, input_hooks = features_and_labels(
            self._call_input_fn(input_fn, ModeKeys.EVAL)
        )
        spec = self._call_model_fn(features, labels, ModeKeys.EVAL, self.config)
        update, values = metric_operations(spec, get_global_step() if step is None else step)
        self._warm_start_unless(checkpoint_path)
        hooks = [*input_hooks, *hooks, *spec.evaluation_hooks]
        return evaluation_scaffold(spec.scaffold), update, values, hooks

    def _evaluate_run(
        self, checkpoint_path: Any, scaffold: Any, update_op: Any, eval_dict: dict[str, Any],
        all_hooks: list[Any], output_dir: str,
    ) -> dict[str, Any]:  # fmt: skip
        """Run the graph, and write the results."""
        results: dict[str, Any] = evaluate_once(
            checkpoint_path, self._config.evaluation_master, scaffold, update_op,
            final_ops=eval_dict, hooks=all_hooks, config=self._session_config,
        )  # fmt: skip
        write_results(output_dir, results, checkpoint_path)
        return results

    def _latest_or_none(self, purpose: str) -> str | None:
        path = latest_checkpoint(self._model_dir)
        if not path:
            logging.info(
                "Could not find trained model in model_dir: %s, running initialization to %s.",
                self._model_dir, purpose,
            )  # fmt: skip
        return path

    def _warm_start_unless(self, checkpoint_path: Any) -> None:
        if not checkpoint_path and self._warm_start_settings:
            self._warm_start()

    def predict(
        self, input_fn: Callable[..., Any], predict_keys: Any = None, hooks: Any = None,
        checkpoint_path: Any = None, yield_single_examples: bool = True,
    ) -> Iterator[Any]:  # fmt: skip
        """Yield predictions, as long as there is input.

        Args:
          input_fn: gives features; labels are left aside.
          predict_keys: which of the predictions, if they are a dict.
          hooks: `SessionRunHook`s.
          checkpoint_path: the checkpoint to restore; the latest checkpoint if None.
          yield_single_examples: whether batches are taken apart.

        Raises:
          ValueError: if there are no such predictions, or their batches differ in length.
        """
        hooks = hook_list(hooks)
        checkpoint_path = checkpoint_path or self._latest_or_none("predict")
        with Graph().as_default() as graph:
            self._begin(graph)
            features, _, input_hooks = features_and_labels(
                self._call_input_fn(input_fn, ModeKeys.PREDICT)
            )
            _warn_of_endless_input(features)
            spec = self._call_model_fn(features, None, ModeKeys.PREDICT, self.config)
            self._warm_start_unless(checkpoint_path)
            predictions = _chosen(spec.predictions, predict_keys)
            creator = ChiefSessionCreator(
                checkpoint_filename_with_path=checkpoint_path, master=self._config.master,
                scaffold=spec.scaffold, config=self._session_config,
            )  # fmt: skip
            hooks = [*input_hooks, *hooks, *spec.prediction_hooks]
            with MonitoredSession(session_creator=creator, hooks=hooks) as session:
                while not session.should_stop():
                    values = session.run(predictions)
                    if yield_single_examples:
                        yield from _examples(values)
                    else:
                        yield values

    def export_saved_model(
        self, export_dir_base: Any, serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Any = None, as_text: bool = False, checkpoint_path: Any = None,
        experimental_mode: Any = ModeKeys.PREDICT,
    ) -> bytes:  # fmt: skip
        """Write a SavedModel into a new folder, named by the time.

        Args:
          export_dir_base: the folder it is made in.
          serving_input_receiver_fn: gives the features and their inputs.
          assets_extra: {path below `assets.extra`: file} of more files.
          as_text: whether the message is written as text.
          checkpoint_path: the values; the latest checkpoint if None.
          experimental_mode: what the model function is called for.

        Returns:
          The path of the folder, as bytes.

        Raises:
          ValueError: if there is no function or no checkpoint.
        """
        return self._export_for_one_mode(
            experimental_mode, export_dir_base, serving_input_receiver_fn, assets_extra, as_text,
            checkpoint_path, strip_default_attrs=True,
        )  # fmt: skip

    @noticed("estimator.Estimator")
    def export_savedmodel(
        self, export_dir_base: Any, serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Any = None, as_text: bool = False, checkpoint_path: Any = None,
        strip_default_attrs: bool = False,
    ) -> bytes:  # fmt: skip
        """Export like `export_saved_model`; attributes with default values are kept by default."""
        return self._export_for_one_mode(
            ModeKeys.PREDICT, export_dir_base, serving_input_receiver_fn, assets_extra, as_text,
            checkpoint_path, strip_default_attrs,
        )  # fmt: skip

    def _export_for_one_mode(
        self, mode: Any, base: Any, receiver_fn: Any, assets_extra: Any, as_text: bool,
        checkpoint_path: Any, strip_default_attrs: bool,
    ) -> bytes:  # fmt: skip
        if not receiver_fn:
            raise ValueError("An input_receiver_fn must be defined.")
        return self._export_all_saved_models(
            base, {mode: receiver_fn}, assets_extra, as_text, checkpoint_path, strip_default_attrs
        )

    def experimental_export_all_saved_models(
        self, export_dir_base: Any, input_receiver_fn_map: dict[Any, Callable[[], Any]],
        assets_extra: Any = None, as_text: bool = False, checkpoint_path: Any = None,
    ) -> bytes:  # fmt: skip
        """Export like `export_saved_model`, a graph per mode of `input_receiver_fn_map`."""
        return self._export_all_saved_models(
            export_dir_base, input_receiver_fn_map, assets_extra, as_text, checkpoint_path
        )

    def _export_all_saved_models(
        self, export_dir_base: Any, input_receiver_fn_map: dict[Any, Callable[[], Any]],
        assets_extra: Any = None, as_text: bool = False, checkpoint_path: Any = None,
        strip_default_attrs: bool = True,
    ) -> bytes:  # fmt: skip
        checkpoint_path = checkpoint_path or latest_checkpoint(self._model_dir)
        if not checkpoint_path and self._warm_start_settings:
            checkpoint_path = self._warm_start_settings.ckpt_to_initialize_from
            if os.path.isdir(checkpoint_path):
                checkpoint_path = latest_checkpoint(checkpoint_path)
        if not checkpoint_path:
            raise ValueError(f"Couldn't find trained model at {self._model_dir}.")
        return export_all_saved_models(
            self, export_dir_base, input_receiver_fn_map, assets_extra, as_text, checkpoint_path,
            strip_default_attrs,
        )  # fmt: skip

    @redefinable
    def _call_input_fn(
        self, input_fn: Callable[..., Any], mode: Any, input_context: Any = None
    ) -> Any:
        offered = {"mode": mode, "params": self.params, "config": self.config}
        if input_context:
            offered["input_context"] = input_context
        names = fn_args(input_fn)
        with device("/cpu:0"):
            return input_fn(**{name: offered[name] for name in offered if name in names})

    def _call_model_fn(self, features: Any, labels: Any, mode: Any, config: Any) -> EstimatorSpec:
        names = fn_args(self._model_fn)
        if labels is not None and "labels" not in names:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        offered = {"labels": labels, "mode": mode, "params": self.params, "config": config}
        logging.info("Calling model_fn.")
        spec = self._model_fn(
            features=features, **{name: offered[name] for name in offered if name in names}
        )
        logging.info("Done calling model_fn.")
        if not isinstance(spec, EstimatorSpec):
            raise ValueError("model_fn should return an EstimatorSpec.")
        return spec

    def _assert_members_are_not_overridden(self) -> None:
        assert_not_overridden(Estimator, self)


def assert_not_overridden(kind: type, thing: Any) -> None:
    """Raise ValueError for subclasses that override methods of a kind of estimators."""
    own = {name for name in dir(kind) if not name.startswith("__")} - _OPEN
    replaced = [
        name for name in own & set(vars(type(thing)))
        if getattr(kind, name) != getattr(type(thing), name)
    ]  # fmt: skip
    if replaced:
        raise ValueError(
            "Subclasses of Estimator cannot override members of Estimator. "
            f"{type(thing)} does override {sorted(replaced)}"
        )


def settled_config(config: Any, model_dir: Any) -> Any:
    """Return the settings with a session's `ConfigProto` and a folder, from either source."""
    if config is None:
        config = RunConfig()
        logging.info("Using default config.")
    if not isinstance(config, RunConfig):
        raise ValueError(f"config must be an instance of `RunConfig`, but provided {config}.")
    if config.session_config is None:
        config = RunConfig.replace(config, session_config=default_session_config())
    model_dir = path_to_str(model_dir)
    if model_dir is not None and config.model_dir not in (None, model_dir):
        raise ValueError(
            "`model_dir` are set both in constructor and `RunConfig`, but with different values. "
            f"In constructor: '{model_dir}', in `RunConfig`: '{config.model_dir}' "
        )
    if model_dir:
        return RunConfig.replace(config, model_dir=model_dir)
    if config.model_dir is not None:
        return config
    model_dir = tempfile.mkdtemp()
    logging.warning("Using temporary folder as model directory: %s", model_dir)
    return RunConfig.replace(config, model_dir=model_dir)


def _parameter_server_devices(config: RunConfig) -> Callable[..., Any] | None:
    """Places variables on the parameter servers, if there are some."""
    if not config.num_ps_replicas:
        return None
    worker = f"/job:{config.task_type}/task:{config.task_id}"
    return replica_device_setter(
        ps_tasks=config.num_ps_replicas, worker_device=worker, merge_devices=True,
        ps_ops=None, cluster=config.cluster_spec,
    )  # fmt: skip


def _warn_of_endless_input(features: Any) -> None:
    tensors = [value for value in flatten(features) if isinstance(value, Tensor)]
    if any(tensor.op.type == "IteratorGetNext" for tensor in tensors):
        return
    if not get_collection(GraphKeys.QUEUE_RUNNERS):
        logging.warning(
            "Input graph does not use tf.data.Dataset or contain a QueueRunner. That means predict "
            "yields forever. This is probably a mistake."
        )


def _chosen(predictions: Any, keys: Any) -> Any:
    if not keys:
        return predictions
    if not isinstance(predictions, dict):
        raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
    chosen = {key: value for key, value in predictions.items() if key in keys}
    if not chosen:
        raise ValueError(
            f"Expected to run at least one output from {predictions.keys()}, provided {keys}."
        )
    return chosen


def _examples(values: Any) -> Iterator[Any]:
    """Yield the examples of a batch, one by one."""
    if not isinstance(values, dict):
        yield from values
        return
    length = None
    for key, value in values.items():
        length = length or value.shape[0]
        if value.shape[0] != length:
            raise ValueError(
                f"Batch length of predictions should be same. {key} has different batch length "
                "than others."
            )
    for index in range(length or 0):
        yield {key: value[index] for key, value in values.items()}
