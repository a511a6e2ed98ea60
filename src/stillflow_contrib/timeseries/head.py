"""Heads of models of series, for an estimator in every mode."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow import nest
from stillflow.estimator.canned.head import Head
from stillflow.estimator.canned.keys import MetricKeys, key_of_head
from stillflow.estimator.spec import EstimatorSpec
from stillflow.graph.export import export
from stillflow.graph.sparse_tensor import convert_to_tensor_or_sparse_tensor
from stillflow.saved_model.export_outputs import PredictOutput
from stillflow.train.global_step import get_global_step
from stillflow_contrib.timeseries.feature_keys import (
    FilteringFeatures,
    FilteringResults,
    PredictionFeatures,
    PredictionResults,
    SavedModelLabels,
    State,
    TrainEvalFeatures,
)
from stillflow_contrib.timeseries.feature_shapes import (
    check_predict_features,
    check_train_eval_features,
)

if TYPE_CHECKING:
    from stillflow_contrib.timeseries.model import ModelOutputs


_Features = dict[str, Any]
_TRAIN, _EVAL, _PREDICT = (
    tf.estimator.ModeKeys.TRAIN, tf.estimator.ModeKeys.EVAL, tf.estimator.ModeKeys.PREDICT
)  # fmt: skip
_NUMBERED_STATE = re.compile(f"^{State.STATE_PREFIX}_(\\d+)$")


class _NoStatePredictOutput(PredictOutput):
    """Outputs of a signature that receives no state."""

    def as_signature_def(self, receiver_tensors: _Features) -> Any:
        return super().as_signature_def(_without_state(receiver_tensors))


def _without_state(features: _Features) -> _Features:
    return {key: value for key, value in features.items() if not key.startswith(State.STATE_PREFIX)}


class TimeSeriesRegressionHead(Head):
    """Head of a model of series.

    Args:
      model: a `TimeSeriesModel`.
      state_manager: says where the states come from that windows begin with.
      optimizer: makes the steps.
      input_statistics_generator: keeps statistics of the series; None for none.
      name: of the scope of its operations.
    """

    def __init__(
        self, model: Any, state_manager: Any, optimizer: Any,
        input_statistics_generator: Any = None, name: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(logits_dimension=1, name=name)
        self.model = model
        self.state_manager = state_manager
        self.optimizer = optimizer
        self.input_statistics_generator = input_statistics_generator

    def create_loss(
        self, features: _Features, mode: str, logits: Any = None, labels: Any = None
    ) -> ModelOutputs:
        """Return the model's outputs, of which its loss is one; it is summarized.

        Args:
          features: times [batch, window], values [batch, window, features], and others.
          mode: one of `tf.estimator.ModeKeys`.
          logits, labels: not used.
        """
        outputs = self.state_manager.define_loss(self.model, features, mode)
        tf.summary.scalar(key_of_head(self._name, MetricKeys.LOSS), outputs.loss)
        return outputs

    def _train_ops(self, features: _Features) -> EstimatorSpec:
        with tf.variable_scope("model", use_resource=True):
            outputs = self.create_loss(features, _TRAIN)
        step = self.optimizer.minimize(outputs.loss, global_step=get_global_step())
        return EstimatorSpec(mode=_TRAIN, loss=outputs.loss, train_op=step)

    def _evaluate_ops(self, features: _Features) -> EstimatorSpec:
        with tf.variable_scope("model", use_resource=True):
            outputs = self.create_loss(features, _EVAL)
        # Predictions and states of the last batch are metrics, so that `evaluate` returns them.
        metrics = {key: _last_value(key, value) for key, value in outputs.predictions.items()}
        times, state = FilteringResults.TIMES, FilteringResults.STATE_TUPLE
        metrics[times] = _last_value(times, outputs.prediction_times)
        metrics[state] = _last_values(state, outputs.end_state)
        metrics[MetricKeys.LOSS_MEAN] = tf.metrics.mean(outputs.loss, name="average_loss")
        return EstimatorSpec(
            mode=_EVAL, loss=outputs.loss, eval_metric_ops=metrics, predictions=outputs.predictions
        )

    def _predict_ops(self, features: _Features) -> EstimatorSpec:
        with tf.variable_scope("model", use_resource=True):
            predictions = self.model.predict(features=features)
        predictions[PredictionResults.TIMES] = features[PredictionFeatures.TIMES]
        return EstimatorSpec(mode=_PREDICT, predictions=predictions)

    def _serving_ops(self, features: _Features) -> EstimatorSpec:
        """Three signatures: to predict, to go on from a state, and from none."""
        with tf.variable_scope("model", use_resource=True):
            predictions = self.model.predict(features=features)
        with tf.variable_scope("model", reuse=True):
            filtered = self.create_loss(features, _EVAL)
        with tf.variable_scope("model", reuse=True):
            cold = self.model.define_loss(features=_without_state(features), mode=_EVAL)
        outputs = {
            SavedModelLabels.PREDICT: PredictOutput(predictions),
            SavedModelLabels.FILTER: PredictOutput(state_to_dictionary(filtered.end_state)),
            SavedModelLabels.COLD_START_FILTER: _NoStatePredictOutput(
                state_to_dictionary(cold.end_state)
            ),
        }
        return EstimatorSpec(mode=_PREDICT, export_outputs=outputs, predictions={})

    def _convert_feature_to_tensor(self, name: str, value: Any) -> Any:
        if name == TrainEvalFeatures.TIMES:
            return tf.cast(value, tf.int64)
        if name == TrainEvalFeatures.VALUES:
            return tf.cast(value, self.model.dtype)
        if name == PredictionFeatures.STATE_TUPLE:
            return value  # nested: it stays as it is
        return convert_to_tensor_or_sparse_tensor(value)

    def _gather_state(self, features: _Features) -> tuple[_Features, bool]:
        """Return features with a state's numbered parts combined, and True if there were any."""
        found = ((key, _NUMBERED_STATE.search(key)) for key in features)
        numbers = {key: int(match.group(1)) for key, match in found if match}
        if not numbers:
            return features, False
        parts = [features[key] for key in sorted(numbers, key=lambda key: numbers[key])]
        gathered = {key: value for key, value in features.items() if key not in numbers}
        gathered[State.STATE_TUPLE] = nest.pack_sequence_as(self.model.get_start_state(), parts)
        return gathered, True

    def _check_predict_features(self, features: _Features) -> None:
        required = (PredictionFeatures.TIMES, PredictionFeatures.STATE_TUPLE)
        check_predict_features(features, required, {PredictionFeatures.STATE_TUPLE})

    def create_estimator_spec(
        self, features: _Features, mode: str, labels: Any = None
    ) -> EstimatorSpec:
        """Return the `EstimatorSpec` of a mode; a state in numbered parts asks for signatures.

        Args:
          features: {name: tensor}.
          mode: one of `tf.estimator.ModeKeys`.
          labels: None, or {}.

        Raises:
          ValueError: if there are labels, features are missing or do not fit, or the mode is
            unknown.
        """
        with tf.name_scope(self._name, "head"):
            if labels is not None and labels != {}:
                raise ValueError(
                    "The model received a `labels`, which is not supported. Pass "
                    f"'{TrainEvalFeatures.TIMES}' and '{TrainEvalFeatures.VALUES}' as features."
                )
            features = {
                name: self._convert_feature_to_tensor(name=name, value=value)
                for name, value in features.items()
            }
            statistics = None
            if self.input_statistics_generator is not None:
                statistics = self.input_statistics_generator.initialize_graph(
                    features, update_statistics=mode == _TRAIN
                )
            self.model.initialize_graph(input_statistics=statistics)
            features, is_served = self._gather_state(features)
            self._check(features, mode)
            self.state_manager.initialize_graph(model=self.model, input_statistics=statistics)
            if mode == _TRAIN:
                return self._train_ops(features)
            if mode == _EVAL:
                return self._evaluate_ops(features)
            return self._serving_ops(features) if is_served else self._predict_ops(features)

    def _check(self, features: _Features, mode: str) -> None:
        if mode in (_TRAIN, _EVAL):
            check_train_eval_features(features, self.model)
        elif mode == _PREDICT:
            self._check_predict_features(features)
        else:
            raise ValueError(f"Unknown mode '{mode}' passed to model_fn.")


