"""tf.cond, tf.case and functions without loops; Python functions in the graph."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


@program
def cond_forms(tf):
    x = tf.placeholder(tf.float32, [], name="x")
    v = tf.Variable(1.0, name="v")
    simple = tf.cond(x > 0, lambda: x * 2.0, lambda: -x)
    several = tf.cond(x > 0, lambda: [x, x + 1.0], lambda: [v * 1.0, v + 2.0], name="several")
    named = tf.cond(tf.less(x, 3.0), true_fn=lambda: tf.constant("small"),
                    false_fn=lambda: tf.constant("large"))
    nested = tf.cond(x > 0, lambda: tf.cond(x > 5.0, lambda: x * 10.0, lambda: x), lambda: x - 1.0)
    fetches = {"simple": simple, "several": several, "named": named, "nested": nested}
    facts = {"python": raised(tf.cond, True, lambda: 1, lambda: 2),
             "types": raised(tf.cond, x > 0, lambda: tf.constant(1), lambda: tf.constant(1.0)),
             "not_callable": raised(tf.cond, x > 0, tf.constant(1), tf.constant(2))}
    return Run(fetches, [{x: 1.0}, {x: -2.0}, {x: 7.0}], setup=[v.initializer], steps=3,
               facts=facts)


@program
def cond_with_state(tf):
    flag = tf.placeholder(tf.bool, [])
    v = tf.Variable(0, name="v")
    w = tf.Variable(0, name="w", use_resource=True)
    step = tf.cond(flag, lambda: tf.assign_add(v, 1), lambda: tf.assign_sub(v, 10))
    group = tf.cond(flag, lambda: tf.group(w.assign_add(5)), lambda: tf.no_op())
    return Run({"v": v, "w": w}, [{flag: True}, {flag: False}, {flag: True}],
               setup=[tf.global_variables_initializer()], train=[step, group], steps=3)


@program
def gradient_of_cond(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    w = tf.Variable([3.0, 4.0], name="w")
    y = tf.cond(tf.reduce_sum(x) > 0, lambda: tf.reduce_sum(x * w),
                lambda: tf.reduce_sum(tf.square(x) + w))
    return Run({"y": y, "gradients": tf.gradients(y, [x, w])}, [{x: [1.0, 2.0]}, {x: [-1.0, -2.0]}],
               setup=[w.initializer], steps=2)


@program
def case_and_switches(tf):
    n = tf.placeholder(tf.int32, [])
    pairs = [(tf.equal(n, 0), lambda: tf.constant(10)), (tf.equal(n, 1), lambda: n * 20)]
    y = tf.case(pairs, default=lambda: tf.constant(-1), exclusive=True)
    smart = tf.layers.dropout(tf.ones([2]), 0.0, training=n > 0)
    return Run({"y": y, "smart": smart}, [{n: 0}, {n: 1}, {n: 2}], steps=3)


@program
def training_flag(tf):
    training = tf.placeholder(tf.bool, [], name="training")
    x = tf.placeholder(tf.float32, [None, 2])
    mean = tf.Variable(tf.zeros([2]), trainable=False, name="mean")
    batch_mean = tf.reduce_mean(x, 0)
    update = tf.assign(mean, mean * 0.9 + batch_mean * 0.1)

    def with_update():
        with tf.control_dependencies([update]):
            return tf.identity(batch_mean)

    used = tf.cond(training, with_update, lambda: tf.identity(mean))
    return [Run({"used": used}, {x: [[1.0, 2.0]], training: True}, setup=[mean.initializer]),
            Run({"mean": mean})]


@program
def python_functions(tf):
    x = tf.placeholder(tf.float32, [None])
    doubled = tf.py_func(lambda a: a * np.float32(2), [x], tf.float32)
    doubled.set_shape([None])
    several = tf.py_func(lambda a: (a.sum(), np.int64(a.size)), [x], [tf.float32, tf.int64])
    text = tf.py_func(lambda: b"text", [], tf.string, stateful=False, name="text")
    fetches = {"doubled": doubled + 1.0, "several": several, "text": text}
    return Run(fetches, {x: [1.0, 2.0, 3.0]})


@program
def python_function_with_a_gradient(tf):
    try:
        @tf.RegisterGradient("GoldenPySquare")
        def square_gradient(op, grad):
            return grad * 2.0 * op.inputs[0]
    except KeyError:
        pass  # registered by an earlier run of this builder

    x = tf.placeholder(tf.float32, [2])
    with tf.get_default_graph().gradient_override_map({"PyFunc": "GoldenPySquare"}):
        y = tf.py_func(lambda a: np.square(a), [x], tf.float32)
    return Run({"y": y, "gradient": tf.gradients(y, x)}, {x: [1.0, 3.0]})


@program
def critical_sections(tf):
    section = tf.CriticalSection(name="counting", shared_name="counter")
    v = tf.Variable(1.0, use_resource=True, name="v")

    def count():
        before = v.read_value()
        with tf.control_dependencies([v.assign_add(before)]):
            return tf.identity(before), {"after": v.read_value()}

    first, second = section.execute(count), section.execute(count, name="again")
    nothing = section.execute(lambda: v.assign_add(100.0).op)
    other = tf.CriticalSection()
    captured = section.execute(lambda: first[0] + 1.0, exclusive_resource_access=False)
    facts = {"name": section.name,
             "itself": raised(section.execute, lambda: section.execute(lambda: v + 1.0)),
             "exclusive": raised(other.execute, lambda: v + 1.0)["class"],
             "proto": raised(tf.CriticalSection, critical_section_def=3)}
    fetches = {"first": first[0], "after": first[1]["after"], "second": second[0],
               "captured": captured}
    return Run(fetches, setup=[v.initializer], train=[nothing], steps=2,
               facts=facts)


@program
def functions_of_tensors_with_values(tf):
    x = tf.placeholder(tf.float32, [None], name="x")
    m = tf.constant(2.0)

    def log_huber(x, m):
        if tf.reduce_max(tf.abs(x)) <= m:
            return x ** 2
        return m ** 2 * (1 - 2 * tf.log(m) + tf.log(x ** 2))

    y = tf.py_function(log_huber, [x, m], tf.float32)
    a, b = tf.py_function(lambda x, m: (x * m, x.numpy().sum()), [x, m], [tf.float32] * 2,
                          name="several")
    return Run({"y": y, "a": a, "b": b, "gradients": tf.gradients([y, a], [x, m])},
               [{x: [1.0, -2.0]}, {x: [3.0, 4.0]}], steps=2)
