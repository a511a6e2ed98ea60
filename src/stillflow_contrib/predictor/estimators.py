"""Predictors of estimators, with the values of their last checkpoint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.estimator.estimator import Estimator
from stillflow.estimator.mode_keys import ModeKeys
from stillflow.graph.export import export
from stillflow.graph.graph import Graph
from stillflow.saved_model import names
from stillflow.train.checkpoint_management import latest_checkpoint
from stillflow.train.monitored_session import MonitoredSession
from stillflow.train.session_creator import ChiefSessionCreator
from stillflow_contrib.learn.estimator import Estimator as LearnEstimator
from stillflow_contrib.learn.saved_model_export import input_alternatives, output_alternatives
from stillflow_contrib.predictor.base import Predictor, tensor_names

_DEFAULT_INPUT = "default_input_alternative"


class CoreEstimatorPredictor(Predictor):
    """The model of a `tf.estimator.Estimator`; arguments are those of `from_estimator`."""

    def __init__(
        self, estimator: Any, serving_input_receiver_fn: Callable[[], Any],
        output_key: str | None = None, graph: Graph | None = None, config: Any = None,
    ) -> None:  # fmt: skip
        self._graph = graph or Graph()
        with self._graph.as_default():
            receiver = serving_input_receiver_fn()
            signature = _signature(estimator, receiver, output_key)
            creator = ChiefSessionCreator(config=config, checkpoint_dir=estimator.model_dir)
            self._session = MonitoredSession(session_creator=creator)
        self._use_signature(tensor_names(signature.inputs), tensor_names(signature.outputs))


class ContribEstimatorPredictor(Predictor):
    """The model of a `tf.contrib.learn.Estimator`; see `from_contrib_estimator`."""

    def __init__(
        self, estimator: Any, prediction_input_fn: Callable[[], Any],
        input_alternative_key: str | None = None, output_alternative_key: str | None = None,
        graph: Graph | None = None, config: Any = None,
    ) -> None:  # fmt: skip
        self._graph = graph or Graph()
        with self._graph.as_default():
            received = prediction_input_fn()
            model = estimator._get_predict_ops(received.features)
            creator = ChiefSessionCreator(
                config=config, checkpoint_filename_with_path=latest_checkpoint(estimator.model_dir)
            )
            self._session = MonitoredSession(session_creator=creator)
        inputs, _ = input_alternatives(received)
        self._feed_tensors = inputs[input_alternative_key or _DEFAULT_INPUT]
        outputs, key = output_alternatives(model, output_alternative_key)
        self._fetch_tensors = outputs[key][1]


def _signature(estimator: Any, receiver: Any, output_key: str | None) -> Any:
    spec = estimator.model_fn(receiver.features, None, ModeKeys.PREDICT, estimator.config)
    key = names.DEFAULT_SERVING_SIGNATURE_DEF_KEY if output_key is None else output_key
    output = spec.export_outputs.get(key)
    if output is None:
        raise KeyError(f"output_key must be one of {spec.export_outputs.keys()}; got {key}")
    return output.as_signature_def(receiver.receiver_tensors)


@export("contrib.predictor.from_estimator")
def from_estimator(
    estimator: Any, serving_input_receiver_fn: Callable[[], Any], output_key: str | None = None,
    graph: Graph | None = None, config: Any = None,
) -> Predictor:  # fmt: skip
    """Return a predictor of an estimator, with the values of its last checkpoint.

    Args:
      estimator: a `tf.estimator.Estimator`.
      serving_input_receiver_fn: builds the feeds, a `ServingInputReceiver`.
      output_key: which of the model's `export_outputs` is fetched; "serving_default" if None.
      graph: which the model is built in; a new one if None.
      config: a `ConfigProto` for the session.

    Raises:
      TypeError: if `estimator` is a `tf.contrib.learn.Estimator`.
      KeyError: if the model has no such output.
    """
    if isinstance(estimator, LearnEstimator):
        raise TypeError(
            "Expected estimator to be of type tf.python.estimator.Estimator, but got type "
            "tf.contrib.learn.Estimator. You likely want to call from_contrib_estimator."
        )
    return CoreEstimatorPredictor(estimator, serving_input_receiver_fn, output_key, graph, config)


@export("contrib.predictor.from_contrib_estimator")
def from_contrib_estimator(
    estimator: Any, prediction_input_fn: Callable[[], Any],
    input_alternative_key: str | None = None, output_alternative_key: str | None = None,
    graph: Graph | None = None, config: Any = None,
) -> Predictor:  # fmt: skip
    """Return a predictor of a `tf.contrib.learn.Estimator`, with the values of its last checkpoint.

    Args:
      estimator: the estimator.
      prediction_input_fn: builds the feeds, an `InputFnOps`.
      input_alternative_key: which inputs are fed; the default ones if None.
      output_alternative_key: which outputs are fetched; the only ones if None.
      graph: which the model is built in; a new one if None.
      config: a `ConfigProto` for the session.

    Raises:
      TypeError: if `estimator` is a `tf.estimator.Estimator`.
      ValueError: if there are no such outputs, or several and none is named.
    """
    if isinstance(estimator, Estimator):
        raise TypeError(
            "Expected estimator to be of type tf.contrib.learn.Estimator, but got type "
            "tf.python.estimator.Estimator. You likely want to call from_estimator."
        )
    return ContribEstimatorPredictor(
        estimator, prediction_input_fn, input_alternative_key, output_alternative_key, graph, config
    )
