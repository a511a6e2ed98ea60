"""Gradients through calls of functions: of rows of variables, again and again, by several tapes."""

from __future__ import annotations

from tests.golden.registry import Run, eagerly, program


def _told(gradient):
    if hasattr(gradient, "values"):
        parts = (gradient.values, gradient.indices, gradient.dense_shape)
        return [part.numpy() for part in parts]
    return None if gradient is None else gradient.numpy()


@program
def rows_of_variables(tf):
    def compute(tf):
        v = tf.Variable([0.0, 1.0, 2.0])
        gathered = tf.function(lambda: tf.reduce_sum(tf.gather(v, [1, 2])))
        around = tf.function(lambda: gathered() * 2.0)
        found = {}
        for turn in range(2):  # the second one takes the traces of the first
            for name, function in (("itself", gathered), ("around", around)):
                with tf.GradientTape() as tape:
                    y = function()
                found[f"{name} {turn}"] = _told(tape.gradient(y, v))
                with tf.GradientTape(persistent=True) as tape:
                    y = function() + tf.reduce_sum(v)
                found[f"{name} and all {turn}"] = _told(tape.gradient(y, v))
        return found

    return eagerly(tf, compute)


@program
def gradients_of_gradients(tf):
    def compute(tf):
        def gradient_of(f):
            def differentiated(x):
                with tf.GradientTape() as tape:
                    tape.watch(x)
                    y = f(x)
                return tape.gradient(y, x)
            return differentiated

        one = tf.constant(1.0)
        direct = tf.function(lambda x: tf.cos(x))
        traced = tf.function(direct)
        found = {}
        for order in range(4):
            found[str(order)] = [f(one).numpy() for f in (direct, traced, tf.function(direct))]
            direct, traced = gradient_of(direct), tf.function(gradient_of(traced))
        return found

    return eagerly(tf, compute)


@program
def nested_functions_and_persistent_tapes(tf):
    def compute(tf):
        @tf.function
        def inner(a, b):
            return None, a * tf.add(a, b), None, 2.0 * a

        @tf.function
        def outer(x):
            return inner(x, 1.0)

        x = tf.constant(5.0)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            first, product, second, double = outer(x)
        return {
            "none": [first is None, second is None], "values": [product.numpy(), double.numpy()],
            "gradients": [tape.gradient(each, x).numpy() for each in (product, double)],
        }  # fmt: skip

    return eagerly(tf, compute)


@program
def rows_in_graphs(tf):
    table = tf.get_variable("table", [4, 2], initializer=tf.ones_initializer(), use_resource=True)
    x = tf.constant([[2.0], [3.0]])

    @tf.function
    def rows(i):
        return tf.gather(table, i)

    @tf.function
    def picked(x):
        return tf.gather_nd(x, [[1]])

    of_table, of_x = tf.gradients(rows([1, 1]), table)[0], tf.gradients(picked(x), x)[0]
    step = tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(rows([1, 1])))
    facts = {"kinds": [type(each).__name__ for each in (of_table, of_x)]}
    return Run({"table": table, "of_table": of_table, "of_x": of_x}, train=[step], steps=2,
               setup=[tf.global_variables_initializer()], facts=facts)
