"""Mixed precision of Keras: policies of layers, variables that are cast, scaled losses."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, eagerly, program, raised

X = np.linspace(-1, 1, 40).reshape(10, 4).astype("float32")
Y = np.linspace(0, 1, 20).reshape(10, 2).astype("float32")
HALF = {"rtol": 5e-3, "atol": 1e-3, "reason": "TensorFlow adds halves in halves on a CPU"}


def numbers(values):
    return np.ravel(np.asarray(values)).astype("float32")


@program
def policies(tf):
    experimental = tf.keras.mixed_precision.experimental
    facts = {}
    for name in ("infer", "float16", "float16_with_float32_vars", "mixed_bfloat16", "float32"):
        policy = experimental.Policy(name)
        facts[name] = [
            repr(policy), str(policy.compute_dtype), str(policy.variable_dtype),
            policy.should_cast_variables,
        ]  # fmt: skip
    facts["scaled"] = repr(experimental.Policy("float16", loss_scale=8))
    facts["mixed"] = type(experimental.Policy("mixed_float16").loss_scale).__name__
    facts["global"] = repr(experimental.global_policy())
    facts["refused"] = raised(experimental.set_policy, "mixed_float16")
    experimental.set_policy("infer_with_float32_vars")
    layer = tf.keras.layers.Dense(1)
    layer(tf.ones([1, 1], tf.float16))
    facts["inferred"] = [layer.dtype, layer.kernel.dtype.name]
    experimental.set_policy(None)
    facts["again"] = repr(experimental.global_policy())
    return Run(facts=facts)


@program(**HALF)
def cast_variables(tf):
    policy = tf.keras.mixed_precision.experimental.Policy("mixed_float16", loss_scale=None)

    class Layer(tf.keras.layers.Layer):
        def build(self, shape):
            self.v = self.add_weight("v", (2,), initializer="ones")
            facts["integers"] = raised(self.add_weight, "n", (), dtype="int32", initializer="zeros")

        def call(self, x):
            facts["inside"] = [self.v.dtype.name, self.v.true_dtype.name]
            changed = self.v.assign_add([1.0, 2.0])
            with tf.control_dependencies([changed]):
                return x * self.v + self.v.read_value() - self.v[0]

    facts = {}
    layer = Layer(dtype=policy, autocast=True)
    result = layer(tf.constant([1.0, 2.0]))
    facts["outside"] = [layer.v.dtype.name, layer.v.true_dtype.name, repr(layer.v)]
    (slope,) = tf.gradients(result, layer.v)
    return Run(
        {"result": result, "slope": slope}, setup=[tf.global_variables_initializer()], facts=facts
    )


def scaled_model(tf, scale):
    layers, experimental = tf.keras.layers, tf.keras.mixed_precision.experimental
    inputs = tf.keras.Input((4,))
    half = layers.Dense(
        3, dtype=experimental.Policy("mixed_float16"), kernel_initializer="ones", autocast=True
    )
    whole = layers.Dense(2, dtype="float32", autocast=True, kernel_initializer="ones")
    model = tf.keras.Model(inputs, whole(half(inputs)))
    optimizer = experimental.LossScaleOptimizer(tf.keras.optimizers.SGD(0.01, 0.5), scale)
    return model, optimizer


@program(**HALF)
def scaled_losses(tf):
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.keras.backend.set_session(sess)
        model, optimizer = scaled_model(
            tf, tf.train.experimental.DynamicLossScale(2.0**15, increment_period=2)
        )
        model.compile(optimizer, "mse")
        history = model.fit(X, Y, verbose=0, shuffle=False, epochs=9, batch_size=10).history
        get_value = tf.keras.backend.get_value
        facts = {
            "loss": numbers(history["loss"]), "scale": numbers(get_value(optimizer.loss_scale())),
            "steps": int(get_value(optimizer.iterations)), "slots": optimizer.get_slot_names(),
            "rate": numbers(get_value(optimizer.lr)),
            "config": raised(optimizer.get_config),
        }  # fmt: skip
    tf.keras.backend.set_session(None)
    return Run(facts=facts)


@program(**HALF)
def scaled_losses_at_once(tf):
    def compute(tf):
        facts = {}
        for how in ({}, {"run_eagerly": True}, {"experimental_run_tf_function": False}):
            model, optimizer = scaled_model(tf, 8.0)
            model.compile(optimizer, "mse", **how)
            history = model.fit(X, Y, verbose=0, shuffle=False, epochs=3, batch_size=5).history
            facts[str(sorted(how))] = numbers(history["loss"])
        with tf.GradientTape() as tape:
            loss = optimizer.get_scaled_loss(tf.reduce_sum(model(X)))
        grads = tape.gradient(loss, model.trainable_variables)
        facts["dtypes"] = [g.dtype.name for g in grads]
        facts["gradient"] = numbers(optimizer.get_unscaled_gradients(grads)[-1])
        return facts

    return eagerly(tf, compute)


@program
def graph_of_an_update(tf):
    experimental = tf.keras.mixed_precision.experimental
    v = tf.Variable([1.0, 2.0], use_resource=True, name="v")
    optimizer = experimental.LossScaleOptimizer(tf.keras.optimizers.SGD(0.5), "dynamic")
    loss = tf.reduce_sum(v * v)
    (train,) = optimizer.get_updates(loss, [v])
    facts = {"twice": raised(tf.train.experimental.enable_mixed_precision_graph_rewrite, optimizer)}
    return Run(
        {"loss": loss, "v": v}, setup=[tf.global_variables_initializer()], train=train, steps=3,
        facts=facts,
    )  # fmt: skip
