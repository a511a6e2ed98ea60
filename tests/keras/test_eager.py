"""Keras where operations run when they are called: models, functions and layers."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.eager.immediate import ImmediateGraph
from stillflow.keras.engine import datasets
from stillflow.layers.symbolic_graph import is_symbolic, symbolic_graph

backend, layers = tf.keras.backend, tf.keras.layers


@pytest.fixture(autouse=True)
def eager():
    with ImmediateGraph().as_default():
        yield


def test_models_of_placeholders_take_values():
    x = tf.keras.Input((3,))
    model = tf.keras.Model(x, layers.Lambda(lambda t: t * 2)(layers.Dense(2)(x)))
    assert is_symbolic(x) and x.graph is symbolic_graph()
    value = np.ones((1, 3), np.float32)
    assert not is_symbolic(model(value))
    np.testing.assert_allclose(model(value).numpy(), model.predict(value), rtol=1e-6)


def test_functions_of_the_symbolic_graph_run_at_once():
    x = backend.placeholder((None, 2))
    v = backend.variable([1.0, 2.0])
    run = backend.function([x], [backend.sum(x * v)], updates=[(v, backend.sum(x, axis=0))])
    assert [run([np.ones((1, 2))])[0] for _ in range(2)] == [3.0, 2.0]
    assert backend.get_value(v).tolist() == [1.0, 1.0]
    backend.set_value(v, [0.0, 0.0])
    assert backend.get_value(v).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="not support during eager execution"):
        backend.function([x], [x], feed_dict={})


def test_losses_are_those_of_the_last_call():
    layer = layers.Dense(1, kernel_regularizer="l2", activity_regularizer="l2")
    for _ in range(2):
        layer(tf.ones([1, 2]))
        assert len(layer.losses) == 2


def test_updates_run_in_the_call():
    norm = layers.BatchNormalization(momentum=0.5)
    norm(tf.constant([[2.0], [4.0]]), training=True)
    assert norm.moving_mean.numpy().tolist() == [1.5]


def test_models_learn_from_datasets_and_by_hand():
    model = tf.keras.Sequential([layers.Dense(1, use_bias=False, kernel_initializer="zeros")])
    model.compile(tf.train.GradientDescentOptimizer(0.25), "mse")
    data = tf.data.Dataset.from_tensors((np.ones((2, 1), "f"), np.ones((2, 1), "f")))
    assert model.fit(data, epochs=2, verbose=0).history["loss"] == [1.0, 0.25]
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum((model(tf.ones([1, 1])) - 1.0) ** 2)
    assert tape.gradient(loss, model.variables)[0].numpy() == pytest.approx(-0.5)


def test_weights_are_saved_and_found_by_models_that_are_built_later(tmp_path):
    class Model(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(1)

        def call(self, x):
            return self.dense(x)

    first, second = Model(), Model()
    expected = first(tf.ones([1, 2])).numpy()
    first.save_weights(str(tmp_path / "weights"))
    second.load_weights(str(tmp_path / "weights"))
    assert (second(tf.ones([1, 2])).numpy() == expected).all()


def test_slots_of_variables_of_one_name_are_not_mixed_up():
    optimizer = tf.keras.optimizers.SGD(0.5, momentum=0.5)
    a, b = tf.Variable(1.0, name="v"), tf.Variable(1.0, name="v")
    optimizer.apply_gradients([(tf.constant(1.0), a), (tf.constant(0.0), b)])
    optimizer.apply_gradients([(tf.constant(0.0), a), (tf.constant(0.0), b)])
    assert (a.numpy(), b.numpy(), optimizer.iterations.numpy()) == (0.25, 1.0, 2)


def test_steps_run_the_model_as_python_where_asked():
    calls = []

    class Model(tf.keras.Model):
        def call(self, x):
            calls.append(x)
            return x * tf.reduce_sum(x)

    model = Model()
    model.compile("sgd", "mse", run_eagerly=True)
    model.evaluate(np.ones((4, 1), "f"), np.ones((4, 1), "f"), batch_size=2, verbose=0)
    assert len(calls) == 3 and not is_symbolic(calls[-1])  # built once, called twice
    assert model.run_eagerly and not model.dynamic


def test_functions_run_as_python_while_asked():
    @tf.function
    def double(x):
        return [] if is_symbolic(x) else [x * 2]

    assert double(tf.constant(1)) == []
    tf.config.experimental_run_functions_eagerly(True)
    try:
        assert double(tf.constant(1))[0].numpy() == 2
        model = tf.keras.Sequential([layers.Dense(1)])
        model.compile("sgd", "mse")
        assert model.run_eagerly
    finally:
        tf.config.experimental_run_functions_eagerly(False)
    assert double(tf.constant(1)) == []


def test_batches_that_fill_no_epoch_are_weighed_by_their_size():
    model = tf.keras.Sequential([layers.Lambda(lambda x: x)])
    model.compile("sgd", "mse")
    sizes = []
    told = tf.keras.callbacks.LambdaCallback(
        on_batch_end=lambda _, logs: sizes.append(logs["size"])
    )
    data = tf.data.Dataset.from_tensor_slices((np.ones((3, 1)), np.zeros((3, 1)))).batch(2)
    model.fit(data, verbose=0, callbacks=[told])
    assert sizes == [2, 1]


@pytest.mark.parametrize("method", ["add_loss", "add_metric"])
def test_what_branches_compute_cannot_be_added(method):
    class Adding(layers.Layer):
        def call(self, inputs):
            def add():
                value = tf.reduce_sum(inputs)
                how = {} if method == "add_loss" else {"name": "sum", "aggregation": "mean"}
                getattr(self, method)(value, **how)
                return inputs

            return tf.cond(tf.reduce_sum(inputs) > 0.0, add, lambda: inputs)

    model = tf.keras.Sequential([Adding()])
    model.compile("sgd", "mse")
    with pytest.raises(RuntimeError, match=f"`{method}` in a control flow branch"):
        model.train_on_batch(np.ones((4, 2), "float32"), np.ones((4, 2), "float32"))


def test_layers_in_branches_cannot_have_activities_regularized():
    class Choosing(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(2, activity_regularizer="l2")

        def call(self, inputs):
            return tf.cond(tf.reduce_sum(inputs) > 0.0, lambda: self.dense(inputs), lambda: inputs)

    model = Choosing()
    model.compile("sgd", "mse")
    with pytest.raises(RuntimeError, match="`activity_regularizer` in a control flow branch"):
        model.train_on_batch(np.ones((4, 2), "float32"), np.ones((4, 2), "float32"))


def test_metrics_have_the_names_that_programs_give_them_in_version_2(monkeypatch):
    monkeypatch.setattr("stillflow.eager.v2_behavior.is_enabled", True)
    model = tf.keras.Sequential([layers.Dense(2, input_shape=(3,))])
    model.compile("sgd", "mse", metrics=["mae", "accuracy"], weighted_metrics=["mse"])
    assert model.metrics_names == ["loss", "mae", "accuracy", "mse"]


def test_several_replicas_are_refused():
    with tf.distribute.MirroredStrategy(["cpu:0", "cpu:1"]).scope():
        model = tf.keras.Sequential([layers.Dense(2, input_shape=(3,))])
        with pytest.raises(NotImplementedError, match="2 replicas of MirroredStrategy"):
            model.compile("sgd", "mse")


def test_modules_find_what_layers_have():
    class Around(tf.Module):
        def __init__(self):
            super().__init__()
            self.layer = layers.Dense(2)
            self.more = [layers.Dense(1), layers.Dropout(0.5)]

    around = Around()
    around.more[0](around.layer(tf.ones([1, 3])))
    names = [variable.name.rpartition("/")[2] for variable in around.variables]
    assert names == ["kernel:0", "bias:0", "kernel:0", "bias:0"]
    assert around.submodules == (around.layer, *around.more)
    assert isinstance(around.layer, tf.Module)


def test_layers_have_submodules_and_no_assignments_as_variables():
    class Own(layers.Layer):
        def __init__(self):
            super().__init__()
            self.kind = layers.Dense
            self.inner = layers.Dense(2)

        def build(self, input_shape):
            self.v = tf.Variable(1.0)
            self.assigned = self.v.assign_add(2.0)
            self.built = True

    layer = Own()
    layer.build([1, 2])
    assert layer.submodules == (layer.inner,)
    assert layer.variables == [layer.v]


def test_datasets_are_told_apart_by_what_they_are_made_of():
    numbers = tf.data.Dataset.range(5)
    datasets.assert_not_batched(numbers.shuffle(2).map(lambda x: x))
    datasets.assert_not_shuffled(numbers.batch(2).prefetch(1))
    with pytest.raises(ValueError, match="that dataset is not batched"):
        datasets.assert_not_batched(numbers.batch(2).take(1))
    with pytest.raises(ValueError, match="that dataset is not shuffled"):
        datasets.assert_not_shuffled(numbers.shuffle(2).repeat())
