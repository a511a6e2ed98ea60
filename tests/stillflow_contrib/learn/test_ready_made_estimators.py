"""Ready-made estimators of tf.contrib.learn, and the input that they read."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow_contrib.learn.io.arrays import extract_pandas_data, extract_pandas_labels

learn = tf.contrib.learn
ROWS = np.arange(60)
X = np.stack([np.sin(ROWS), np.cos(ROWS)], 1).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.int64)


def test_a_network_learns_classes_from_arrays(tmp_path):
    columns = learn.infer_real_valued_columns_from_input(X)
    model = learn.DNNClassifier(
        [8], columns, str(tmp_path), config=learn.RunConfig(tf_random_seed=1)
    )
    model.fit(X, Y, steps=100)
    assert model.evaluate(X, Y)["accuracy"] > 0.9
    assert list(model.predict(X[:3])) == Y[:3].tolist()
    assert np.asarray(list(model.predict_proba(X[:3]))).shape == (3, 2)


def test_labels_may_be_names(tmp_path):
    names = np.array(["no", "yes", "maybe"])[ROWS % 3]

    def input_fn():
        return {"x": tf.one_hot(ROWS % 3, 3)}, tf.constant(names)

    columns = [tf.contrib.layers.real_valued_column("x", dimension=3)]
    model = learn.LinearClassifier(
        columns, str(tmp_path), n_classes=3, label_keys=["no", "yes", "maybe"]
    )
    model.fit(input_fn=input_fn, steps=20)
    predicted = model.predict_classes(input_fn=lambda: input_fn()[0])
    assert [next(predicted) for _ in range(3)] == [b"no", b"yes", b"maybe"]


def test_a_regressor_gives_numbers_to_metrics(tmp_path):
    columns = learn.infer_real_valued_columns_from_input(X)
    model = learn.DNNRegressor([4], columns, str(tmp_path))
    model.fit(X, X[:, 0], steps=5)
    metrics = {"error": tf.contrib.metrics.streaming_mean_squared_error}
    result = model.evaluate(X, X[:, 0], metrics=metrics)
    assert result["error"] == pytest.approx(result["loss"], rel=1e-4)


def test_a_model_is_exported_with_the_names_of_its_classes(tmp_path):
    columns = [tf.contrib.layers.real_valued_column("x", dimension=2)]
    model = learn.LinearClassifier(columns, str(tmp_path / "model"))
    model.fit(input_fn=lambda: ({"x": tf.constant(X)}, tf.constant(Y)), steps=2)
    spec = tf.contrib.layers.create_feature_spec_for_parsing(columns)
    serving = learn.build_parsing_serving_input_fn(spec)
    folder = model.export_savedmodel(str(tmp_path / "export"), serving)
    with tf.Session(graph=tf.Graph()) as session:
        loaded = tf.saved_model.loader.load(session, ["serve"], folder.decode())
    (signature,) = [
        each for each in loaded.signature_def.values() if each.method_name.endswith("classify")
    ][:1]
    assert set(signature.outputs) == {"scores", "classes"}


def test_examples_are_read_from_files(tmp_path):
    path = str(tmp_path / "ages.tfrecord")
    with tf.python_io.TFRecordWriter(path) as writer:
        for age in range(5):
            example = tf.train.Example()
            example.features.feature["age"].float_list.value.append(age)
            writer.write(example.SerializeToString())
    with tf.Graph().as_default():
        parsed = learn.read_batch_record_features(
            path, 2, {"age": tf.FixedLenFeature([1], tf.float32)}, randomize_input=False,
            num_epochs=1,
        )  # fmt: skip
        ages = []
        with tf.train.MonitoredSession() as session:
            while not session.should_stop():
                ages.extend(session.run(parsed["age"]).ravel().tolist())
    assert sorted(ages) == [0, 1, 2, 3, 4]


def test_data_frames_become_arrays():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": [True, False]})
    np.testing.assert_array_equal(extract_pandas_data(frame), [[1.0, 1.0], [2.0, 0.0]])
    with pytest.raises(ValueError, match="Only one column"):
        extract_pandas_labels(frame)
    with pytest.raises(ValueError, match="must be int, float, or bool"):
        extract_pandas_data(pandas.DataFrame({"a": ["x"]}))
