"""Keras' optimizers, layers and models with replicas on two CPU devices.

TensorFlow takes devices in an order of their hashes, so graphs are not compared here, but what they
compute.
"""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

DEVICES = ["/cpu:0", "/cpu:1"]
ROWS = np.linspace(-1.0, 1.0, 24, dtype=np.float32).reshape(12, 2)
LABELS = (ROWS.sum(1, keepdims=True) * 0.5 + 0.25).astype(np.float32)


def mirrored(tf):
    return tf.distribute.MirroredStrategy(DEVICES)


def two_cpus(tf):
    """Return a session with the devices that the programs name."""
    return tf.Session(config=tf.ConfigProto(device_count={"CPU": 2}))


def stepped(tf, optimizer, steps=3, sparse=False):
    """Losses and variables of a loop of one's own."""
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        strategy = mirrored(tf)
        with strategy.scope():
            model = tf.keras.Sequential([
                tf.keras.layers.Dense(3, "tanh", input_shape=(2,), use_bias=False,
                                      kernel_initializer=tf.keras.initializers.Constant(0.1)),
                tf.keras.layers.BatchNormalization(),
                tf.keras.layers.Dense(1, kernel_initializer="ones", kernel_regularizer="l2"),
            ])
            chosen = optimizer()
            table = tf.Variable(np.ones([4, 2], np.float32), name="table", trainable=True)

            def step(x, y):
                if sparse:
                    x = x + tf.nn.embedding_lookup(table, [0, 2, 0, 1, 3, 0, 2, 2, 1, 1, 0, 0])
                error = tf.reduce_mean(tf.square(model(x, training=True) - y)) + sum(model.losses)
                variables = model.trainable_variables + ([table] if sparse else [])
                grads = tf.gradients(error, variables)
                train = chosen.apply_gradients(zip(grads, variables))
                with tf.control_dependencies([train] + model.get_updates_for(None)):
                    return tf.identity(error)

            data = tf.constant(ROWS), tf.constant(LABELS)
            losses = strategy.experimental_run_v2(step, args=data)
            total = strategy.reduce(tf.distribute.ReduceOp.SUM, losses)
            watched = model.variables + chosen.variables()
        found = {}
        with two_cpus(tf) as session:
            session.run(tf.global_variables_initializer())
            found["losses"] = [session.run(total) for _ in range(steps)]
            found["values"] = {v.name: session.run(getattr(v, "values", v)) for v in watched}
        found["kinds"] = {v.name: type(v).__name__ for v in watched}
    return Run(facts=found)


@program
def sgd(tf):
    return stepped(tf, lambda: tf.keras.optimizers.SGD(0.1, momentum=0.9, nesterov=True))


@program
def adam(tf):
    return stepped(tf, lambda: tf.keras.optimizers.Adam(0.1), sparse=True)


@program
def rmsprop(tf):
    return stepped(tf, lambda: tf.keras.optimizers.RMSprop(0.1, centered=True), sparse=True)


@program
def adagrad(tf):
    schedule = tf.keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5)
    return stepped(tf, lambda: tf.keras.optimizers.Adagrad(schedule), sparse=True)


@program
def adamax(tf):
    return stepped(tf, lambda: tf.keras.optimizers.Adamax(0.1, decay=0.1))


@program
def ftrl(tf):
    return stepped(tf, lambda: tf.keras.optimizers.Ftrl(0.1, clipnorm=0.5))


@program
def moving_averages(tf):
    with tf.Graph().as_default():
        strategy = mirrored(tf)
        with strategy.scope():
            v = tf.Variable([1.0, 2.0], name="v")

            def step():
                number = tf.distribute.get_replica_context().replica_id_in_sync_group
                value = tf.cast(number, tf.float32) + tf.constant([2.0, 4.0])
                changed = tf.keras.backend.moving_average_update(v, value, 0.9)
                return tf.identity(changed)

            changed = strategy.experimental_run_v2(step)
        found = {}
        with two_cpus(tf) as session:
            session.run(tf.global_variables_initializer())
            found["changed"] = [session.run(changed.values) for _ in range(2)]
            found["values"] = session.run(v.values)
    return Run(facts=found)


