"""Models: functional ones, sequential ones, subclasses; training, weights in files."""

import numpy as np
import pytest

import stillflow as tf

X = np.linspace(-1, 1, 48, dtype="float32").reshape(12, 4)
Y = X @ np.float32([[1.0], [2.0], [-1.0], [0.5]])


def linear(**kwargs):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,), **kwargs)])
    model.compile(tf.keras.optimizers.SGD(0.1), "mse")
    return model


def test_training_lowers_the_loss():
    model = linear()
    losses = model.fit(X, Y, epochs=20, verbose=0).history["loss"]
    assert losses[-1] < losses[0] / 4
    assert model.evaluate(X, Y, verbose=0) < losses[0]


def test_a_step_of_sgd_is_the_gradient():
    model = linear(kernel_initializer="zeros")
    loss = model.train_on_batch(X, Y)
    assert loss == pytest.approx(np.mean(Y**2), rel=1e-5)
    kernel, bias = model.get_weights()
    np.testing.assert_allclose(kernel, 0.1 * 2 * X.T @ Y / len(X), rtol=1e-5)
    np.testing.assert_allclose(bias, [0.2 * Y.mean()], atol=1e-7)


def test_functional_model_gives_what_its_layers_give():
    x = tf.keras.Input((4,))
    dense = tf.keras.layers.Dense(3, activation="relu", name="d")
    model = tf.keras.Model(x, tf.keras.layers.concatenate([dense(x), x]))
    kernel, bias = model.get_weights()
    expected = np.concatenate([np.maximum(X @ kernel + bias, 0), X], axis=1)
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-5, atol=1e-6)
    assert model.get_layer("d") is dense
    assert model.output_shape == (None, 7)
    assert model.count_params() == 15


def test_a_configuration_makes_the_same_model():
    x = tf.keras.Input((4,), name="x")
    y = tf.keras.layers.Dense(3, name="d")(x)
    model = tf.keras.Model(x, tf.keras.layers.Add(name="s")([y, y]), name="m")
    again = tf.keras.Model.from_config(model.get_config())
    again.set_weights(model.get_weights())
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_config() == model.get_config()
    from_json = tf.keras.models.model_from_json(model.to_json())
    assert [one.name for one in from_json.layers] == ["x", "d", "s"]


def test_layers_that_are_not_trained_stay():
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(3, input_shape=(4,), trainable=False),
        tf.keras.layers.Dense(1),
    ])  # fmt: skip
    model.compile("adam", "mse")
    before = model.get_weights()
    model.fit(X, Y, verbose=0)
    after = model.get_weights()
    np.testing.assert_array_equal(before[0], after[0])
    assert not np.array_equal(before[2], after[2])
    assert len(model.non_trainable_weights) == 2


class Net(tf.keras.Model):
    """Two layers, the first ones in a list."""

    def __init__(self):
        super().__init__()
        self.blocks = [tf.keras.layers.Dense(3, activation="tanh")]
        self.top = tf.keras.layers.Dense(1)

    def call(self, inputs, training=None):
        for block in self.blocks:
            inputs = block(inputs)
        return self.top(inputs)


def test_subclass_trains_and_restores_before_it_is_built(tmp_path):
    net = Net()
    net.compile("adam", "mse")
    net.fit(X, Y, epochs=2, verbose=0)
    assert len(net.trainable_weights) == 4
    net.save_weights(str(tmp_path / "w"))
    other = Net()
    other.load_weights(str(tmp_path / "w"))
    np.testing.assert_allclose(other.predict(X), net.predict(X), rtol=1e-5)
    keys = [key for key, _ in tf.train.list_variables(str(tmp_path / "w"))]
    assert "blocks/0/kernel/.ATTRIBUTES/VARIABLE_VALUE" in keys


def test_optimizer_continues_from_a_checkpoint(tmp_path):
    model = linear(kernel_initializer="ones")
    model.compile("adam", "mse")
    model.fit(X, Y, verbose=0, shuffle=False)
    model.save_weights(str(tmp_path / "w"))
    expected = model.fit(X, Y, epochs=3, verbose=0, shuffle=False).history["loss"]
    model = linear()
    model.compile("adam", "mse")
    status = model.load_weights(str(tmp_path / "w"))
    found = model.fit(X, Y, epochs=3, verbose=0, shuffle=False).history["loss"]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    status.assert_consumed()


def test_weights_by_name_need_hdf5(tmp_path):
    model = linear()
    model.save_weights(str(tmp_path / "w"))
    with pytest.raises(NotImplementedError, match="by_name=True"):
        model.load_weights(str(tmp_path / "w"), by_name=True)


