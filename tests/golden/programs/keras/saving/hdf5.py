"""Models in HDF5 files with the state of their optimizers: what the files hold, training on."""

from __future__ import annotations

import os
import shutil
import tempfile
import unittest

import numpy as np

try:
    import h5py
except ImportError:  # an extra that Stillflow does without
    h5py = None

from tests.golden.registry import Run, eagerly, internal_module, program, raised

X = np.sin(np.arange(32.0)).reshape(8, 4).astype("float32")
Y = np.cos(np.arange(16.0)).reshape(8, 2).astype("float32")


def text(value):
    """Return a string, which files of h5py 2 and 3 give in two ways."""
    return value.decode("utf8") if isinstance(value, bytes) else str(value)


def contents(group):
    """Return the attributes of a group, and the arrays below it in the order of the file."""
    found = {"attributes": sorted(group.attrs)}
    for name in ("layer_names", "weight_names"):
        if name in group.attrs:
            found[name] = [text(value) for value in group.attrs[name]]
    arrays = []
    group.visititems(lambda name, x: arrays.append(x) if isinstance(x, h5py.Dataset) else None)
    found["arrays"] = [x.name for x in arrays]
    found["values"] = [np.array(x) for x in arrays]
    return found


def losses(model, epochs):
    found = model.fit(X, Y, batch_size=4, epochs=epochs, shuffle=False, verbose=0)
    return np.array(found.history["loss"], "float32")


def network(tf):
    layers = tf.keras.layers
    inputs = layers.Input((4,))
    hidden = layers.Dense(3, activation="tanh", kernel_initializer="ones")(inputs)
    outputs = layers.Dense(2, kernel_initializer="ones")(layers.BatchNormalization()(hidden))
    return tf.keras.Model(inputs, outputs)


def in_file(tf, act):
    """Return the facts that `act` finds with a path of a file; Keras' session is left behind."""
    if h5py is None:
        raise unittest.SkipTest("h5py is not installed")
    folder = tempfile.mkdtemp()
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.keras.backend.set_session(sess)
        try:
            facts = act(os.path.join(folder, "model.h5"))
        finally:
            shutil.rmtree(folder)
    tf.keras.backend.set_session(None)
    return Run({}, facts=facts)


def trained_on(tf, make, loss="mse"):
    """Return a model trained, saved and loaded, and what goes on as if nothing had happened."""

    def act(path):
        model = network(tf)
        model.compile(make(tf.keras.optimizers), loss)
        losses(model, 2)
        model.save(path)
        with h5py.File(path, "r") as file:
            facts = {name: contents(file[name]) for name in sorted(file)}
            facts["attributes"] = sorted(file.attrs)
            facts["training"] = text(file.attrs["training_config"])
        loaded = tf.keras.models.load_model(path)
        facts["before"] = [np.array(x) for x in loaded.optimizer.get_weights()]
        facts["here"] = losses(model, 2)
        facts["there"] = losses(loaded, 2)
        assert np.allclose(facts["here"], facts["there"], atol=1e-6)
        return facts

    return in_file(tf, act)


@program
def adam(tf):
    return trained_on(
        tf, lambda o: o.Adam(0.01, amsgrad=True, decay=0.1), tf.keras.losses.Huber(2.0)
    )


@program
def nadam(tf):
    return trained_on(tf, lambda o: o.Nadam(0.01))


@program
def rmsprop(tf):
    return trained_on(tf, lambda o: o.RMSprop(0.01, momentum=0.5, centered=True))


@program
def sgd_with_a_schedule(tf):
    rates = tf.keras.optimizers.schedules
    return trained_on(
        tf, lambda o: o.SGD(rates.ExponentialDecay(0.05, 4, 0.5), momentum=0.9, nesterov=True)
    )


@program
def one_group_after_the_other(tf):
    module = internal_module(tf, "keras.saving.hdf5_groups", "python.keras.saving.hdf5_format")

    def act(path):
        model, other = network(tf), network(tf)
        for one in (model, other):
            one.compile("adam", "mse")
        losses(model, 2), losses(other, 1)
        with h5py.File(path, "w") as file:
            group = file.create_group("parts")
            module.save_optimizer_weights_to_hdf5_group(group, model.optimizer)
            module.save_weights_to_hdf5_group(group, model.layers)
            facts = {"names": contents(group)["attributes"]}
            module.load_weights_from_hdf5_group(group, other.layers)
            other.optimizer.set_weights(module.load_optimizer_weights_from_hdf5_group(group))
            module.save_attributes_to_hdf5_group(file, "many", [b"x" * 100] * 1000)
            facts["parts"] = sorted(file.attrs)
            facts["texts"] = len(module.load_attributes_from_hdf5_group(file, "many"))
        facts["on"] = losses(other, 1)
        return facts

    return in_file(tf, act)


@program
def in_a_file_that_is_open(tf):
    def act(path):
        model = network(tf)
        model.compile("sgd", "mse")
        losses(model, 1)
        with h5py.File(path, "w") as file:
            model.save(file)
            facts = {"open": sorted(file)}
        with h5py.File(path, "r") as file:
            loaded = tf.keras.models.load_model(file)
            facts["still"] = sorted(file)
        facts["on"] = losses(loaded, 1)
        return facts

    return in_file(tf, act)


@program
def inputs_that_only_data_tells(tf):
    def act(path):
        model = tf.keras.Sequential([tf.keras.layers.Dense(2, kernel_initializer="ones")])
        model.compile("adam", "mse")
        losses(model, 2)
        model.save(path)
        loaded = tf.keras.models.load_model(path)  # the state of the optimizer cannot be
        return {"on": losses(loaded, 2)}

    return in_file(tf, act)


@program
def what_json_has_no_form_for(tf):
    module = internal_module(tf, "keras.engine.network_config", "python.util.serialization")
    get_json_type = module.get_json_type
    values = {
        "number": np.float32(2), "truth": np.bool_(True), "array": np.arange(3),
        "shape": tf.TensorShape([1, None]), "dimension": tf.Dimension(3), "class": int,
        "function": len, "optimizer": tf.keras.optimizers.SGD(0.1),
        "layer": tf.keras.layers.Dropout(0.5, name="drop"),
    }  # fmt: skip
    facts = {name: get_json_type(value) for name, value in values.items()}
    for name, value in (("set", {1}), ("dtype", tf.float32), ("bytes", b"x")):
        facts[name] = raised(get_json_type, value)
    return Run({}, facts=facts)


@program
def optimizers_at_once(tf):
    """Files of models that train without graphs give back what their optimizers keep."""
    if h5py is None:
        raise unittest.SkipTest("h5py is not installed")

    def compute(tf):
        x, y = np.ones((4, 3), "f"), np.ones((4, 2), "f")
        facts = {}
        for name in ("sgd", "rmsprop", "adam"):
            model = tf.keras.Sequential([tf.keras.layers.Dense(2, input_shape=(3,))])
            model.compile(name, "mse")
            model.fit(x, y, epochs=2, verbose=0)
            with tempfile.TemporaryDirectory() as place:
                model.save(os.path.join(place, "m.h5"))
                again = tf.keras.models.load_model(os.path.join(place, "m.h5"))
            facts[name] = {
                "weights": [np.asarray(each) for each in again.optimizer.get_weights()],
                "losses": [
                    np.float32(each.fit(x, y, verbose=0).history["loss"]) for each in (model, again)
                ],
            }
        return facts

    return eagerly(tf, compute)
