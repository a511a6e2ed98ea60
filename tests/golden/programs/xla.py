"""Clusters and scopes to compile: what they write into the graph, and the values."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised


@program
def compiled_functions(tf):
    x = tf.placeholder(tf.float32, [2], name="x")
    v = tf.get_variable("v", [2], use_resource=True, initializer=tf.ones_initializer())

    def step(a, b):
        with tf.control_dependencies([v.assign_add(a)]):
            return a * b + tf.get_variable("w", [2], initializer=tf.zeros_initializer()), tf.no_op()

    compile = tf.xla.experimental.compile
    outputs = compile(step, [x, 3.0])
    nested = compile(lambda pair: {"sum": pair[0] + pair[1], "rest": [pair[0]]}, [(x, x)])
    nothing = compile(lambda: None)
    facts = {"nothing": nothing.name, "bad": raised(compile, lambda: (tf.no_op(), 1)),
             "inputs": raised(compile, lambda: 1, x),
             "structure": raised(compile, lambda: [[tf.no_op()]])}
    return Run({"outputs": outputs, "nested": nested}, {x: [1.0, 2.0]},
               setup=[tf.global_variables_initializer()], facts=facts)


@program
def jit_scopes(tf):
    scope = tf.xla.experimental.jit_scope
    with scope():
        a = tf.constant(1.0, name="a")
        with scope(compile_ops=lambda node: node.op == "Add"):
            b = tf.add(a, a, name="b")
    with scope(False, separate_compiled_gradients=True):
        c = tf.multiply(b, b, name="c")
    return Run({"c": c})


@program
def functions_that_ask_to_be_compiled(tf):
    x = tf.placeholder(tf.float32, [2], name="x")

    def times(factor, **options):
        return tf.function(lambda value: value * factor, **options)(x)

    return Run({"yes": times(2.0, experimental_compile=True), "unset": times(4.0),
                "no": times(3.0, experimental_compile=False)}, {x: [1.0, 2.0]})
