"""Branches and loops as functions of the graph's library: If, Case, While, TensorLists."""

from __future__ import annotations

import functools
import warnings

import numpy as np
from tests.golden.registry import Run, program, raised


def as_functions(build):
    """Return a program whose branches and loops are functions of the graph's library."""

    @functools.wraps(build)
    def built(tf):
        tf.enable_control_flow_v2()
        try:
            return build(tf)
        finally:
            tf.disable_control_flow_v2()

    return program(built)


def _dense_gradient(tf, y, v):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # sparse gradients of unknown shape become dense
        return tf.convert_to_tensor(tf.gradients(y, v)[0])


@as_functions
def cond_forms(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    p = tf.placeholder(tf.bool, [], name="p")
    v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    y = tf.cond(p, lambda: x * v, lambda: x + 1.0)
    pair = tf.cond(p, lambda: (x, [v + 1.0]), lambda: (v + 0.0, [x]), name="pair")
    nested = tf.cond(p, lambda: tf.cond(tf.reduce_sum(x) > 0, lambda: x, lambda: -x),
                     lambda: tf.zeros([2]), name="nested")
    matrix = tf.cond(tf.reshape(p, [1, 1]), lambda: 1, lambda: 2, name="matrix")
    return Run({"y": y, "pair": pair, "nested": nested, "matrix": matrix},
               [{x: [1.0, 2.0], p: True}, {x: [-1.0, -2.0], p: True}, {x: [3.0, 4.0], p: False}],
               setup=[v.initializer], steps=3, facts={"enabled": tf.control_flow_v2_enabled()})


@as_functions
def cond_gradients(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    y = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.exp(x) * v, lambda: tf.tanh(x))
    first = tf.gradients(y, [x, v])
    second = tf.gradients(first[0], [x, v])
    return Run({"y": y, "first": first, "second": second}, [{x: [1.0, 2.0]}, {x: [-1.0, -0.5]}],
               setup=[v.initializer], steps=2)


@as_functions
def nested_cond_gradients(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    y = tf.cond(x > 0, lambda: tf.cond(x > 1, lambda: x * x * x, lambda: tf.sin(x)),
                lambda: x * 2.0)
    return Run({"y": y, "dx": tf.gradients(y, x)}, [{x: 2.0}, {x: 0.5}, {x: -1.0}], steps=3)


@as_functions
def cond_of_gathered_rows(tf):
    v = tf.get_variable("v", initializer=np.arange(6, dtype=np.float32).reshape(3, 2),
                        use_resource=True)
    p = tf.placeholder(tf.bool, [], name="p")
    y = tf.cond(p, lambda: tf.gather(v, [0, 2]) * 2.0, lambda: v[:2] + 1.0)
    grad = _dense_gradient(tf, y, v)
    return Run({"y": y, "grad": grad}, [{p: True}, {p: False}], steps=2,
               setup=[v.initializer])


@as_functions
def cond_with_effects(tf):
    v = tf.get_variable("v", initializer=1.0, use_resource=True)
    p = tf.placeholder(tf.bool, [], name="p")
    step = tf.cond(p, lambda: v.assign_add(10.0), lambda: v.assign_sub(1.0))
    done = tf.cond(p, lambda: tf.group(v.assign_add(0.5)), lambda: tf.no_op(), name="done")
    with tf.control_dependencies([step]):
        waits = tf.cond(p, lambda: tf.constant(1.0), lambda: tf.constant(2.0), name="waits")
    return Run({"waits": waits}, [{p: True}, {p: False}], setup=[v.initializer], train=step,
               steps=2, facts={"done": done.dtype.name})


@as_functions
def cond_refused(tf):
    p = tf.placeholder(tf.bool, [], name="p")
    x = tf.constant(1.0)
    kept = []

    def keep():
        kept.append(tf.identity(x))
        return kept[0]

    return Run(facts={
        "bool": raised(tf.cond, True, lambda: x, lambda: x),
        "types": raised(tf.cond, p, lambda: 1, lambda: 1.0),
        "other branch": raised(tf.cond, p, keep, lambda: kept[0] + 1.0)["class"],
    })


@as_functions
def case_forms(tf):
    i = tf.placeholder(tf.int32, [], name="i")
    x = tf.placeholder(tf.float32, [2], name="x")
    y = tf.switch_case(i, [lambda: x * 2.0, lambda: tf.exp(x), lambda: tf.ones([2])])
    with_default = tf.switch_case(i, {0: lambda: x, 1: lambda: -x},
                                  default=lambda: x + 5.0, name="named")
    grads = tf.gradients([y, with_default], x)
    ordered = tf.case([(x[0] > 2.0, lambda: x), (x[0] > 1.0, lambda: -x)], default=lambda: x * 3.0)
    return Run({"y": y, "default": with_default, "grads": grads, "ordered": ordered},
               [{i: 0, x: [1.0, 2.0]}, {i: 1, x: [1.5, 2.0]}, {i: 7, x: [3.0, 4.0]}], steps=3)


@as_functions
def while_forms(tf):
    n = tf.placeholder(tf.int32, [], name="n")
    x = tf.placeholder(tf.float32, [2], name="x")
    v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
    i, y = tf.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * 2.0 + x * v), [0, x])
    single = tf.while_loop(lambda a: tf.reduce_sum(a) < 100.0, lambda a: a * 2.0, [x], name="one")
    same = tf.while_loop(lambda a: a < 10, lambda a: [a + 3], [0], return_same_structure=True)
    limited = tf.while_loop(lambda a: True, lambda a: a + 1, [0], maximum_iterations=n,
                            parallel_iterations=3)
    grown = tf.while_loop(lambda a: tf.size(a) < 10, lambda a: tf.concat([a, a], 0), [x],
                          shape_invariants=[tf.TensorShape([None])], back_prop=False)
    return Run({"i": i, "y": y, "single": single, "same": same, "limited": limited,
                "grown": grown}, [{n: 3, x: [1.0, 2.0]}, {n: 0, x: [3.0, 4.0]}],
               setup=[v.initializer], steps=2)


