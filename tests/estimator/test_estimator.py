"""Estimator: training, evaluation, prediction and export of what a model function builds."""

from __future__ import annotations

import logging
import os

import numpy as np
import pytest

import stillflow as tf

RANDOM = np.random.RandomState(0)
X = RANDOM.rand(200, 2).astype(np.float32)
Y = X @ np.array([[1.0], [2.0]], np.float32)


def linear(features, labels, mode, params):
    """Model y = x w, trained by gradient descent."""
    predicted = tf.matmul(features["x"], tf.get_variable("w", [2, 1]))
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(
            mode, predictions={"y": predicted, "twice": 2 * predicted}
        )
    loss = tf.losses.mean_squared_error(labels, predicted)
    step = tf.train.get_global_step()
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, predictions=predicted,
        train_op=tf.train.GradientDescentOptimizer(params["rate"]).minimize(loss, step),
        eval_metric_ops={"error": tf.metrics.mean_absolute_error(labels, predicted)},
    )  # fmt: skip


def batches():
    return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).repeat().batch(50)


def once():
    return tf.data.Dataset.from_tensor_slices(({"x": X}, Y)).batch(64)


def receiver():
    return tf.estimator.export.build_raw_serving_input_receiver_fn(
        {"x": tf.placeholder(tf.float32, [None, 2])}
    )()


@pytest.fixture
def estimator(tmp_path):
    config = tf.estimator.RunConfig(tf_random_seed=1, save_checkpoints_steps=20)
    return tf.estimator.Estimator(linear, str(tmp_path / "model"), config, {"rate": 0.5})


@pytest.fixture
def trained(estimator):
    return estimator.train(batches, steps=60)


def test_metrics_are_logged_as_numpy_prints_them(trained, caplog):
    with caplog.at_level(logging.INFO, "tensorflow"):
        results = trained.evaluate(once)
    (line,) = [line for line in caplog.messages if line.startswith("Saving dict")]
    shown = ", ".join("%s = %s" % item for item in sorted(results.items()))
    assert line == f"Saving dict for global step 60: {shown}"


def test_learns_and_measures(trained):
    results = trained.evaluate(once)
    assert set(results) == {"error", "loss", "global_step"}
    assert results["global_step"] == 60
    assert results["loss"] < 1e-2


def test_goes_on_from_its_checkpoint_and_skips_what_is_done(trained):
    trained.train(batches, steps=10)
    assert trained.get_variable_value("global_step") == 70
    trained.train(batches, max_steps=70)
    assert trained.get_variable_value("global_step") == 70
    trained.train(batches, max_steps=75)
    assert trained.latest_checkpoint().endswith("model.ckpt-75")


def test_names_the_variables_of_the_checkpoint(trained):
    assert trained.get_variable_names() == ["global_step", "w"]
    assert trained.get_variable_value("w").shape == (2, 1)


def test_predicts_examples_batches_and_chosen_keys(trained):
    weights = trained.get_variable_value("w")
    examples = list(trained.predict(lambda: once().take(1)))
    assert len(examples) == 64
    np.testing.assert_allclose(examples[3]["y"], X[3] @ weights, rtol=1e-5)
    (batch,) = trained.predict(lambda: once().take(1), yield_single_examples=False)
    assert batch["y"].shape == (64, 1)
    assert set(next(trained.predict(once, predict_keys=["y"]))) == {"y"}


def test_evaluates_over_so_many_batches_and_writes_summaries(trained, tmp_path):
    trained.evaluate(once, steps=2, name="some")
    folder = tmp_path / "model" / "eval_some"
    (path,) = folder.iterdir()
    tags = [
        value.tag for event in tf.train.summary_iterator(str(path)) for value in event.summary.value
    ]
    assert sorted(tags) == ["checkpoint_path", "error", "loss"]


