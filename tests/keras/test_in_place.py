"""Models that only their class describes: reset in place, restored, and in estimators.

The numbers are those of TensorFlow 1.15.5.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow.keras.engine.cloning import clone_and_build_model
from stillflow.keras.engine.in_place import in_place_subclassed_model_state_restoration

pytestmark = pytest.mark.usefixtures("graph")

X = np.ones([4, 2], np.float32)
Y = np.zeros([4, 1], np.float32)


class Net(tf.keras.Model):
    def __init__(self, more: Any = None) -> None:
        super().__init__(name="net")
        self.a = tf.keras.layers.Dense(3, kernel_initializer="ones", name="a")
        self.b = tf.keras.layers.Dense(1, kernel_initializer="ones", name="b")
        self.more = more

    def call(self, x: Any) -> Any:
        return self.b(self.a(x))


def compiled(more: Any = None) -> Net:
    net = Net(more)
    net.compile("sgd", "mse", metrics=["mae"])
    return net


def test_a_model_is_reset_and_restored() -> None:
    net = compiled()
    net.fit(X, Y, verbose=0)
    layers, weights = net.layers, net.get_weights()
    clone = clone_and_build_model(
        net, tf.constant(X), target_tensors=[tf.constant(Y)], in_place_reset=True
    )
    assert clone is net and net.layers[0] is not layers[0]
    assert clone.evaluate(steps=1, verbose=0) == [36.0, 6.0]
    in_place_subclassed_model_state_restoration(net)
    assert all(now is before for now, before in zip(net.layers, layers, strict=True))
    for now, before in zip(net.get_weights(), weights, strict=True):
        np.testing.assert_array_equal(now, before)
    np.testing.assert_allclose(net.evaluate(X, Y, verbose=0)[0], 13.098609, rtol=1e-6)
    net.fit(X, Y, verbose=0)
    np.testing.assert_allclose(net.evaluate(X, Y, verbose=0)[0], 6.997383, rtol=1e-6)


def test_an_estimator_leaves_the_model_as_it_was(tmp_path: Any) -> None:
    net = compiled()
    layers = net.layers
    learner = tf.keras.estimator.model_to_estimator(net, model_dir=str(tmp_path))

    def read() -> Any:
        return tf.data.Dataset.from_tensors((X, Y)).repeat(4)

    for loss, error in ((6.997383, 2.6452568), (2.8638537, 1.6922925)):
        learner.train(read, steps=2)
        found = learner.evaluate(read, steps=1)
        np.testing.assert_allclose(found["loss"], loss, rtol=1e-6)
        np.testing.assert_allclose(found["mean_absolute_error"], error, rtol=1e-6)
    assert net.layers[0] is layers[0] and not layers[0].built


@pytest.mark.parametrize("more, said", [
    (lambda: [tf.keras.layers.Dense(1)], "use of list-of-layers attributes .* list model: more"),
    (lambda: tf.keras.Sequential([tf.keras.layers.Dense(1)]), "use of nested layers"),
    (Net, "use of nested layers"),
])  # fmt: skip
def test_models_with_layers_inside_of_others_are_refused(more: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        clone_and_build_model(compiled(more()), in_place_reset=True)


def test_without_leave_they_are_not_changed() -> None:
    with pytest.raises(ValueError, match="This model is a subclassed model"):
        clone_and_build_model(compiled())