@as_functions
def while_structures(tf):
    sparse = tf.SparseTensor([[0], [2]], [1.0, 2.0], [3])
    results = tf.while_loop(
        lambda state, s: state["i"] < 3,
        lambda state, s: ({"i": state["i"] + 1, "a": (state["a"][0] * 2.0,)},
                          tf.SparseTensor(s.indices, s.values + 1.0, s.dense_shape)),
        [{"i": tf.constant(0), "a": (tf.constant([1.0, 2.0]),)}, sparse])
    return Run({"state": results[0], "values": results[1].values})


@as_functions
def while_gradients(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    w = tf.get_variable("w", initializer=[0.5, 2.0], use_resource=True)
    _, y = tf.while_loop(lambda i, a: i < 4, lambda i, a: (i + 1, tf.tanh(a * w + 0.1)), [0, x])
    first = tf.gradients(y, [x, w])
    second = tf.gradients(first[0], [x, w])
    return Run({"y": y, "first": first, "second": second}, {x: [1.0, -1.0]},
               setup=[w.initializer])


@as_functions
def nested_while_gradients(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    n = tf.placeholder(tf.int32, [], name="n")

    def outer(i, a):
        inner = tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, b * x), [0, a])[1]
        return i + 1, tf.cond(inner > 2.0, lambda: inner * 0.5, lambda: inner * inner)

    _, y = tf.while_loop(lambda i, a: i < n, outer, [0, x])
    return Run({"y": y, "dx": tf.gradients(y, x)}, [{x: 1.5, n: 4}, {x: 0.7, n: 3}], steps=2)


@as_functions
def while_of_gathered_rows(tf):
    v = tf.get_variable("v", initializer=np.arange(8, dtype=np.float32).reshape(4, 2),
                        use_resource=True)
    _, y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a + tf.gather(v, [i, 0])),
                         [0, tf.zeros([2, 2])])
    return Run({"y": y, "grad": _dense_gradient(tf, y, v)}, setup=[v.initializer])


