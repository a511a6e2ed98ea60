"""The part of a model that knows its optimizer, losses and metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.distribute.context import get_strategy, has_strategy, in_cross_replica_context
from stillflow.eager import v2_behavior
from stillflow.functional.polymorphic import runs_functions_eagerly
from stillflow.graph.api import name_scope
from stillflow.graph.eager_mode import executing_eagerly_outside_functions
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.config import floatx
from stillflow.keras.backend.function import function
from stillflow.keras.backend.session import make_session_of
from stillflow.keras.engine.endpoints import (
    TrainingEndpoint,
    set_loss_weights,
    set_sample_weight_modes,
)
from stillflow.keras.engine.immediate_steps import ImmediateStep
from stillflow.keras.engine.losses_and_metrics import (
    endpoint_loss,
    is_mean,
    loss_functions,
    metrics_by_output,
    share_of_replica,
    with_mask,
)
from stillflow.keras.engine.replica_checks import check_for_replicas, only_replica
from stillflow.keras.metrics.base import Mean
from stillflow.keras.mixed_precision.loss_scale_optimizer import LossScaleOptimizer
from stillflow.keras.optimizers import registry as optimizers
from stillflow.keras.optimizers.base import OptimizerV2
from stillflow.keras.optimizers.classic import Optimizer as ClassicOptimizer
from stillflow.layers.attributes import all_layers, layers_in
from stillflow.layers.learning_phase import symbolic_learning_phase
from stillflow.layers.symbolic_graph import symbolic_graph
from stillflow.platform import tf_logging as logging
from stillflow.train.tracking.base import Trackable, no_automatic_dependency_tracking

_ONLY_EAGERLY = (
    "Your model contains layers that can only be successfully run in eager execution (layers "
    "constructed with `dynamic=True`)."
)


class Compiling:
    """Compilation of a model: `compile`, and the functions that run steps."""

    inputs: Any
    outputs: Any
    output_names: list[str]
    layers: Any
    losses: list[Any]
    built: bool
    optimizer: Any
    _run_eagerly: bool | None = None
    _experimental_run_tf_function = False
    _distribution_strategy: Any = None  # whose replicas run the model
    _immediate_strategy: Any = None  # whose only replica does, where operations run when called
    _compile_distribution = False  # whether they run copies
    _callback_model: Any = None  # the callbacks' model
    dynamic: Any
    state_updates: list[Any]
    _layers: list[Any]
    _metrics: list[Any]
    _is_compiled: bool
    _feed_inputs: list[Any]
    _unique_trainable_weights: list[Any]
    _track_trackable: Any
    _clear_losses: Any
    _dtype_policy: Any
    get_losses_for: Any
    get_updates_for: Any

    @no_automatic_dependency_tracking
    def compile(
        self,
        optimizer: Any = "rmsprop",
        loss: Any = None,
        metrics: Any = None,
        loss_weights: Any = None,
        sample_weight_mode: Any = None,
        weighted_metrics: Any = None,
        target_tensors: Any = None,
        distribute: Any = None,
        **kwargs: Any,
    ) -> None:
        """Set how the model is trained.

        Args:
          optimizer: an optimizer of Keras or `tf.train`, or a name.
          loss: a name, function or `Loss`; one for each output in a list or dictionary.
          metrics: names, functions and `Metric`s; lists of such or a dictionary for each output.
          loss_weights: the losses' factors, in a list or dictionary.
          sample_weight_mode: "temporal" for weights of steps; one for each output.
          weighted_metrics: metrics that are weighted as the losses are.
          target_tensors: tensors that are the targets.
          distribute: a strategy whose replicas run copies of the model, in graphs only; where a
            program may be changed, make and compile the model in the strategy's scope instead.
          **kwargs: arguments of `Session.run`.

        Raises:
          ValueError: for arguments that do not fit the model.
        """
        self._run_eagerly = kwargs.pop("run_eagerly", None)
        self._experimental_run_tf_function = kwargs.pop("experimental_run_tf_function", True)
        self._set_optimizer(optimizer)
        if (
            sample_weight_mode is not None
            or target_tensors is not None
            or any(isinstance(one, ClassicOptimizer) for one in nest.flatten(self.optimizer))
            or not executing_eagerly_outside_functions()
        ):
            self._experimental_run_tf_function = False
        self._set_strategy(distribute)
        check_for_replicas(self, sample_weight_mode, weighted_metrics, target_tensors)
        if self.run_eagerly and target_tensors is not None:
            raise ValueError(
                "target_tensors argument is not supported when running a model eagerly."
            )
        self.loss, self.loss_weights = loss or {}, loss_weights
        self.sample_weight_mode = sample_weight_mode
        self._compile_metrics, self._compile_weighted_metrics = metrics or [], weighted_metrics
        self._training_endpoints: list[TrainingEndpoint] = []
        self._compiled_trainable_state = self._get_trainable_state()
        self._compile_metric_functions: list[Any] = []
        self._immediate_steps: dict[Any, Any] = {}
        self._clear_losses()
        if not self.built or not self.inputs or not self.outputs:
            return  # compiled again with the first data
        self._is_compiled = True
        self.loss_functions = loss_functions(self.loss, self.output_names)
        if self.run_eagerly or self._immediate_strategy is not None:
            self._name_endpoints(metrics, weighted_metrics)
        else:
            with symbolic_graph().as_default():
                self._build_endpoints(metrics, weighted_metrics, target_tensors)
        self._function_kwargs = kwargs
        self.train_function = self.test_function = self.predict_function = None
        self._collected_trainable_weights = self._unique_trainable_weights

    @property
    def run_eagerly(self) -> bool:
        """True if steps run operation by operation; can be set.

        Raises:
          ValueError: if they cannot, or for layers that can do nothing else.
        """
        asked = self._run_eagerly
        if asked is True and not tf.executing_eagerly():
            raise ValueError("You can only set `run_eagerly=True` if eager execution is enabled.")
        if not self.dynamic:
            return runs_functions_eagerly() if asked is None else asked
        if not tf.executing_eagerly():
            raise ValueError(
                f"{_ONLY_EAGERLY} You must enable eager execution with "
                "`tf.enable_eager_execution()`."
            )
        if asked is False:
            raise ValueError(f"{_ONLY_EAGERLY} You cannot set `run_eagerly=False`.")
        return True

    @run_eagerly.setter
    def run_eagerly(self, value: bool) -> None:
        self._run_eagerly = value

    def _name_endpoints(self, metrics: Any, weighted_metrics: Any) -> None:
        """Name the endpoints like `_build_endpoints`, without a graph."""
        self._training_endpoints = [
            TrainingEndpoint.without_graph(*parts)
            for parts in zip(self.outputs, self.output_names, self.loss_functions, strict=True)
        ]
        set_loss_weights(self._training_endpoints, self.loss_weights)
        set_sample_weight_modes(self._training_endpoints, self.sample_weight_mode)
        self.total_loss = None
        self._name_metrics(metrics, weighted_metrics)

    def _build_endpoints(self, metrics: Any, weighted_metrics: Any, target_tensors: Any) -> None:
        """Add targets, metrics and the loss to the graph."""
        targets = self._given_targets(target_tensors)
        self._training_endpoints = [
            TrainingEndpoint(*parts)
            for parts in zip(
                self.outputs, self.output_names, self.loss_functions, targets, strict=True
            )
        ]
        set_loss_weights(self._training_endpoints, self.loss_weights)
        self._name_metrics(metrics, weighted_metrics)
        self._call_metrics(weighted=False)
        set_sample_weight_modes(self._training_endpoints, self.sample_weight_mode)
        self._compile_weights_and_loss()

    def _set_strategy(self, given: Any) -> None:
        """Record a strategy, given or in whose scope the model is compiled.

        Outside of graphs, ValueError if one is given, NotImplementedError for one of several
        replicas.
        """
        self._compile_distribution, self._immediate_strategy = given is not None, None
        if given is not None:
            if v2_behavior.is_enabled or self._experimental_run_tf_function:
                raise ValueError(
                    "Distribute argument in compile is not available in TF 2.0 please create the "
                    "model under the distribution strategy scope."
                )
            logging.warning(
                "Distribute argument in compile is deprecated please create the model under the "
                "distribution strategy scope."
            )
            self._replica_copies: dict[str, Any] = {}
        elif not (has_strategy() and in_cross_replica_context()):
            return
        elif tf.executing_eagerly():
            self._immediate_strategy = only_replica(get_strategy())
            return
        self._distribution_strategy = given or get_strategy()
        self._replica_models: dict[str, Any] = {}
        make_session_of(self._distribution_strategy)

    def _set_optimizer(self, optimizer: Any) -> None:
        several = isinstance(optimizer, (list, tuple))
        found = [optimizers.get(each) for each in (optimizer if several else [optimizer])]
        self.optimizer = found if several else found[0]
        scale = self._dtype_policy.loss_scale
        if scale is not None:
            self._scale_loss(scale)
        if isinstance(self.optimizer, Trackable):
            self._track_trackable(self.optimizer, name="optimizer", overwrite=True)

    def _scale_loss(self, scale: Any) -> None:
        """Wrap the optimizer as the model's policy says."""
        if isinstance(self.optimizer, LossScaleOptimizer):
            if self.optimizer.loss_scale != scale:
                own = self.optimizer.loss_scale
                logging.warning(
                    f"LossScale of LossScaleOptimizer passed to compile ({own}) is not the same as "
                    f"the dtype policy's loss scale ({scale}). Because the "
                    "dtype policy has a loss scale, you should pass an optimizer that is not "
                    "wrapped with a LossScaleOptimizer,"
                )
        elif isinstance(self.optimizer, OptimizerV2):
            self.optimizer = LossScaleOptimizer(self.optimizer, scale)
        else:
            raise ValueError(
                '"optimizer" must be an instance of tf.keras.optimizers.Optimizer when a dype '
                f"policy with a loss scale  used, but got: {self.optimizer}. Using policy: "
                f"{self._dtype_policy}"
            )

    def _given_targets(self, targets: Any) -> list[Any]:
        count = len(self.outputs)
        if targets is None or (isinstance(targets, list) and targets == []):
            return [None] * count
        if isinstance(targets, list):
            if len(targets) != count:
                raise ValueError(
                    "When passing a list as `target_tensors`, it should have one entry per model "
                    f"output. The model has {count} outputs, but you passed "
                    f"target_tensors={targets}"
                )
            return targets
        if isinstance(targets, dict):
            unknown = set(targets) - set(self.output_names)
            if unknown:
                raise ValueError(
                    f'Unknown entry in `target_tensors` dictionary: "{unknown}". Only expected '
                    f"the following keys: {self.output_names}"
                )
            return [targets.get(name) for name in self.output_names]
        if tf.is_tensor(targets):
            return [targets]
        raise TypeError(
            "Expected `target_tensors` to be a list or tuple or dict or a single tensor, but got:",
            targets,
        )

    # ---- metrics

    @property
    def metrics(self) -> list[Any]:
        """The metrics: those given to `compile`, then those of the model and its layers."""
        found = list(self._compile_metric_functions) if self._is_compiled else []
        return found + self._metrics + _metrics_of_layers(self._layers)

    @property
    def metrics_names(self) -> list[str]:
        """The names of the results of training and evaluation."""
        names = ["loss"]
        if self._is_compiled:
            if len(self._training_endpoints) > 1:
                names += [e.loss_name for e in self._training_endpoints if not e.skips_target]
            names += [metric.name for metric in self._compile_metric_functions]
        names += [metric.name for layer in self.layers for metric in layer._metrics]
        return names + [metric.name for metric in self._metrics]

    def reset_metrics(self) -> None:
        """Reset all metrics."""
        for metric in self._all_metrics():
            metric.reset_states()
        if self._distribution_strategy:
            for replica in self._replica_models.values():
                replica.reset_metrics()

    def _all_metrics(self) -> list[Any]:
        losses = [e.loss_metric for e in getattr(self, "_training_endpoints", ())]
        return [metric for metric in losses if metric is not None] + self.metrics

    def _name_metrics(self, metrics: Any, weighted_metrics: Any) -> None:
        known = [x is not None and x.shape.ndims is not None for x in self.outputs]
        shapes = [
            x.shape.as_list() if is_known else None
            for x, is_known in zip(self.outputs, known, strict=True)
        ]
        plain, weighted = (
            metrics_by_output(given, self.output_names, shapes, self.loss_functions, is_weighted)
            for given, is_weighted in ((metrics, False), (weighted_metrics, True))
        )
        for i, endpoint in enumerate(self._training_endpoints):
            if not endpoint.skips_target:
                plain[i] = self._with_unique_names(plain[i], i)
                weighted[i] = self._with_unique_names(weighted[i], i)
        if len(self._training_endpoints) > 1:
            for endpoint in self._training_endpoints:
                if not endpoint.skips_target:
                    endpoint.loss_metric = Mean(name=endpoint.loss_name)
        self._per_output_metrics, self._per_output_weighted_metrics = plain, weighted

    def _with_unique_names(self, metrics: dict[str, Any], output: int) -> dict[str, Any]:
        named = {}
        for base_name, metric in metrics.items():
            if len(self.output_names) > 1:
                base_name = f"{self.output_names[output]}_{base_name}"
            name, number = base_name, 1
            while name in self.metrics_names:
                name, number = f"{base_name}_{number}", number + 1
            metric._name = name
            named[name] = metric
            self._compile_metric_functions.append(metric)
        return named

    def _call_metrics(self, weighted: bool) -> None:
        per_output = self._per_output_weighted_metrics if weighted else self._per_output_metrics
        with name_scope("metrics"):
            for endpoint, metrics in zip(self._training_endpoints, per_output, strict=True):
                if endpoint.skips_target:
                    continue
                y_pred = endpoint.output
                for name, metric in metrics.items():
                    with name_scope(name):
                        mask = getattr(y_pred, "_keras_mask", None)
                        weights = endpoint.sample_weight if weighted else None
                        weights = with_mask(mask, weights, y_pred)
                        metric(endpoint.target, y_pred, sample_weight=weights)

    # ---- the loss

    def _compile_weights_and_loss(self) -> None:
        for endpoint in self._training_endpoints:
            endpoint.set_sample_weight()
        self._call_metrics(weighted=True)
        self.total_loss = self._total_loss()

    def _weigh_by(self, weights: list[Any]) -> None:
        """Set weights of examples from tensors, one for each output that has a loss."""
        taken = [endpoint for endpoint in self._training_endpoints if not endpoint.skips_target]
        for endpoint, weight in zip(taken, weights, strict=True):
            endpoint.sample_weight_mode = endpoint.sample_weight_mode or "samplewise"
            endpoint.set_sample_weight(tf.cast(weight, floatx()))
        self._call_metrics(weighted=True)
        self.total_loss = self._total_loss()

    @property
    def sample_weights(self) -> list[Any]:
        """The placeholders of weights, None where there is none."""
        return [endpoint.sample_weight for endpoint in self._training_endpoints]

    def _total_loss(self) -> Any:
        total: Any = None
        with name_scope("loss"):
            for endpoint in self._training_endpoints:
                if endpoint.skips_target:
                    continue
                with name_scope(endpoint.loss_name):
                    loss = _loss_of(endpoint)
                if len(self.outputs) > 1:
                    endpoint.loss_metric(loss)
                if is_mean(endpoint.loss_fn):
                    loss = share_of_replica(loss)
                weighted = endpoint.loss_weight * loss
                total = weighted if total is None else total + weighted
            if total is None:
                if not self.losses:
                    raise ValueError(
                        "The model cannot be compiled because it has no loss to optimize."
                    )
                total = 0.0
            added = self.get_losses_for(None) + self.get_losses_for(self.inputs)
            if added:
                total += share_of_replica(tf.add_n(added))
        return total

    # ---- which layers are trained

    def _get_trainable_state(self) -> list[tuple[Any, bool]]:
        return [(x, x.trainable) for x in all_layers(self)]

    def _set_trainable_state(self, state: list[tuple[Any, bool]]) -> None:
        for layer, trainable in state:
            layer.trainable = trainable

    def _check_trainable_weights(self) -> None:
        collected = getattr(self, "_collected_trainable_weights", None)
        if collected is not None and len(collected) != len(self._unique_trainable_weights):
            logging.log_first_n(
                logging.WARN,
                "Discrepancy between trainable weights and collected trainable weights, did you "
                "set `model.trainable` without calling `model.compile` after ?",
                1,
            )

    # ---- functions that run a step

    @property
    def _loss_weights_list(self) -> list[Any]:
        return [e.loss_weight for e in self._training_endpoints if not e.skips_target]

    @property
    def _feed_targets(self) -> list[Any]:
        return [e.target for e in self._training_endpoints if e.feeds_target]

    @property
    def _feed_sample_weights(self) -> list[Any]:
        return [x for x in self.sample_weights if x is not None]

    def _recompiled(self) -> bool:
        """Rebuild the loss if weights are given now and were not, or the reverse.

        Return True then.
        """
        mismatch = self._is_compiled and any(e.weights_mismatch for e in self._training_endpoints)
        if mismatch:
            self._compile_weights_and_loss()
        return mismatch

    def _results(self) -> list[Any]:
        metrics = self._all_metrics()
        return [self.total_loss] + [m._call_result for m in metrics if hasattr(m, "_call_result")]

    def _optimizers_and_weights(self) -> list[tuple[Any, Callable[[], Any]]]:
        """Return the optimizers, each with a function to the variables that it trains."""
        if isinstance(self.optimizer, list):
            raise ValueError("The `optimizer` in `compile` should be a single optimizer.")
        return [(self.optimizer, lambda: self._collected_trainable_weights)]

    def _apply(self, tape: Any, loss: Any) -> None:
        """Change the variables by the gradients of a loss, where operations run when called."""
        variables = self._unique_trainable_weights
        grads = tape.gradient(loss, variables)
        if isinstance(self.optimizer, LossScaleOptimizer):
            grads = self.optimizer.get_unscaled_gradients(grads)
        self.optimizer.apply_gradients(zip(grads, variables, strict=True))

    def _runs_at_once(self) -> bool:
        """Return True if steps call the model, rather than run parts of a graph that has it."""
        at_once = self._experimental_run_tf_function or self._immediate_strategy is not None
        return tf.executing_eagerly() and (self.run_eagerly or at_once)

    def _make_train_function(self) -> None:
        recompiled = self._recompiled()
        self._check_trainable_weights()
        trained = self._optimizers_and_weights()
        if self.train_function is not None and not recompiled:
            return
        current = self._get_trainable_state()
        self._set_trainable_state(self._compiled_trainable_state)
        inputs = self._feed_inputs + self._feed_targets + self._feed_sample_weights
        if not isinstance(symbolic_learning_phase(), int):
            inputs = [*inputs, symbolic_learning_phase()]
        with name_scope("training"):
            updates: list[Any] = []
            for optimizer, weights in trained:
                updates = updates + optimizer.get_updates(params=weights(), loss=self.total_loss)
            updates = updates + self.get_updates_for(None) + self.get_updates_for(self.inputs)
        results = self._results()
        with name_scope("training"):
            self.train_function = function(
                inputs, results, updates=updates, name="train_function", **self._function_kwargs
            )
        self._set_trainable_state(current)

    def _make_test_function(self) -> None:
        recompiled = self._recompiled()
        if self.test_function is not None and not recompiled:
            return
        inputs = self._feed_inputs + self._feed_targets + self._feed_sample_weights
        with name_scope("evaluation"):
            self.test_function = function(
                inputs, self._results(), updates=self.state_updates, name="test_function",
                **self._function_kwargs,
            )  # fmt: skip

    def _make_predict_function(self) -> None:
        if getattr(self, "predict_function", None) is None:
            with name_scope("predict"):
                self.predict_function = function(
                    self._feed_inputs, self.outputs, updates=self.state_updates,
                    name="predict_function", **getattr(self, "_function_kwargs", {}),
                )  # fmt: skip

    def _make_execution_function(self, mode: str, counts: tuple[int, int]) -> Any:
        """Return the function of a step on the feeds.

        `counts` are the numbers of inputs and targets.
        """
        if self._runs_at_once():
            steps = self.__dict__.setdefault("_immediate_steps", {})
            key = mode, counts, self.run_eagerly
            if key not in steps:
                steps[key] = ImmediateStep(self, mode, counts, compiled=not self.run_eagerly)
            return steps[key]
        with symbolic_graph().as_default():
            getattr(self, f"_make_{mode}_function")()
        return getattr(self, f"{mode}_function")


def _loss_of(endpoint: TrainingEndpoint) -> Tensor:
    """Return the loss of an output."""
    y_pred = endpoint.output
    weights = with_mask(getattr(y_pred, "_keras_mask", None), endpoint.sample_weight, y_pred)
    return endpoint_loss(endpoint.loss_fn, endpoint.target, y_pred, weights)


def _metrics_of_layers(layers: Any) -> list[Any]:
    metrics: list[Any] = []
    for layer in layers_in(layers):
        if isinstance(layer, Compiling):
            metrics += layer._metrics + _metrics_of_layers(layer.layers)
        else:
            metrics += layer.metrics
    return metrics
