"""An estimator of `tf.contrib.learn` trains, evaluates, predicts and exports as TensorFlow's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow_contrib.learn.estimator import Estimator
from stillflow_contrib.learn.input_fn_utils import InputFnOps
from stillflow_contrib.learn.interfaces import NotFittedError
from stillflow_contrib.learn.metric_spec import MetricSpec
from stillflow_contrib.learn.model_fn_ops import ModelFnOps
from stillflow_contrib.learn.run_config import RunConfig
from stillflow_contrib.learn.sk_compat import SKCompat

X = np.arange(40, dtype=np.float32).reshape(20, 2) / 40
Y = X @ np.array([1.0, -2.0], np.float32) + 0.5


def _model(features: Any, labels: Any, mode: str, params: dict[str, float]) -> ModelFnOps:
    if isinstance(features, dict):
        features = features["f"]
    weights = tf.get_variable("w", [2, 1], initializer=tf.random_uniform_initializer(seed=3))
    bias = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
    found = tf.squeeze(tf.matmul(features, weights) + bias, 1)
    predictions = {"y": found, "twice": 2 * found}
    if mode == tf.contrib.learn.ModeKeys.INFER:
        return ModelFnOps(mode, predictions=predictions)
    loss = tf.losses.mean_squared_error(labels, found)
    optimizer = tf.train.GradientDescentOptimizer(params["rate"])
    train = optimizer.minimize(loss, tf.train.get_global_step())
    return ModelFnOps(mode, predictions=predictions, loss=loss, train_op=train)


def _input() -> tuple[Any, Any]:
    return tf.constant(X), tf.constant(Y)


@pytest.fixture
def estimator(tmp_path: Path) -> Estimator:
    config = RunConfig(tf_random_seed=5)
    return Estimator(_model, model_dir=str(tmp_path / "m"), params={"rate": 0.1}, config=config)


def test_it_walks_the_loss_curve_of_tensorflow(estimator: Estimator) -> None:
    metrics = {"mae": MetricSpec(tf.metrics.mean_absolute_error, prediction_key="y")}
    estimator.fit(input_fn=_input, steps=5)
    found = estimator.evaluate(input_fn=_input, steps=1, metrics=metrics)
    assert found["global_step"] == 5
    np.testing.assert_allclose(found["loss"], 0.17691162, rtol=1e-6)
    np.testing.assert_allclose(found["mae"], 0.3645261, rtol=1e-6)
    predictions = [one["y"] for one in estimator.predict(input_fn=_input)]
    np.testing.assert_allclose(predictions[:3], [-0.22910333, -0.2061981, -0.18329287], rtol=1e-6)
    estimator.fit(x=X, y=Y, batch_size=8, steps=4)
    loss = estimator.evaluate(x=X, y=Y, batch_size=5)["loss"]
    np.testing.assert_allclose(loss, 0.14355734, rtol=1e-6)
    twice = SKCompat(estimator).fit(X, Y, batch_size=3, steps=3).predict(X, batch_size=6)["twice"]
    np.testing.assert_allclose(twice[:3], [-0.34222502, -0.32411286, -0.30600074], rtol=1e-6)
    assert estimator.get_variable_names() == ["b", "global_step", "w"]
    assert estimator.get_variable_value("global_step") == 12


def test_an_export_has_the_signatures_of_tensorflow(estimator: Estimator, tmp_path: Path) -> None:
    def serving() -> InputFnOps:
        inputs = tf.placeholder(tf.float32, [None, 2], name="x")
        return InputFnOps({"f": inputs}, None, {"x": inputs})

    estimator.fit(input_fn=_input, steps=1)
    path = estimator.export_savedmodel(str(tmp_path / "export"), serving)
    with tf.Session(graph=tf.Graph()) as session:
        message = tf.saved_model.loader.load(session, ["serve"], path)
        assert sorted(message.signature_def) == [
            "default_input_alternative:default_output_alternative", "serving_default",
        ]  # fmt: skip
        output = message.signature_def["serving_default"].outputs["y"].name
        served = session.run(output, {"x:0": X})
    predicted = [one["y"] for one in estimator.predict(input_fn=_input)]
    np.testing.assert_allclose(served, predicted, rtol=1e-6)


def test_steps_count_on_and_max_steps_do_not(estimator: Estimator) -> None:
    estimator.fit(input_fn=_input, steps=2).fit(input_fn=_input, steps=2)
    assert estimator.get_variable_value("global_step") == 4
    estimator.fit(input_fn=_input, max_steps=3)
    assert estimator.get_variable_value("global_step") == 4
    estimator.partial_fit(input_fn=_input)
    assert estimator.get_variable_value("global_step") == 5


def test_input_unlike_that_of_training_is_refused(estimator: Estimator) -> None:
    estimator.fit(input_fn=_input, steps=1)
    with pytest.raises(ValueError, match="Features are incompatible"):
        estimator.evaluate(x=X[:, :1], y=Y, batch_size=5)


def test_without_a_checkpoint_nothing_is_predicted(estimator: Estimator) -> None:
    with pytest.raises(NotFittedError, match="Couldn't find trained model"):
        estimator.predict(input_fn=_input)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "Either x or input_fn"),
        ({"x": X, "input_fn": _input}, "Can not provide both input_fn and x"),
        ({"input_fn": _input, "batch_size": 3}, "both input_fn and batch_size"),
        ({"input_fn": _input, "steps": 1, "max_steps": 1}, "both steps and max_steps"),
    ],
)
def test_arguments_that_contradict(
    estimator: Estimator, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        estimator.fit(**given)


def test_parameters_are_read_and_set(estimator: Estimator) -> None:
    assert estimator.get_params() == {"params": {"rate": 0.1}}
    estimator.set_params(params={"rate": 0.2})
    assert repr(estimator) == "Estimator(params={'rate': 0.2})"
    with pytest.raises(ValueError, match="Invalid parameter rate"):
        estimator.set_params(rate=1)


def _features(count: int) -> Any:
    return (np.float32([i, i + 1]) / 10 for i in range(count))


def _labels(count: int, kind: Any = np.float32) -> Any:
    return (kind(i % 2) for i in range(count))


def _linear(features: Any, labels: Any) -> tuple[Any, Any, Any]:
    weights = tf.get_variable("w", [2, 1])
    found = tf.matmul(features["f"] if isinstance(features, dict) else features, weights)
    wanted = labels["l"] if isinstance(labels, dict) else labels
    loss = tf.losses.mean_squared_error(tf.reshape(tf.to_float(wanted), [-1, 1]), found)
    step = tf.train.get_global_step()
    return found, loss, tf.train.GradientDescentOptimizer(0.1).minimize(loss, step)


def test_iterators_are_read_in_batches() -> None:
    """The weights are those of TensorFlow 1.15.5."""

    def trained(x: Any, y: Any, **options: Any) -> list[float]:
        learner = Estimator(_linear, config=RunConfig(tf_random_seed=3))
        learner.fit(x=x, y=y, **options)
        return learner.get_variable_value("w").ravel().tolist()

    first_three = trained(_features(10), _labels(10), batch_size=2, steps=3)
    np.testing.assert_allclose(first_three, [0.14584576, 0.7662945], rtol=1e-6)
    to_the_end = trained(_features(5), _labels(5), batch_size=2)  # the last batch is of one
    np.testing.assert_allclose(to_the_end, [0.10469776, 0.7160456], rtol=1e-6)
    named = ({"f": x} for x in _features(5)), ({"l": [y]} for y in _labels(5, np.int64))
    assert trained(*named, batch_size=2) == to_the_end
    one_by_one = trained(_features(3), _labels(3))
    np.testing.assert_allclose(one_by_one, [0.12279209, 0.7413037], rtol=1e-6)
    with pytest.raises(ValueError, match="Both x and y should be iterators"):
        trained(_features(3), np.zeros(3), batch_size=2)
    with pytest.raises(ValueError, match="Invalid batch_size 0"):
        trained(_features(3), _labels(3), batch_size=0)
