"""Canned estimators as a program uses them: train, evaluate, go on, warm-start, serve."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

RANDOM = np.random.RandomState(3)
SPECIES = RANDOM.randint(0, 3, 90)
FLOWERS = {
    "length": (SPECIES + 0.1 * RANDOM.randn(90)).astype(np.float32),
    "width": (2.0 - SPECIES + 0.1 * RANDOM.randn(90)).astype(np.float32),
}
COLUMNS = [tf.feature_column.numeric_column(key) for key in FLOWERS]


def batches(steps=None):
    data = tf.data.Dataset.from_tensor_slices((FLOWERS, SPECIES))
    return data.repeat(steps).batch(30)


def once():
    return batches(1)


def classifier(folder, **options):
    config = tf.estimator.RunConfig(str(folder), tf_random_seed=5)
    return tf.estimator.DNNClassifier([8, 8], COLUMNS, n_classes=3, config=config, **options)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    return classifier(folder, optimizer="Adam").train(batches, steps=60)


def test_learns_to_tell_classes_apart(trained):
    results = trained.evaluate(once)
    assert results["accuracy"] > 0.95
    assert results["global_step"] == 60


def test_serves_examples_as_it_predicts(trained, tmp_path):
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(
        tf.feature_column.make_parse_example_spec(COLUMNS)
    )
    path = trained.export_saved_model(str(tmp_path), receiver).decode()
    examples = []
    for row in range(4):
        example = tf.train.Example()
        for key, values in FLOWERS.items():
            example.features.feature[key].float_list.value.append(values[row])
        examples.append(example.SerializeToString())
    with tf.Graph().as_default(), tf.Session() as session:
        signatures = tf.saved_model.loader.load(session, ["serve"], path).signature_def
        assert set(signatures) == {"serving_default", "classification", "predict"}
        signature = signatures["classification"]
        scores = session.run(
            signature.outputs["scores"].name, {signature.inputs["inputs"].name: examples}
        )
    predicted = [next_["probabilities"] for next_, _ in zip(trained.predict(once), range(4))]
    np.testing.assert_allclose(scores, predicted, rtol=1e-5)


def test_begins_with_the_weights_of_another_model(trained, tmp_path):
    warm = tf.estimator.WarmStartSettings(trained.model_dir, vars_to_warm_start=".*hidden.*")
    other = classifier(tmp_path, warm_start_from=warm, optimizer=tf.train.AdamOptimizer(0.0))
    other.train(batches, steps=1)
    for name in ("dnn/hiddenlayer_0/kernel", "dnn/hiddenlayer_1/bias"):
        np.testing.assert_array_equal(
            other.get_variable_value(name), trained.get_variable_value(name)
        )
    assert np.any(
        other.get_variable_value("dnn/logits/kernel")
        != trained.get_variable_value("dnn/logits/kernel")
    )


def test_trains_and_evaluates_in_turn(tmp_path):
    estimator = classifier(tmp_path)
    results, _ = tf.estimator.train_and_evaluate(
        estimator, tf.estimator.TrainSpec(batches, max_steps=5), tf.estimator.EvalSpec(once)
    )
    assert results["global_step"] == 5


def test_summarizes_each_layer(trained, tmp_path):
    estimator = classifier(tmp_path).train(batches, steps=1)
    (path,) = tmp_path.glob("events*")
    tags = {v.tag for e in tf.train.summary_iterator(str(path)) for v in e.summary.value}
    layers = ["hiddenlayer_0", "hiddenlayer_1", "logits"]
    expected = {
        f"dnn/dnn/{layer}/{kind}"
        for layer in layers
        for kind in ("fraction_of_zero_values", "activation")
    }
    assert expected | {"loss", "average_loss"} <= tags
    assert estimator.latest_checkpoint().endswith("model.ckpt-1")


def test_refuses_an_optimizer_it_does_not_know(tmp_path):
    with pytest.raises(ValueError, match="Unsupported optimizer name: Nadam"):
        classifier(tmp_path, optimizer="Nadam").train(batches, steps=1)


def test_refuses_features_that_are_no_dict(tmp_path):
    with pytest.raises(ValueError, match="features should be a dictionary of `Tensor`s"):
        classifier(tmp_path).train(lambda: (tf.constant([[1.0]]), tf.constant([1])), steps=1)