@program
def metrics_of_all_replicas(tf):
    with tf.Graph().as_default():
        strategy = mirrored(tf)
        with strategy.scope():
            mean = tf.keras.metrics.Mean()
            accuracy = tf.keras.metrics.BinaryAccuracy()

            def step():
                number = tf.distribute.get_replica_context().replica_id_in_sync_group
                value = tf.cast(number, tf.float32) + [2.0, 4.0]
                return [mean.update_state(value), accuracy.update_state([1.0, 0.0], value - 3.0)]

            updates = strategy.experimental_run_v2(step)
            results = [mean.result(), accuracy.result()]
        found = {}
        with two_cpus(tf) as session:
            session.run([v.initializer for v in mean.variables + accuracy.variables])
            for number in range(2):
                session.run([strategy.experimental_local_results(u) for u in updates])
                found[f"results/{number}"] = session.run(results)
        found["parts"] = [type(v).__name__ for v in mean.variables]
    return Run(facts=found)


ROUNDING = "Keras averages float32 losses in double precision"


def own_session(tf):
    """Make Keras run in a session with the devices that the programs name."""
    tf.keras.backend.set_session(two_cpus(tf))


def sequential(tf):
    return tf.keras.Sequential([
        tf.keras.layers.Dense(3, "tanh", input_shape=(2,), kernel_initializer="ones"),
        tf.keras.layers.Dense(1, kernel_initializer="ones", kernel_regularizer="l2"),
    ])


def two_outputs(tf):
    x = tf.keras.Input([2], name="x")
    hidden = tf.keras.layers.Dense(3, "tanh", kernel_initializer="ones", use_bias=False)(x)
    hidden = tf.keras.layers.BatchNormalization()(hidden)
    first = tf.keras.layers.Dense(1, kernel_initializer="ones", name="first")(hidden)
    second = tf.keras.layers.Dense(1, "sigmoid", kernel_initializer="ones", name="second")(x)
    return tf.keras.Model(x, [first, second])


def fitted(tf, make, data=None, targets=LABELS, optimizer="sgd", loss="mse", **options):
    """History, evaluation, predictions and weights of a model that replicas train."""
    with tf.Graph().as_default():
        own_session(tf)
        strategy = mirrored(tf)
        with strategy.scope():
            model = make(tf)
            chosen = optimizer if isinstance(optimizer, str) else optimizer()
            model.compile(chosen, loss, metrics=options.pop("metrics", None))
        if data is None:
            history = model.fit(ROWS, targets, batch_size=4, shuffle=False, verbose=0, **options)
        else:
            history = model.fit(data(), verbose=0, **options)
        found = {
            "history": history.history, "epochs": history.epoch,
            "evaluated": model.evaluate(ROWS, targets, batch_size=4, verbose=0),
            "predicted": model.predict(ROWS, batch_size=6),
            "weights": model.get_weights(), "names": model.metrics_names,
        }
    tf.keras.backend.set_session(None)
    return Run(facts=found)


@program(rtol=1e-5, reason=ROUNDING)
def fitting_a_sequential_model(tf):
    return fitted(tf, sequential, epochs=3)


@program(rtol=1e-5, reason=ROUNDING)
def fitting_with_metrics_and_validation(tf):
    return fitted(tf, sequential, epochs=2, metrics=["mae"], optimizer=lambda: (
        tf.keras.optimizers.Adam(0.1)), validation_data=(ROWS[:8], LABELS[:8]))


@program(rtol=1e-5, reason=ROUNDING)
def fitting_two_outputs(tf):
    return fitted(tf, two_outputs, targets=[LABELS, LABELS], epochs=2, metrics=["mae"])


@program(rtol=1e-5, reason=ROUNDING)
def fitting_a_dataset(tf):
    def data():
        return tf.data.Dataset.from_tensor_slices((ROWS, LABELS)).repeat(2).batch(6)

    return fitted(tf, sequential, data, epochs=2, steps_per_epoch=2, optimizer=lambda: (
        tf.keras.optimizers.SGD(0.1, momentum=0.9)))


@program(rtol=1e-5, reason=ROUNDING)
def one_number_for_each_example(tf):
    def data():
        return tf.data.Dataset.from_tensor_slices((ROWS, LABELS[:, 0])).batch(6)

    return fitted(tf, sequential, data, epochs=2, targets=LABELS[:, 0], metrics=["mae"])


