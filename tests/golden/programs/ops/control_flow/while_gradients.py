"""Gradients through loops: saved values, sums over iterations, nesting, errors."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


@program
def powers(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    n = tf.placeholder(tf.int32, [], name="n")
    _, y = tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * y), [0, x])
    return Run({"y": y, "gradient": tf.gradients(y, x)}, [{x: 1.5, n: 3}, {x: 1.5, n: 0}], steps=2,
               facts={"contexts": [str(c.to_proto()) for c in
                                   tf.get_collection(tf.GraphKeys.WHILE_CONTEXT)]})


@program
def invariants(tf):
    x = tf.placeholder(tf.float32, [2, 2], name="x")
    w = tf.Variable([[0.5, -0.5], [1.0, 0.25]], name="w")
    b = tf.get_variable("b", initializer=[0.1, 0.2], use_resource=True)
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(tf.matmul(y, w) + b)),
                         [0, x])
    return Run({"y": y, "gradients": tf.gradients(y, [x, w, b])}, {x: [[1.0, 2.0], [-1.0, 0.5]]},
               setup=[tf.global_variables_initializer()])


@program
def unknown_shapes(tf):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.placeholder(tf.float32, None, name="w")
    shapes = [tf.TensorShape([]), tf.TensorShape(None), tf.TensorShape([])]
    _, _, z = tf.while_loop(lambda i, y, z: i < 3,
                            lambda i, y, z: (i + 1, tf.tanh(y * w), z + tf.reduce_sum(y)),
                            [0, x, 0.0], shape_invariants=shapes, swap_memory=True)
    feeds = [{x: [[1.0, 2.0]], w: 0.5}, {x: np.ones([3, 2]), w: [0.5, 2.0]}]
    return Run({"z": z, "gradients": tf.gradients(z, [x, w])}, feeds, steps=2)


@program
def growing(tf):
    x = tf.placeholder(tf.float32, [None], name="x")
    shapes = [tf.TensorShape([]), tf.TensorShape([None])]
    _, y = tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, tf.concat([y, y * y], 0)),
                         [0, x], shape_invariants=shapes)
    return Run({"y": y, "gradient": tf.gradients(y, x)}, {x: [2.0, 3.0]})


@program
def reductions_in_the_body(tf):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    w = tf.placeholder(tf.float32, [None, 1], name="w")
    shapes = [tf.TensorShape([]), tf.TensorShape([None, None])]

    def body(i, y):
        return i + 1, tf.reduce_mean(y, 1, keepdims=True) * w + tf.reduce_max(y)

    _, y = tf.while_loop(lambda i, y: i < 3, body, [0, x], shape_invariants=shapes)
    return Run({"y": y, "gradients": tf.gradients(y, [x, w])},
               {x: [[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]], w: [[0.5], [-1.0]]})


@program
def conds_inside(tf):
    x = tf.placeholder(tf.float32, [None], name="x")
    w = tf.Variable([1.5, 2.0], name="w")
    shapes = [tf.TensorShape([]), tf.TensorShape([None])]

    def body(i, y):
        return i + 1, tf.cond(i < 2, lambda: y * w, lambda: tf.sin(y))

    _, y = tf.while_loop(lambda i, y: i < 4, body, [0, x], shape_invariants=shapes)
    return Run({"y": y, "gradients": tf.gradients(y, [x, w])}, {x: [0.5, -1.0]},
               setup=[w.initializer])


@program
def values_used_in_one_branch(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    w = tf.Variable([3.0, 4.0], name="w")

    def body(i, y):
        z = tf.exp(y * 0.1)
        inner = tf.cond(i > 0, lambda: tf.cond(i > 1, lambda: z * w, lambda: z), lambda: y)
        return i + 1, inner

    _, y = tf.while_loop(lambda i, y: i < 3, body, [0, x])
    return Run({"y": y, "gradients": tf.gradients(y, [x, w])}, {x: [0.5, -1.0]},
               setup=[w.initializer])


@program
def inside_a_cond(tf):
    x = tf.placeholder(tf.float32, [None], name="x")
    w = tf.Variable([1.0, 2.0], name="w")
    shapes = [tf.TensorShape([]), tf.TensorShape([None])]

    def loop():
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * w), [0, x],
                             shape_invariants=shapes)[1]

    y = tf.cond(tf.reduce_sum(x) > 0.0, loop, lambda: x * w)
    return Run({"y": y, "gradients": tf.gradients(y, [x, w])}, [{x: [1.0, 2.0]}, {x: [-1.0, -2.0]}],
               setup=[w.initializer], steps=2)


@program
def nested(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    w = tf.Variable([1.0, 0.5], name="w")

    def body(i, y):
        _, z = tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * w * y), [0, y])
        return i + 1, z + y

    _, y = tf.while_loop(lambda i, y: i < 3, body, [0, x])
    return Run({"y": y, "gradients": tf.gradients(y, [x, w])}, {x: [1.0, -0.5]},
               setup=[w.initializer])


@program
def nested_with_unknown_shapes(tf):
    x = tf.placeholder(tf.float32, [None], name="x")
    w = tf.Variable([1.0, 0.5], name="w")
    shapes = [tf.TensorShape([]), tf.TensorShape([None])]

    def body(i, y):
        _, z = tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * w * y), [0, y],
                             shape_invariants=shapes)
        return i + 1, z + y

    _, y = tf.while_loop(lambda i, y: i < 3, body, [0, x], shape_invariants=shapes)
    return Run({"y": y, "gradients": tf.gradients(y, [x, w])}, {x: [1.0, -0.5]},
               setup=[w.initializer])


@program
def loop_in_cond_in_loop(tf):
    x = tf.placeholder(tf.float32, [None], name="x")
    w = tf.Variable([1.0, 2.0], name="w")
    shapes = [tf.TensorShape([]), tf.TensorShape([None])]

    def inner(i, y):
        return tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * w), [0, y],
                             shape_invariants=shapes)[1]

    def body(i, y):
        return i + 1, tf.cond(i < 2, lambda: inner(i, y), lambda: y + w)

    _, y = tf.while_loop(lambda i, y: i < 3, body, [0, x], shape_invariants=shapes)
    return Run({"y": y, "gradients": tf.gradients(y, [x, w])}, {x: [1.0, -0.5]},
               setup=[w.initializer])


@program
def deep_nesting(tf):
    x = tf.placeholder(tf.float32, [2], name="x")

    def level(depth, y):
        if depth == 0:
            return tf.sin(y) * y
        return tf.while_loop(
            lambda i, z: i < 2,
            lambda i, z: (i + 1, tf.cond(i < 1, lambda: level(depth - 1, z), lambda: z * x)),
            [0, y])[1]

    y = level(3, x)
    return Run({"y": y, "gradient": tf.gradients(y, x)}, {x: [0.5, -1.0]})


@program
def results_that_are_not_used(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    z = tf.placeholder(tf.float32, None, name="z")
    _, a, _ = tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, b * 2.0, a + 1.0),
                            [0, x, x])
    _, c, d = tf.while_loop(lambda i, a, b: i < 3, lambda i, a, b: (i + 1, b * 2.0, z), [0, z, z])
    gradients = [tf.gradients(a, x), tf.gradients(c, z), tf.gradients(d, z)]
    return Run({"gradients": gradients}, {x: [1.0, 2.0], z: [1.0, 2.0, 3.0]})


@program
def results_of_ints(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    i, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * tf.cast(i + 1, tf.float32)),
                         [0, x])
    total = tf.reduce_sum(y) * tf.cast(i, tf.float32)
    return Run({"gradient": tf.gradients(total, x)}, {x: [1.0, 2.0]},
               facts={"of_the_counter": tf.gradients(tf.cast(i, tf.float32), x)})


@program
def outputs_without_gradient(tf):
    known = tf.placeholder(tf.float32, [4, 2], name="known")
    unknown = tf.placeholder(tf.float32, [None, 2], name="unknown")

    def body(i, y):
        first, _ = tf.split(y, 2)
        return i + 1, tf.concat([first, first * 2.0], 0)

    gradients = []
    for x in (known, unknown):
        _, y = tf.while_loop(lambda i, y: i < 2, body, [0, x])
        gradients.append(tf.gradients(y, x)[0])
    return Run({"gradients": gradients}, {known: np.ones([4, 2]), unknown: np.ones([2, 2])})


@program
def without_back_prop(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x], back_prop=False)
    return Run({"y": y}, {x: 2.0}, facts={"gradient": tf.gradients(y, x)})


@program
def rows_of_tables(tf):
    e = tf.Variable(np.arange(12, dtype=np.float32).reshape(4, 3), name="e")
    r = tf.get_variable("r", initializer=np.ones([4, 3], np.float32), use_resource=True)
    ids = tf.placeholder(tf.int32, [None], name="ids")

    def body(i, s):
        first = tf.reduce_sum(tf.nn.embedding_lookup(e, ids))
        return i + 1, s + first * tf.reduce_sum(tf.gather(r, ids + i))

    _, y = tf.while_loop(lambda i, s: i < 2, body, [0, 0.0])
    return Run({"y": y, "gradients": tf.gradients(y, [e, r])}, {ids: [0, 2]},
               setup=[tf.global_variables_initializer()])


@program
def sparse_variable(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    s = tf.SparseTensor([[0, 0], [1, 1]], x * 1.0, [2, 2])

    def body(i, s):
        return i + 1, tf.SparseTensor(s.indices, s.values * x, s.dense_shape)

    _, s = tf.while_loop(lambda i, s: i < 3, body, [0, s])
    return Run({"gradient": tf.gradients(s.values, x)}, {x: [2.0, 3.0]})


@program
def gradients_in_the_body(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    w = tf.Variable([1.0, 2.0], name="w")

    def descend(i, y):
        return i + 1, y - 0.1 * tf.gradients(tf.reduce_sum(y * y * w), y)[0]

    _, y = tf.while_loop(lambda i, y: i < 3, descend, [0, x])
    facts = {"through_the_start": raised(tf.while_loop, lambda i, y: i < 3,
                                         lambda i, y: (i + 1, tf.gradients(y, x)[0]), [0, x])}
    return Run({"y": y, "gradients": tf.gradients(y, [x, w])}, {x: [1.0, -1.0]},
               setup=[w.initializer], facts=facts)


@program
def second_order(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2.0), [0, x])
    first, = tf.gradients(y, x)
    product, = tf.gradients(y * first, x)
    return Run({"first": first, "product": product}, {x: [1.0, 2.0]})


@program
def second_order_through_the_loop(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x])
    first, = tf.gradients(y, x)
    return Run({"first": first}, {x: 2.0}, facts={"second": raised(tf.gradients, first, x)})


@program
def one_loop_after_another(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    r = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), [0, x])[1]
    q = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * r), [0, x])[1]
    gradient = tf.gradients([q, r], x, grad_ys=[x, x], aggregation_method=1)
    return Run({"gradient": gradient}, {x: [1.0, 1.5]})


@program
def colocated_and_gated(tf):
    with tf.device("/cpu:0"):
        x = tf.placeholder(tf.float32, [None], name="x")
        w = tf.Variable([1.5, 2.0], name="w")
    shapes = [tf.TensorShape([]), tf.TensorShape([None])]
    _, y = tf.while_loop(
        lambda i, y: i < 3,
        lambda i, y: (i + 1, tf.cond(i < 2, lambda: y * w, lambda: tf.sin(y) * tf.cos(y))),
        [0, x], shape_invariants=shapes, parallel_iterations=1)
    gradients = tf.gradients(y, [x, w], colocate_gradients_with_ops=True, gate_gradients=True)
    return Run({"gradients": gradients}, {x: [0.5, 1.0]}, setup=[w.initializer])


@program
def stopped(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    c = x * 2.0
    _, y = tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, tf.stop_gradient(y) * x + c * y),
                         [0, x])
    return Run({"gradients": [tf.gradients(y, x), tf.gradients(y, [x, c], stop_gradients=[c])]},
               {x: [1.0, 2.0]})


@program
def training_a_loop(tf):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", initializer=[[0.3, -0.2], [0.1, 0.4]])
    shapes = [tf.TensorShape([]), tf.TensorShape([None, 2])]
    _, h = tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, tf.tanh(tf.matmul(h, w) + x)),
                         [0, tf.zeros_like(x)], shape_invariants=shapes)
    loss = tf.reduce_mean(tf.square(h - 1.0))
    step = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    return Run({"w": w}, {x: [[0.5, -0.5], [1.0, 0.0]]}, setup=[w.initializer],
               train={"loss": loss, "step": step}, steps=5)


@program
def of_an_imported_loop(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    w = tf.constant([1.5, 2.0], name="w")

    def body(i, y):
        return i + 1, tf.cond(i < 2, lambda: y * w, lambda: tf.sin(y))

    with tf.name_scope("scope"):
        _, y = tf.while_loop(lambda i, y: i < 4, body, (0, x), maximum_iterations=9)
    tf.identity(y, name="y")
    tf.train.import_meta_graph(tf.train.export_meta_graph(), import_scope="again")
    again_x, again_y = [tf.get_default_graph().get_tensor_by_name(f"again/{name}:0")
                        for name in ("x", "y")]
    contexts = [str(context.to_proto()) for context in
                tf.get_collection(tf.GraphKeys.WHILE_CONTEXT)]
    return Run({"gradient": tf.gradients(again_y, again_x)}, {again_x: [0.5, -1.0]},
               facts={"contexts": contexts})
