"""tf.gradients: its arguments, aggregation, second order, custom and overridden gradients."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


@program
def arguments_of_gradients(tf):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.constant([[1.0, 2.0], [3.0, 4.0]], name="w")
    y = tf.matmul(x, w, name="y")
    z = tf.reduce_sum(tf.square(y), name="z")
    fetches = {
        "one": tf.gradients(z, w)[0],
        "several": tf.gradients(z, [x, w, y]),
        "not_scalar": tf.gradients(y, x)[0],
        "grad_ys": tf.gradients(y, [w], grad_ys=tf.ones_like(y) * 2.0)[0],
        "two_ys": tf.gradients([z, y], [x], grad_ys=[tf.constant(0.5), None])[0],
        "named": tf.gradients(z, x, name="my_gradients")[0],
        "of_itself": tf.gradients(z, z)[0],
    }
    unrelated = tf.constant(1.0)
    facts = {"unconnected": tf.gradients(z, unrelated)[0] is None}
    zero = tf.gradients(z, unrelated, unconnected_gradients=tf.UnconnectedGradients.ZERO)
    fetches["zero"] = zero[0]
    return Run(fetches, {x: [[1.0, 2.0], [3.0, 4.0]]}, facts=facts)


@program
def stop_gradients_argument(tf):
    a = tf.constant(2.0, name="a")
    b = 3.0 * a
    c = tf.square(b)
    behind = tf.gradients(c, [a], stop_gradients=[b])
    partial = tf.gradients(a * b + b, [a, b], stop_gradients=[a, b])
    total = tf.gradients(a * b + b, [a, b])
    stopped = tf.gradients(a * tf.stop_gradient(b), a)
    through = tf.gradients(tf.stop_gradient(a), a)
    facts = {"behind": behind[0] is None, "through": through[0] is None}
    return Run({"partial": partial, "total": total, "stopped": stopped}, facts=facts)


@program
def gradients_that_are_refused(tf):
    x = tf.constant(1.0)
    y = tf.square(x)
    facts = {
        "grad_shape": raised(tf.gradients, y, x, grad_ys=[None, None]),
        "integer": str(tf.gradients(tf.constant(3) * 2, tf.constant(3))),
        "grad_dtype": raised(tf.gradients, y, x, grad_ys=[tf.constant(1)]),
    }
    return Run(facts=facts)


@program
def aggregation_methods(tf):
    x = tf.placeholder(tf.float32, [3])
    y = x * 2.0 + tf.square(x) + tf.sin(x)
    methods = ["ADD_N", "EXPERIMENTAL_TREE", "EXPERIMENTAL_ACCUMULATE_N"]
    fetches = {m: tf.gradients(y, x, aggregation_method=getattr(tf.AggregationMethod, m))
               for m in methods}
    fetches["default"] = tf.gradients(y, x)[0]
    fetches["colocated"] = tf.gradients(y, x, colocate_gradients_with_ops=True)[0]
    fetches["gated"] = tf.gradients(y, x, gate_gradients=True)[0]
    return Run(fetches, {x: [0.5, 1.0, -1.0]})


@program
def second_order(tf):
    x = tf.placeholder(tf.float32, [2])
    y = tf.reduce_sum(tf.pow(x, 3.0) + x[0] * x[1])
    first = tf.gradients(y, x)[0]
    second = tf.gradients(first, x)[0]
    third = tf.gradients(second, x)[0]
    product = tf.gradients(tf.tensordot(first, tf.stop_gradient(x), 1), x)[0]
    return Run({"first": first, "second": second, "third": third, "product": product},
               {x: [1.0, 2.0]})


@program
def hessians(tf):
    x = tf.placeholder(tf.float32, [3])
    w = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    y = tf.reduce_sum(tf.exp(x) * x)
    z = tf.reduce_sum(tf.square(tf.matmul(w, w)))
    return Run({"vector": tf.hessians(y, x), "matrix": tf.hessians(z, w)}, {x: [0.1, 0.2, 0.3]})


@program
def second_order_of_a_network(tf):
    x = tf.placeholder(tf.float32, [None, 2])
    w = tf.get_variable("w", initializer=tf.constant([[0.1, -0.2, 0.3], [0.4, 0.5, -0.6]]))
    hidden = tf.nn.softplus(tf.matmul(x, w))
    y = tf.reduce_sum(tf.tanh(hidden), axis=1, keepdims=True)
    slopes = tf.gradients(y, x)[0]
    penalty = tf.reduce_mean(tf.square(tf.norm(slopes, axis=1) - 1.0))
    return Run({"slopes": slopes, "penalty": penalty, "w": tf.gradients(penalty, w)[0]},
               {x: [[1.0, -1.0], [0.5, 2.0]]}, setup=[w.initializer])


@program
def custom_gradient(tf):
    @tf.custom_gradient
    def log1pexp(x):
        e = tf.exp(x)

        def grad(dy):
            return dy * (1 - 1 / (1 + e))

        return tf.log(1 + e), grad

    @tf.custom_gradient
    def two_outputs(x, y):
        def grad(dx, dy):
            return 10.0 * dx, 20.0 * dy

        return (x * 2.0, y * 3.0), grad

    x = tf.placeholder(tf.float32, [2])
    y = log1pexp(x)
    a, b = two_outputs(x, tf.square(x))
    return Run({"y": y, "grad": tf.gradients(y, x), "two": tf.gradients([a, b], x)},
               {x: [0.0, 100.0]})


@program
def custom_gradient_of_custom_gradient(tf):
    @tf.custom_gradient
    def leaky(x):
        y = tf.maximum(x, x * 0.2)

        @tf.custom_gradient
        def grad(dy):
            return tf.where(y >= 0, dy, dy * 0.2), lambda ddx: tf.where(y >= 0, ddx, ddx * 0.2)

        return y, grad

    x = tf.placeholder(tf.float32, [2])
    y = leaky(x)
    first = tf.gradients(y * y, x)[0]
    return Run({"y": y, "first": first, "second": tf.gradients(first, x)}, {x: [1.0, -2.0]})


@program
def register_gradient(tf):
    try:
        @tf.RegisterGradient("GoldenClippedSquare")
        def clipped(op, grad):
            return tf.clip_by_value(grad * 2.0 * op.inputs[0], -1.0, 1.0)
    except KeyError:
        pass  # registered by an earlier run of this builder

    x = tf.placeholder(tf.float32, [3])
    graph = tf.get_default_graph()
    with graph.gradient_override_map({"Square": "GoldenClippedSquare"}):
        y = tf.square(x)
    z = tf.square(x)
    return Run({"overridden": tf.gradients(y, x), "usual": tf.gradients(z, x)},
               {x: [-3.0, 0.1, 2.0]})


@program
def gradient_reversal_layer(tf):
    try:
        @tf.RegisterGradient("GoldenFlip")
        def flip(op, grad):
            return [tf.negative(grad) * 0.5]
    except KeyError:
        pass  # registered by an earlier run of this builder

    x = tf.Variable([1.0, 2.0], name="x")
    with tf.get_default_graph().gradient_override_map({"Identity": "GoldenFlip"}):
        y = tf.identity(x)
    loss = tf.reduce_sum(tf.square(y))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    return Run({"x": x, "loss": loss}, setup=[x.initializer], train=[step], steps=2)


@program
def op_without_gradient(tf):
    x = tf.constant([1.0, 2.0])
    facts = {
        "argmax": tf.gradients(tf.argmax(x), x)[0] is None,
        "equal": tf.gradients(tf.cast(tf.equal(x, 1.0), tf.float32), x)[0] is None,
        "cast": tf.gradients(tf.cast(tf.cast(x, tf.int32), tf.float32), x)[0] is None,
        "floor": tf.gradients(tf.floor(x), x)[0] is None,
        "sign": tf.gradients(tf.sign(x), x)[0] is None,
        "missing": raised(tf.gradients, tf.gradients(tf.nn.softsign(x), x)[0], x),
        "shape": raised(tf.gradients, tf.atan2(tf.ones([2, 2]), x), x),
    }
    return Run(facts=facts)


@program
def indexed_slices(tf):
    table = tf.Variable(np.arange(8, dtype=np.float32).reshape(4, 2), name="table")
    ids = tf.placeholder(tf.int32, [None])
    rows = tf.nn.embedding_lookup(table, ids)
    sparse = tf.gradients(tf.reduce_sum(rows), table)[0]
    both = tf.gradients(tf.reduce_sum(rows) + tf.reduce_sum(tf.square(table)), table)[0]
    twice = tf.gradients(tf.reduce_sum(rows * tf.gather(table, ids + 1)), table)[0]
    made = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([1]), tf.constant([4, 2]))
    fetches = {"sparse": sparse, "dense": tf.convert_to_tensor(sparse), "both": both,
               "twice": twice, "made": made}
    facts = {"kinds": [type(g).__name__ for g in (sparse, both, twice)],
             "made": [str(made.dtype), made.values.name, made.dense_shape.name]}
    return Run(fetches, {ids: [0, 2, 0]}, setup=[table.initializer], facts=facts)


@program
def gradients_of_variables(tf):
    ref = tf.Variable([1.0, 2.0], name="ref")
    resource = tf.Variable([3.0, 4.0], name="resource", use_resource=True)
    y = tf.reduce_sum(ref * resource + tf.square(resource.read_value()))
    grads = tf.gradients(y, [ref, resource])
    trainable = tf.gradients(y, tf.trainable_variables())
    return Run({"grads": grads, "trainable": trainable},
               setup=[tf.global_variables_initializer()])


@program
def gradients_across_devices_and_scopes(tf):
    with tf.name_scope("model"), tf.device("/cpu:0"):
        x = tf.constant([1.0, 2.0], name="x")
        with tf.name_scope("inner"):
            y = tf.reduce_sum(tf.exp(x) * x, name="y")
    with tf.name_scope("training"):
        plain = tf.gradients(y, x)
        placed = tf.gradients(y, x, colocate_gradients_with_ops=True)
    with tf.control_dependencies([plain[0]]):
        after = tf.gradients(y, x)
    return Run({"plain": plain, "placed": placed, "after": after})


@program
def partial_paths_and_shared_inputs(tf):
    a = tf.placeholder(tf.float32, [2, 2], name="a")
    b = tf.add(a, a)
    c, d = tf.split(b, 2, axis=1)
    unused = tf.unstack(b)[0]
    joined = tf.concat([c, c * d, d], 1)
    top = tf.nn.top_k(joined, 2)
    y = tf.reduce_sum(top.values) + tf.reduce_max(unused)
    return Run({"a": tf.gradients(y, a), "b": tf.gradients(y, [b, c, d])},
               {a: [[1.0, 2.0], [3.0, -4.0]]})


@program
def ops_without_gradients(tf):
    x = tf.constant([1.0, 2.0])
    variable = tf.Variable([3.0, 4.0])
    with tf.get_default_graph().gradient_override_map({"Exp": "NobodyRegisteredThis"}):
        overridden = tf.exp(x)
    stopped = {
        "assign": variable.assign(x),
        "assign_add": variable.assign_add(x),
        "scatter_add": tf.scatter_add(variable, [0, 1], x),
        "shape": tf.cast(tf.shape(x), tf.float32),
        "argmax": tf.cast(tf.argmax(x), tf.float32),
    }
    missing = {
        "overridden": overridden,
        "bincount": tf.raw_ops.Bincount(arr=[0, 1], size=2, weights=x),
        "bitcast": tf.bitcast(x, tf.float32),
        "scatter_update": tf.scatter_update(variable, [0, 1], x),
        "training": tf.raw_ops.ApplyGradientDescent(
            var=variable._ref(), alpha=1.0, delta=x),
    }
    return Run(facts={
        "stopped": {name: tf.gradients(y, x) for name, y in sorted(stopped.items())},
        "missing": {name: raised(tf.gradients, y, x) for name, y in sorted(missing.items())}})


@program
def gradient_of_an_element_by_rank(tf):
    x = tf.constant([[1.0, 5.0, 3.0], [4.0, 4.0, 2.0]])
    y = tf.contrib.nn.nth_element(x, 1)
    return Run({"value": y, "gradient": tf.gradients(y, x)})
