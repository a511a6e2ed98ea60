"""tf.GradientTape in graphs: what is recorded, and the gradients it builds."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised


def _resource(tf, name, shape):
    return tf.get_variable(
        name, shape, use_resource=True, initializer=tf.constant_initializer(0.5)
    )


@program
def constants_and_unwanted_gradients(tf):
    x = tf.constant([1.0, -2.0], name="x")
    z = tf.constant(5.0, name="z")
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.maximum(x, 0.0) + tf.pow(tf.abs(x), 2.0) / z - tf.squared_difference(x, z)
        y += tf.minimum(z, x) * 3.0 + 4.0
    fetches = {
        "by_x": tape.gradient(y, x),
        "of_itself": tape.gradient(x, x),
        "weighed": tape.gradient(y, x, output_gradients=tf.constant([1.0, 3.0])),
        "zero": tape.gradient(y, z, unconnected_gradients="zero"),
    }
    return Run(fetches, facts={"unwatched": tape.gradient(y, z) is None})


@program
def variables_are_watched(tf):
    v = _resource(tf, "v", [2, 3])
    w = _resource(tf, "w", [3, 2])
    fixed = tf.get_variable("fixed", [2], use_resource=True, trainable=False)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.nn.relu(tf.matmul(v, w) - 1.0) ** 2.0 + fixed)
    names = [item.name for item in tape.watched_variables()]
    with tf.GradientTape(watch_accessed_variables=False) as second:
        second.watch(w)
        z = tf.reduce_mean(tf.matmul(v, w))
    fetches = {"both": tape.gradient(y, [v, w]), "one": second.gradient(z, {"w": w})}
    return Run(fetches, setup=[tf.global_variables_initializer()], facts={"names": names})


@program
def second_derivatives(tf):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(tf.nn.softmax(x) * x)
        first = inner.gradient(y, x)
    return Run({"second": outer.gradient(first, x)}, {x: [[1.0, 2.0], [3.0, 4.0]]})


@program
def jacobians_by_loops(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    whole = tape.jacobian(y, x, experimental_use_pfor=False)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x * x
    by_example = tape.batch_jacobian(y, x, experimental_use_pfor=False)
    return Run({"whole": whole, "by_example": by_example})


@program
def sparse_gradients(tf):
    table = _resource(tf, "table", [3, 2])
    rows = tf.constant([0, 2])
    with tf.GradientTape() as tape:
        found = tf.nn.embedding_lookup(table, rows)
        first, _ = tf.split(found, 2, axis=1)
        logits = tf.concat([found, first], axis=1)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=rows, logits=logits)
    grad = tape.gradient(loss, table)
    fetches = {"values": grad.values, "indices": grad.indices}
    return Run(fetches, setup=[tf.global_variables_initializer()])


@program
def custom_gradients_on_tapes(tf):
    @tf.custom_gradient
    def twice(x):
        return x * 2.0, lambda dy: dy * 7.0

    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = twice(x) * 3.0
    return Run({"by_x": tape.gradient(y, x)})


@program
def custom_gradients_that_use_variables(tf):
    @tf.custom_gradient
    def scaled(x):
        w = _resource(tf, "w", [2])

        def grad(dy, variables=None):
            return dy * 3.0, [dy * x for _ in variables]

        return x * w, grad

    x = tf.constant([1.0, 2.0])
    with tf.variable_scope("scope", use_resource=True):
        y = scaled(x)
        w = tf.global_variables()[0]
        fetches = {"by_both": tf.gradients(y, [x, w])}
    return Run(fetches, setup=[tf.global_variables_initializer()])


@program
def stopping_and_beginning_anew(tf):
    x = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
        with tape.stop_recording():
            hidden = x * x
        tape.reset()
        tape.watch(x)
        z = x * 5.0
    facts = {
        "before_reset": tape.gradient(y, x) is None,
        "stopped": tape.gradient(hidden, x) is None,
    }
    return Run({"after_reset": tape.gradient(z, x)}, facts=facts)


@program
def refusals_of_tapes(tf):
    x = tf.constant(3.0)
    tape = tf.GradientTape()
    with tape:
        tape.watch(x)
        y = x * x
        kept = tf.cond(x > 1.0, lambda: x, lambda: x * 2.0)
    tape.gradient(y, x)
    facts = {
        "twice": raised(tape.gradient, y, x),
        "watch_after": raised(tape.watch, x),
        "watched_after": raised(tape.watched_variables),
        "not_entered": raised(tf.GradientTape().watch, x),
    }
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        kept = tf.cond(x > 1.0, lambda: x * 1.0, lambda: x * 2.0)
        facts["entered"] = raised(tape.__enter__)
        facts["not_a_tensor"] = raised(tape.watch, 3.0)
    facts["cond"] = raised(tape.gradient, kept, x)
    facts["unknown"] = raised(tape.gradient, x, x, unconnected_gradients="?")
    return Run(facts=facts)


@program
def reference_variables(tf):
    v = tf.get_variable("v", initializer=3.0)
    r = tf.get_variable("r", initializer=2.0, use_resource=True)
    with tf.GradientTape(persistent=True) as tape:
        y = v * v + r
    facts = {
        "source": raised(tape.gradient, y, v),
        "one_of_two": raised(tape.gradient, y, [r, v]),
        "target": raised(tape.gradient, v, r),
    }
    return Run({"r": tape.gradient(y, r)}, facts=facts)