def test_writes_summaries_every_so_many_steps(tmp_path):
    config = tf.estimator.RunConfig(str(tmp_path), save_summary_steps=10)
    tf.estimator.Estimator(linear, config=config, params={"rate": 0.1}).train(batches, steps=25)
    (path,) = tmp_path.glob("events*")
    steps = [e.step for e in tf.train.summary_iterator(str(path)) if e.HasField("summary")]
    assert steps == [1, 11, 21]


def test_exports_what_serves_the_same_values(trained, tmp_path):
    path = trained.export_saved_model(str(tmp_path / "export"), receiver)
    with tf.Graph().as_default(), tf.Session() as session:
        message = tf.saved_model.load(session, ["serve"], path.decode())
        signature = message.signature_def["serving_default"]
        served = session.run(signature.outputs["y"].name, {signature.inputs["x"].name: X[:2]})
    np.testing.assert_allclose(served, X[:2] @ trained.get_variable_value("w"), rtol=1e-5)


def test_exports_a_graph_for_each_mode(trained, tmp_path):
    modes = tf.estimator.ModeKeys
    supervised = tf.estimator.experimental.build_raw_supervised_input_receiver_fn

    def for_training():
        return supervised(
            {"x": tf.placeholder(tf.float32, [None, 2])}, tf.placeholder(tf.float32, [None, 1])
        )()

    path = trained.experimental_export_all_saved_models(
        str(tmp_path / "export"),
        {modes.PREDICT: receiver, modes.EVAL: for_training, modes.TRAIN: for_training},
    ).decode()
    for tag, method in (("train", "training"), ("eval", "eval")):
        with tf.Graph().as_default(), tf.Session() as session:
            message = tf.saved_model.load(session, [tag], path)
            signature = message.signature_def[tag]
            assert signature.method_name == f"tensorflow/supervised/{method}"
            fed = {signature.inputs["x"].name: X, signature.inputs["label"].name: Y}
            assert session.run(signature.outputs["loss"].name, fed) < 1e-2


def test_warm_starts_from_a_checkpoint(trained, tmp_path):
    settings = tf.estimator.WarmStartSettings(trained.model_dir, vars_to_warm_start="w")
    other = tf.estimator.Estimator(
        linear, str(tmp_path / "other"), params={"rate": 0.0}, warm_start_from=settings
    ).train(batches, steps=1)
    np.testing.assert_array_equal(other.get_variable_value("w"), trained.get_variable_value("w"))


def test_input_and_model_functions_get_what_they_ask_for(tmp_path):
    seen = {}

    def input_fn(mode, params, config):
        seen["input"] = (mode, params, config.model_dir)
        return {"x": tf.constant(X)}, tf.constant(Y)

    def model_fn(features, labels, config):
        seen["model"] = config.model_dir
        loss = tf.reduce_sum(tf.get_variable("v", [])) * 0.0
        return tf.estimator.EstimatorSpec(
            "train", loss=loss, train_op=tf.assign_add(tf.train.get_global_step(), 1)
        )

    tf.estimator.Estimator(model_fn, str(tmp_path)).train(input_fn, steps=1)
    assert seen == {"input": ("train", {}, str(tmp_path)), "model": str(tmp_path)}


def test_a_model_that_was_never_trained_has_no_variables_to_read(estimator, tmp_path):
    with pytest.raises(ValueError, match="Could not find trained model in model_dir"):
        estimator.get_variable_names()
    with pytest.raises(ValueError, match="Couldn't find trained model at"):
        estimator.export_saved_model(str(tmp_path), receiver)
    assert estimator.latest_checkpoint() is None


