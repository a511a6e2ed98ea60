"""Models of Keras as estimators of scikit-learn."""

import numpy as np
import pytest

import stillflow as tf

learn = tf.keras.wrappers.scikit_learn
X = np.random.RandomState(1).randn(60, 4).astype("float32")
LABELS = np.where(X[:, 0] > 0, "yes", "no")


def classes(units=2, loss="categorical_crossentropy", metrics=("acc",)):
    last = {"activation": "softmax" if units > 1 else "sigmoid"}
    model = tf.keras.Sequential([tf.keras.layers.Dense(units, input_shape=(4,), **last)])
    model.compile(tf.keras.optimizers.SGD(1.0), loss, metrics=list(metrics))
    return model


def numbers(rate=0.1):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
    model.compile(tf.keras.optimizers.SGD(rate), "mse")
    return model


def test_classes_are_learned():
    model = learn.KerasClassifier(classes, units=2, epochs=20, verbose=0)
    model.fit(X, LABELS)
    assert model.classes_.tolist() == ["no", "yes"] and model.n_classes_ == 2
    assert np.mean(model.predict(X) == LABELS) > 0.9
    assert model.score(X, LABELS) > 0.9
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), np.ones(60), rtol=1e-5)


def test_one_output_gives_the_probabilities_of_two_classes():
    model = learn.KerasClassifier(classes, units=1, loss="binary_crossentropy", verbose=0)
    model.fit(X, LABELS, epochs=5)
    assert model.predict_proba(X).shape == (60, 2)


def test_numbers_are_learned():
    model = learn.KerasRegressor(numbers, rate=0.2, epochs=30, verbose=0)
    model.fit(X, X[:, 1])
    assert model.score(X, X[:, 1]) > -0.01
    assert model.predict(X).shape == (60,)


def test_a_class_may_make_the_model():
    class Own(learn.KerasRegressor):
        def __call__(self, rate):
            return numbers(rate)

    class Builder:
        def __call__(self, rate):
            return numbers(rate)

    for model in (Own(rate=0.1, verbose=0), learn.KerasRegressor(Builder(), rate=0.1, verbose=0)):
        assert model.fit(X, X[:, 1]).history["loss"]


def test_parameters_are_told_and_set():
    model = learn.KerasRegressor(numbers, rate=0.1)
    assert model.get_params() == {"rate": 0.1, "build_fn": numbers}
    assert model.set_params(rate=0.5, epochs=2) is model
    assert model.filter_sk_params(numbers, {"more": 1}) == {"rate": 0.5, "more": 1}
    with pytest.raises(ValueError, match="colour is not a legal parameter"):
        model.set_params(colour="red")


def test_a_score_needs_the_metric():
    model = learn.KerasClassifier(classes, metrics=(), verbose=0)
    model.fit(X, LABELS)
    with pytest.raises(ValueError, match="not configured to compute accuracy"):
        model.score(X, LABELS)
    with pytest.raises(ValueError, match="Invalid shape for y"):
        model.fit(X, np.zeros((2, 2, 2)))
