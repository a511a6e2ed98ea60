"""TPUEstimator without a TPU: batch sizes as parameters, metrics and host calls as functions."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

tpu = tf.contrib.tpu


def input_fn(params):
    x = np.ones([100, 1], np.float32)
    return tf.data.Dataset.from_tensor_slices((x, x)).repeat(2).batch(params["batch_size"])


def model_fn(features, labels, mode, params):
    weight = tf.get_variable("w", [1, 1], initializer=tf.zeros_initializer())
    predicted = tf.matmul(features, weight)
    if mode == "infer":
        return tpu.TPUEstimatorSpec(mode, predictions={"y": predicted})
    loss = tf.losses.mean_squared_error(labels, predicted)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    calls = tf.get_local_variable("calls", [], initializer=tf.zeros_initializer())
    return tpu.TPUEstimatorSpec(
        mode, loss=loss, train_op=optimizer.minimize(loss, tf.train.get_global_step()),
        eval_metrics=(
            lambda y, p: {"error": tf.metrics.mean_absolute_error(y, p)}, [labels, predicted]
        ),
        host_call=(lambda one: tf.assign_add(calls, one), {"one": tf.constant(1.0)}),
    )  # fmt: skip


@pytest.fixture
def make(tmp_path):
    def estimator(**kwargs):
        config = tpu.RunConfig(model_dir=str(tmp_path), tpu_config=tpu.TPUConfig(10))
        sizes = {"train_batch_size": 8, "eval_batch_size": 4, "predict_batch_size": 2}
        return tpu.TPUEstimator(model_fn, config=config, use_tpu=False, **{**sizes, **kwargs})

    return estimator


def test_trains_evaluates_and_predicts_with_a_batch_size_each(make):
    estimator = make().train(input_fn, steps=20)
    assert estimator.evaluate(input_fn, steps=2)["error"] < 0.2
    (first, *_) = estimator.predict(input_fn, yield_single_examples=False)
    assert first["y"].shape == (2, 1)


def test_logs_examples_a_second(make, tmp_path):
    make().train(input_fn, steps=25)
    (path,) = tmp_path.glob("events*")
    tags = {v.tag for e in tf.train.summary_iterator(str(path)) for v in e.summary.value}
    assert {"global_step/sec", "examples/sec"} <= tags


def test_refuses_what_there_is_not(make):
    with pytest.raises(NotImplementedError, match="use_tpu=False"):
        tpu.TPUEstimator(model_fn, config=tpu.RunConfig(), train_batch_size=8)
    with pytest.raises(ValueError, match="should be of type ExportSavedModelApiVersion; got V1"):
        tpu.TPUEstimator(
            model_fn, config=tpu.RunConfig(), use_tpu=False, export_saved_model_api_version="V1"
        )
    with pytest.raises(ValueError, match="reserved keys"):
        make(params={"batch_size": 3})
    with pytest.raises(ValueError, match="does not include params argument"):
        make().train(lambda: None, steps=1)


def test_a_model_function_needs_params_when_it_is_called(tmp_path):
    config = tpu.RunConfig(model_dir=str(tmp_path))

    def make(model_fn, **arguments):
        return tpu.TPUEstimator(
            model_fn, config=config, use_tpu=False, train_batch_size=1, **arguments
        )

    assert make(lambda features: None).params == {}
    with pytest.raises(ValueError, match=r"^model_fn does not take labels"):
        make(lambda features: None).train(input_fn, steps=1)
    with pytest.raises(ValueError, match=r"^model_fn .* pass batch size as params\['batch_size'\]"):
        make(lambda features, labels: None).train(input_fn, steps=1)
    with pytest.raises(ValueError, match=r"but params .* is passed to Estimator"):
        make(lambda features: None, params={"a": 1})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"iterations_per_loop": 0}, "Invalid TPUConfig"),
        ({"iterations_per_loop": "1d"}, "Invalid TPUConfig"),
        ({"num_shards": 0}, "must be positive"),
        ({"num_cores_per_replica": 3}, "num_cores_per_replica must be"),
        ({"input_partition_dims": [1]}, "only supported in PER_HOST_V2"),
    ],
)
def test_settings_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        tpu.TPUConfig(**arguments)


def test_a_copy_of_the_settings_keeps_those_of_the_device():
    config = tpu.RunConfig(tpu_config=tpu.TPUConfig(7)).replace(model_dir="there")
    assert (config.tpu_config.iterations_per_loop, config.model_dir) == (7, "there")