BAD_CALLS = [
    (lambda e: e.train(once, steps=1, max_steps=1), ValueError, "Can not provide both steps"),
    (lambda e: e.train(once, steps=0), ValueError, "Must specify steps > 0, given: 0"),
    (lambda e: e.train(once, max_steps=-1), ValueError, "Must specify max_steps > 0"),
    (lambda e: e.train(once, hooks=[1], steps=1), TypeError, "Hooks must be a SessionRunHook"),
    (lambda e: e.evaluate(once, steps=0), ValueError, "Must specify steps > 0, given: 0"),
    (lambda e: e.train(lambda: (1, 2, 3), steps=1), ValueError, "as a len 2 tuple"),
    (lambda e: list(e.predict(once, ["no"])), ValueError, "Expected to run at least one output"),
    (lambda e: e.export_saved_model("", None), ValueError, "An input_receiver_fn must be defined"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD_CALLS)
def test_refuses_bad_arguments(estimator, call, error, message):
    with pytest.raises(error, match=message):
        call(estimator)


BAD_MODELS = [
    (lambda labels: None, None, "must include features argument"),
    (lambda features: None, {"a": 1}, "does not include params argument"),
    (lambda features, other: None, None, "has following not expected args"),
    (None, None, "model_fn must be provided"),
]


@pytest.mark.parametrize(("model_fn", "params", "message"), BAD_MODELS)
def test_refuses_model_functions_it_could_not_call(tmp_path, model_fn, params, message):
    with pytest.raises(ValueError, match=message):
        tf.estimator.Estimator(model_fn, str(tmp_path), params=params)


def test_a_subclass_may_not_replace_methods(tmp_path):
    class Other(tf.estimator.Estimator):
        def train(self, *args):
            """Not allowed."""

    with pytest.raises(ValueError, match="cannot override members of Estimator"):
        Other(linear, str(tmp_path), params={})


def test_two_folders_are_refused_and_none_is_a_temporary_one(tmp_path):
    with pytest.raises(ValueError, match="with different values"):
        tf.estimator.Estimator(linear, "a", tf.estimator.RunConfig("b"), {})
    assert os.path.isdir(tf.estimator.Estimator(linear, params={}).model_dir)


def test_trains_and_evaluates_after_checkpoints(estimator, tmp_path):
    exporters = [
        tf.estimator.LatestExporter("latest", receiver, exports_to_keep=1),
        tf.estimator.FinalExporter("final", receiver),
        tf.estimator.BestExporter("best", receiver),
    ]
    metrics, exports = tf.estimator.train_and_evaluate(
        estimator, tf.estimator.TrainSpec(batches, max_steps=40),
        tf.estimator.EvalSpec(once, steps=2, exporters=exporters, throttle_secs=0),
    )  # fmt: skip
    assert metrics["global_step"] == 40
    assert [os.path.basename(os.path.dirname(path)) for path in exports] == [
        b"latest", b"final", b"best",
    ]  # fmt: skip
    assert len(os.listdir(tmp_path / "model" / "export" / "latest")) == 1
    assert len(os.listdir(tmp_path / "model" / "export" / "final")) == 1


BAD_SPECS = [
    (lambda: tf.estimator.TrainSpec(1), TypeError, "`input_fn` must be callable"),
    (lambda: tf.estimator.TrainSpec(once, 0), ValueError, "Must specify max_steps > 0"),
    (lambda: tf.estimator.TrainSpec(once, hooks=[1]), TypeError, "must be `SessionRunHook`"),
    (lambda: tf.estimator.EvalSpec(once, steps=0), ValueError, "Must specify steps > 0"),
    (lambda: tf.estimator.EvalSpec(once, name=1), TypeError, "`name` must be string"),
    (lambda: tf.estimator.EvalSpec(once, exporters=3), TypeError, "must be an Exporter"),
    (lambda: tf.estimator.EvalSpec(once, throttle_secs=-1), ValueError, "throttle_secs >= 0"),
    (
        lambda: tf.estimator.EvalSpec(
            once, exporters=[tf.estimator.FinalExporter("a", receiver) for _ in range(2)]
        ),
        ValueError, "must have unique names",
    ),
    (
        lambda: tf.estimator.BestExporter(compare_fn=lambda a: True),
        ValueError, "must include best_eval_result",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("make", "error", "message"), BAD_SPECS)
def test_refuses_bad_specifications(make, error, message):
    with pytest.raises(error, match=message):
        make()