def test_losses_and_updates_of_layers_are_the_models():
    regularizer = tf.keras.regularizers.l2(0.5)
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(1, kernel_regularizer=regularizer, input_shape=(4,)),
        tf.keras.layers.BatchNormalization(),
    ])  # fmt: skip
    assert len(model.losses) == 1
    assert len(model.updates) == 2
    model.compile("sgd", "mse")
    kernel = model.get_weights()[0]
    outputs = model.predict(X)
    expected = np.mean((outputs - Y) ** 2) + 0.5 * np.sum(kernel**2)
    assert model.evaluate(X, Y, verbose=0) == pytest.approx(expected, rel=1e-4)


def test_several_outputs_have_losses_with_weights():
    x = tf.keras.Input((4,))
    a, b = (tf.keras.layers.Dense(1, name=name)(x) for name in "ab")
    model = tf.keras.Model(x, [a, b])
    model.compile("sgd", {"a": "mse", "b": "mae"}, loss_weights={"a": 2.0, "b": 0.5})
    total, loss_a, loss_b = model.evaluate(X, [Y, Y], verbose=0)
    assert total == pytest.approx(2 * loss_a + 0.5 * loss_b, rel=1e-5)
    assert model.metrics_names == ["loss", "a_loss", "b_loss"]


def test_weights_of_samples_and_classes():
    model = linear()
    weights = np.arange(12.0)
    errors = np.mean((model.predict(X) - Y) ** 2, axis=1)
    found = model.evaluate(X, Y, sample_weight=weights, verbose=0)
    assert found == pytest.approx(np.mean(errors * weights), rel=1e-4)


def test_datasets_and_generators_feed_a_model():
    model = linear()
    dataset = tf.data.Dataset.from_tensor_slices((X, Y)).batch(4)
    expected = model.evaluate(X, Y, batch_size=4, verbose=0)
    assert model.evaluate(dataset, steps=3, verbose=0) == pytest.approx(expected, rel=1e-5)

    def batches():
        while True:
            for start in range(0, 12, 4):
                yield X[start : start + 4], Y[start : start + 4]

    found = model.evaluate_generator(batches(), steps=3)
    assert found == pytest.approx(expected, rel=1e-5)
    history = model.fit_generator(
        batches(), 3, epochs=2, verbose=0, validation_data=batches(), validation_steps=3
    )
    assert sorted(history.history) == ["loss", "val_loss"]


class Batches(tf.keras.utils.Sequence):
    """Three batches."""

    def __len__(self):
        return 3

    def __getitem__(self, index):
        return X[4 * index : 4 * index + 4], Y[4 * index : 4 * index + 4]


def test_sequences_feed_a_model():
    model = linear()
    np.testing.assert_allclose(
        model.predict_generator(Batches()), model.predict(X), rtol=1e-5, atol=1e-6
    )
    assert len(model.fit_generator(Batches(), epochs=2, verbose=0).history["loss"]) == 2


def test_inputs_of_wrong_shapes_are_refused():
    model = linear()
    with pytest.raises(ValueError, match=r"expected dense_input to have shape \(4,\)"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match="same number of samples"):
        model.fit(X[:3], Y)


def test_there_is_no_eager_execution():
    model = linear()
    with pytest.raises(ValueError, match="run_eagerly=True"):
        model.compile("sgd", "mse", run_eagerly=True)


def test_summary(capsys):
    linear().summary()
    printed = capsys.readouterr().out
    assert "dense (Dense)                (None, 1)                 5" in printed
    assert "Trainable params: 5" in printed


def test_clones_have_variables_of_their_own():
    x = tf.keras.Input((4,), name="x")
    shared = tf.keras.layers.Dense(3, name="d")
    y = tf.keras.layers.Add(name="s")([shared(x), shared(x)])
    model = tf.keras.Model(x, tf.keras.layers.Dropout(0.5, name="o")(y), name="m")
    clone = tf.keras.models.clone_model(model)
    assert [one.name for one in clone.layers] == ["x", "d", "s", "o"]
    assert not set(map(id, clone.weights)) & set(map(id, model.weights))
    clone.set_weights(model.get_weights())
    np.testing.assert_allclose(clone.predict(X), model.predict(X), rtol=1e-6)
    model.add_loss(tf.reduce_mean(y) * 0.5)
    model.add_metric(tf.reduce_sum(y), name="sum", aggregation="mean")
    clone = tf.keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    for each in model, clone:
        each.compile("sgd", "mse")
    assert clone.metrics_names == ["loss", "sum"]
    np.testing.assert_allclose(clone.evaluate(X, X[:, :3], verbose=0),
                               model.evaluate(X, X[:, :3], verbose=0), rtol=1e-6)  # fmt: skip
    line = tf.keras.models.clone_model(linear(), input_tensors=tf.constant(X))
    assert line.output_shape == (12, 1)
    with pytest.raises(ValueError, match="subclass model"):
        tf.keras.models.clone_model(Net())