@program(rtol=1e-5, reason=ROUNDING)
def other_orders_in_each_epoch(tf):
    def data():
        return tf.data.Dataset.from_tensor_slices((ROWS, LABELS)).shuffle(8, seed=3).batch(6)

    return fitted(tf, sequential, data, epochs=3, metrics=["mae"])


@program
def policies_of_layers(tf):
    class Scale(tf.keras.layers.Layer):
        def build(self, input_shape):
            self.scale = self.add_weight("scale", (), initializer="ones")

        def call(self, inputs):
            read.append([self.scale.dtype.name, inputs.dtype.name])
            return inputs * self.scale

    read = []
    policy = tf.keras.mixed_precision.experimental.Policy("infer_float32_vars")
    with tf.Graph().as_default(), two_cpus(tf) as session:
        tf.keras.backend.set_session(session)
        with mirrored(tf).scope():
            x = tf.keras.Input((2,), dtype="float16")
            y = tf.keras.layers.Lambda(lambda z: tf.cast(z, "float32"))(Scale(dtype=policy)(x))
            model = tf.keras.Model(x, y)
            model.compile(tf.keras.optimizers.SGD(0.25), "mse")
        fitted = model.fit(np.ones((8, 2)), np.zeros((8, 2)), batch_size=4, verbose=0)
        facts = {
            "loss": np.float32(fitted.history["loss"]),
            "weights": np.ravel(model.get_weights()),
            "kept as": model.weights[0].dtype.name,
            "predicted": model.predict(np.ones((4, 2))),
            "read": read,
        }
    tf.keras.backend.set_session(None)
    return Run({}, facts=facts)


@program(rtol=1e-5, reason=ROUNDING)
def strategies_given_to_compile(tf):
    class Watching(tf.keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            rate = tf.keras.backend.get_value(self.model.optimizer.lr)
            seen.append([float(rate), self.model.get_weights()])

    seen, found = [], {}
    with tf.Graph().as_default():
        own_session(tf)
        strategy = mirrored(tf)
        model = sequential(tf)
        optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)
        model.compile(optimizer, "mse", metrics=["mae"], distribute=strategy)
        options = {"batch_size": 4, "shuffle": False, "verbose": 0}
        history = model.fit(
            ROWS, LABELS, epochs=2, callbacks=[Watching()],
            validation_data=(ROWS[:8], LABELS[:8]), **options
        )  # fmt: skip
        found["history"] = history.history
        found["weights"] = model.get_weights()
        found["evaluated"] = model.evaluate(ROWS, LABELS, batch_size=4, verbose=0)
        found["again"] = model.fit(ROWS, LABELS, **options).history
        model.set_weights([np.full_like(w, 0.5) for w in model.get_weights()])
        found["set"] = model.evaluate(ROWS, LABELS, batch_size=4, verbose=0)
        found["predicted"] = model.predict(ROWS, batch_size=6)
        plain = sequential(tf)
        plain.compile(tf.train.GradientDescentOptimizer(0.1), "mse", distribute=strategy)
        found["plain"] = plain.fit(ROWS, LABELS, epochs=2, **options).history
    tf.keras.backend.set_session(None)
    return Run(facts=dict(found, seen=seen))


@program
def refused_by_compile(tf):
    class Model(tf.keras.Model):
        def call(self, x):
            return x

    found = {}
    given = {"distribute": mirrored(tf)}
    cases = {
        "modes": {"sample_weight_mode": "temporal"}, "metrics": {"weighted_metrics": ["mae"]},
        "targets": {"target_tensors": [tf.zeros([2, 1])]},
    }  # fmt: skip
    for name in sorted(cases):
        found[name] = raised(sequential(tf).compile, "sgd", "mse", **cases[name], **given)
        with given["distribute"].scope():
            found[f"{name} in scope"] = raised(
                sequential(tf).compile, "sgd", "mse", **cases[name]
            )
    found["no inputs"] = raised(Model().compile, "sgd", "mse", **given)
    empty = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    found["no shape"] = raised(empty.compile, "sgd", "mse", **given)
    return Run(facts=found)