@export("contrib.timeseries.OneShotPredictionHead")
class OneShotPredictionHead(TimeSeriesRegressionHead):
    """A head whose served model takes the values and the times to predict in one call.

    Args:
      model, state_manager, optimizer, ...: as of `TimeSeriesRegressor`'s head.
    """

    def _check_predict_features(self, features: _Features) -> None:
        values, state = TrainEvalFeatures.VALUES, PredictionFeatures.STATE_TUPLE
        check_predict_features(features, (PredictionFeatures.TIMES, values, state), {state, values})

    def _evaluate_ops(self, features: _Features) -> EstimatorSpec:
        spec = super()._evaluate_ops(features)
        del spec.eval_metric_ops[State.STATE_TUPLE]
        return spec

    def _serving_ops(self, features: _Features) -> EstimatorSpec:
        """Return one signature: values are filtered, then the next ones are predicted."""
        with tf.variable_scope("model", use_resource=True):
            seen, to_predict = {}, {}
            length = tf.shape(features[FilteringFeatures.VALUES])[1]
            for key, value in features.items():
                if key == State.STATE_TUPLE:
                    continue
                if key == FilteringFeatures.VALUES:
                    seen[key] = value
                else:
                    seen[key] = value[:, :length]
                    to_predict[key] = value[:, length:]
            filtered = self.model.define_loss(features=seen, mode=_EVAL)
            to_predict[State.STATE_TUPLE] = filtered.end_state
        with tf.variable_scope("model", reuse=True):
            predictions = self.model.predict(features=to_predict)
        outputs = {SavedModelLabels.PREDICT: _NoStatePredictOutput(predictions)}
        return EstimatorSpec(mode=_PREDICT, export_outputs=outputs, predictions={})


def _last_value(name: str, tensor: Any) -> tuple[Any, Any]:
    """Return a metric that is the tensor's last value, of any shape."""
    anything = {"validate_shape": False}
    local = [tf.GraphKeys.LOCAL_VARIABLES]
    initial = tf.zeros([], dtype=tensor.dtype)
    last = tf.Variable(initial, collections=local, name=f"{name}_identity_metric", **anything)
    update = tf.assign(last, tensor, **anything)
    # Its readers know the shape.
    last.set_shape(tensor.get_shape())
    return last.value(), update


def _last_values(name: str, tensors: Any) -> tuple[Any, Any]:
    """Return a metric of nested tensors."""
    metrics = [
        _last_value(f"{name}_{number}", tensor)
        for number, tensor in enumerate(nest.flatten(tensors))
    ]
    values = [value for value, _ in metrics]
    return nest.pack_sequence_as(tensors, values), tf.group(*[update for _, update in metrics])


def state_to_dictionary(state_tuple: Any) -> _Features:
    """Return a nested state as {numbered name: part}."""
    return {
        f"{State.STATE_PREFIX}_{number:02d}": value
        for number, value in enumerate(nest.flatten(state_tuple))
    }
