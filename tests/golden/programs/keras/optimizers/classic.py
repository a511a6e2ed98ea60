"""The optimizers of tf.contrib.keras: rules with `lr`, `decay`, and plain variables."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

STEPS = 4


def total(optimizer):
    return np.float32(sum(float(value.sum()) for value in optimizer.get_weights()))


def updated(tf, optimizer, constraint=None):
    """Two variables, and what moves them by `get_updates`."""
    v = tf.keras.backend.variable(np.array([1.0, -2.0, 0.5]), name="v", constraint=constraint)
    w = tf.keras.backend.variable(3.0, name="w")
    loss = tf.reduce_sum(tf.square(v) * v) + w * w
    updates = optimizer.get_updates(loss, [v, w])
    # Nadam's schedule is read twice, and nothing says whether before or after it is set.
    train = [update for update in updates if not isinstance(update, tuple)]
    facts = {"weights": [weight.op.name for weight in optimizer.weights],
             "variables": [variable.op.name for variable in tf.global_variables()]}
    return v, w, train, facts


def trained(tf, optimizer, constraint=None):
    v, w, train, facts = updated(tf, optimizer, constraint)

    def call(session):
        session.run(tf.global_variables_initializer())
        found = {}
        for step in range(STEPS):
            session.run(train)
            found[f"v{step}"], found[f"w{step}"] = session.run([v, w])
        tf.keras.backend.set_session(session)
        config = optimizer.get_config()
        for key, value in config.items():
            found["config/" + key] = np.float32(value)
        again = type(optimizer).from_config(config).get_config()
        found["again"] = again == config
        found["kept"] = total(optimizer)
        optimizer.set_weights([np.zeros_like(value) for value in optimizer.get_weights()])
        found["reset"] = total(optimizer)
        tf.keras.backend.set_session(None)
        return found

    return Run(call=call, facts=facts)


@program
def decayed(tf):
    """Decay a learning rate; its order with the step's count is undefined."""
    optimizers = tf.contrib.keras.optimizers
    made = [kind(decay=0.5) for kind in (optimizers.SGD, optimizers.RMSprop, optimizers.Adagrad,
                                         optimizers.Adadelta, optimizers.Adam, optimizers.Adamax)]
    return Run(facts={type(one).__name__: updated(tf, one)[-1] for one in made})


@program
def sgd(tf):
    return trained(tf, tf.contrib.keras.optimizers.SGD(0.1))


@program
def sgd_momentum(tf):
    return trained(tf, tf.contrib.keras.optimizers.SGD(lr=0.1, momentum=0.9, clipnorm=1.0),
                   tf.keras.constraints.NonNeg())


@program
def sgd_nesterov(tf):
    return trained(tf, tf.contrib.keras.optimizers.SGD(0.1, 0.5, nesterov=True, clipvalue=0.5))


@program
def rmsprop(tf):
    return trained(tf, tf.contrib.keras.optimizers.RMSprop(lr=0.01))


@program
def adagrad(tf):
    return trained(tf, tf.contrib.keras.optimizers.Adagrad(0.1, epsilon=1e-3))


@program
def adadelta(tf):
    return trained(tf, tf.contrib.keras.optimizers.Adadelta())


@program
def adam(tf):
    return trained(tf, tf.contrib.keras.optimizers.Adam(lr=0.1))


@program
def adam_amsgrad(tf):
    return trained(tf, tf.contrib.keras.optimizers.Adam(0.1, amsgrad=True))


@program
def adamax(tf):
    return trained(tf, tf.contrib.keras.optimizers.Adamax(0.1, clipnorm=0.5))


@program
def nadam(tf):
    return trained(tf, tf.contrib.keras.optimizers.Nadam(0.1),
                   tf.keras.constraints.MinMaxNorm())


@program
def models(tf):
    """Return a model trained with two of them, one after the other."""
    optimizers = tf.contrib.keras.optimizers
    x = np.linspace(-1, 1, 24).reshape(8, 3).astype(np.float32)
    y = (x.sum(1, keepdims=True) > 0).astype(np.float32)
    found = {}
    with tf.Graph().as_default(), tf.Session() as session:
        tf.keras.backend.set_session(session)
        model = tf.keras.Sequential([
            tf.keras.layers.Dense(4, "tanh", input_shape=(3,), kernel_initializer="ones"),
            tf.keras.layers.Dense(1, "sigmoid", kernel_initializer="ones")])
        for optimizer in (optimizers.Adam(lr=0.05), optimizers.Nadam(), optimizers.SGD(0.5)):
            model.compile(optimizer, "binary_crossentropy")
            history = model.fit(x, y, batch_size=4, epochs=2, shuffle=False, verbose=0)
            name = type(optimizer).__name__
            found[name] = np.float32(history.history["loss"])
            found[name + "/weights"] = [w.shape for w in optimizer.get_weights()]
        found["got"] = optimizers.get(optimizer) is optimizer
    tf.keras.backend.set_session(None)
    return Run(facts=found)


@program
def refused(tf):
    optimizers = tf.contrib.keras.optimizers
    adam = optimizers.Adam()
    v = tf.keras.backend.variable(1.0, name="v")
    return Run(facts={
        "argument": raised(optimizers.SGD, clip=1.0),
        "negative": raised(optimizers.SGD, clipnorm=-1.0),
        "no gradient": raised(adam.get_updates, tf.constant(1.0), [v]),
        "abstract": raised(optimizers.Optimizer().get_updates, v, [v]),
        "many weights": raised(adam.set_weights, [np.zeros(2)]),
        "nothing": raised(optimizers.get, 3),
    })


@program
def other_shapes(tf):
    adam = tf.contrib.keras.optimizers.Adam()
    v = tf.keras.backend.variable(1.0, name="v")
    adam.get_updates(v * v, [v])

    def call(session):
        tf.keras.backend.set_session(session)
        found = raised(adam.set_weights, [np.zeros(2)] * len(adam.weights))
        tf.keras.backend.set_session(None)
        return {"message": found["message"]}

    return Run(call=call)