@as_functions
def whiles_that_are_refused(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    return Run(facts={
        "shape": raised(tf.while_loop, lambda a: True, lambda a: tf.concat([a, a], 0), [x]),
        "type": raised(tf.while_loop, lambda i: i < 3, lambda i: tf.cast(i, tf.int64), [0]),
        "structure": raised(tf.while_loop, lambda a, b: True, lambda a, b: a, [x, x])["class"],
    })


@as_functions
def arrays_as_lists(tf):
    x = tf.placeholder(tf.float32, [3, 2], name="x")
    array = tf.TensorArray(tf.float32, size=3, element_shape=[2]).unstack(x)
    written = array.write(1, [7.0, 8.0])
    fetches = {"stack": written.stack(), "read": written.read(0), "size": written.size(),
               "old": array.stack(), "gather": written.gather([2, 0]),
               "concat": tf.TensorArray(tf.float32, 2).split(x, [1, 2]).concat(),
               "scatter": tf.TensorArray(tf.float32, 4).scatter([3, 0, 1], x).read(3)}
    grads = tf.gradients([fetches["stack"] * 2.0, fetches["read"], fetches["concat"],
                          fetches["gather"]], x)
    return Run({**fetches, "grads": grads}, {x: np.arange(6).reshape(3, 2)})


@as_functions
def arrays_in_loops(tf):
    x = tf.placeholder(tf.float32, [3, 2], name="x")
    array = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[2])
    rows = tf.unstack(x)
    _, total, made = tf.while_loop(
        lambda i, a, t: i < 3,
        lambda i, a, t: (i + 1, a + x[i], t.write(i, a * x[i])),
        [0, rows[0], array])
    stacked = made.stack()
    mapped = tf.map_fn(lambda row: row * row, x)
    scanned = tf.scan(lambda a, row: a + row, x)
    folded = tf.foldl(lambda a, row: a * row, x)
    grads = tf.gradients([stacked, mapped, scanned, folded], x)
    return Run({"total": total, "stacked": stacked, "mapped": mapped, "scanned": scanned,
                "folded": folded, "grads": grads},
               {x: np.arange(1, 7).reshape(3, 2)})


@as_functions
def recurrent(tf):
    x = tf.placeholder(tf.float32, [2, 3, 2], name="x")
    lengths = tf.placeholder(tf.int32, [2], name="lengths")
    cell = tf.nn.rnn_cell.GRUCell(3, kernel_initializer=tf.constant_initializer(0.2))
    outputs, state = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
    grads = tf.gradients(tf.reduce_sum(outputs) + tf.reduce_sum(state),
                         [x, *tf.trainable_variables()])
    return Run({"outputs": outputs, "state": state, "grads": grads},
               {x: np.linspace(-1, 1, 12).reshape(2, 3, 2), lengths: [3, 1]},
               setup=[tf.global_variables_initializer()])


@as_functions
def layers_that_give_all(tf):
    x = tf.placeholder(tf.float32, [2], name="x")

    class Grows(tf.layers.Layer):
        def call(self, inputs):
            y = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * inputs), [0, inputs])[1]
            return tf.cond(tf.reduce_sum(y) > 3.0, lambda: y * 2.0, lambda: tf.exp(y))

    y = Grows()(x)
    tf.experimental.output_all_intermediates(True)
    z = tf.cond(tf.reduce_sum(x) > 3.0, lambda: y * 2.0, lambda: tf.exp(y), name="outside")
    tf.experimental.output_all_intermediates(None)
    return Run({"y": y, "z": z, "dx": tf.gradients(y + z, x)}, [{x: [1.0, 2.0]}, {x: [0.1, 0.2]}],
               steps=2)


@program
def functions_with_branches_and_loops(tf):
    v = tf.get_variable("v", initializer=2.0, use_resource=True)

    @tf.function(autograph=False)
    def steps(x):
        y = tf.cond(x > 0.0, lambda: x * v, lambda: x - v)
        v.assign_add(1.0)
        return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * y), [0, x])[1]

    x = tf.placeholder(tf.float32, [], name="x")
    y = steps(x)
    return Run({"y": y}, [{x: 2.0}, {x: -1.0}], setup=[v.initializer], steps=2,
               facts={"outside": tf.control_flow_v2_enabled()})


@program
def function_gradients_with_loops(tf):
    @tf.function(autograph=False)
    def power(x):
        return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * x), [0, x])[1]

    x = tf.placeholder(tf.float32, [], name="x")
    y = power(x) + 0.0
    return Run({"y": y, "dx": tf.gradients(y, x)}, {x: 2.0})
