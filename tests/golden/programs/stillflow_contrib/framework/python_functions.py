"""tf.contrib.framework: Python functions of nested arrays, and scopes in names."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


@program
def nested_functions(tf):
    py_func = tf.contrib.framework.py_func
    x = tf.placeholder(tf.float32, [2], name="x")
    one = py_func(np.sinh, [x], output_types=tf.float32, output_shapes=[2])
    several = py_func(
        lambda a, pair, scale: {"sum": a + pair[0] * scale, "n": (pair[1], np.int64(len(a)))},
        [x, (x, 3.0)], {"scale": tf.constant(2.0)},
        {"sum": tf.float32, "n": (tf.float32, tf.int64)},
        {"sum": [2], "n": ([], [])}, stateful=False, name="several",
    )  # fmt: skip
    computed = py_func(
        lambda a: [a, a], [x], output_types=lambda a: [a.dtype, a.dtype],
        output_shapes=lambda a: [a.shape, None],
    )  # fmt: skip
    wrong = py_func(lambda a: a, [x], output_types=[tf.float32, tf.float32])
    facts = {
        "refused": [
            raised(py_func, np.sin, x, output_types=tf.float32)["class"],
            raised(py_func, np.sin, [x], [1], tf.float32)["class"],
        ],
        "shapes": [str(one.shape), str(several["n"][0].shape), str(computed[1].shape)],
    }
    feeds = {x: [1.0, 2.0]}
    return [
        Run({"one": one, "several": several, "computed": computed}, feeds, facts=facts),
        Run({"wrong": wrong}, feeds, fails=True),
    ]


@program
def scopes_in_names(tf):
    lib = tf.contrib.framework
    pairs = [("^a/b", "a"), ("loc:@a/b", "a"), ("a/b", "a/"), ("ab/c", "a"), ("a/a/b", "a"),
             ("a", "a"), ("b", None), ("a.b/c", "a.b")]  # fmt: skip
    return Run(facts={
        "stripped": [lib.strip_name_scope(*pair) for pair in pairs],
        "prepended": [lib.prepend_name_scope(*pair) for pair in pairs],
    })  # fmt: skip
