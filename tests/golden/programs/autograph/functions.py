"""AutoGraph where TensorFlow asks for it by itself: tf.function, datasets, layers of a program.

Recorded with PYTHONHASHSEED=434, as `autograph_statements` is.
"""

from __future__ import annotations

from tests.golden.registry import Run, program


def _calls(tf, function, *feeds, dtype="int32", shape=()):
    x = tf.placeholder(dtype, shape, name="x")
    return Run({"y": function(x)}, [{x: value} for value in feeds], steps=len(feeds))


@program
def function_if(tf):
    @tf.function
    def f(x):
        if x > 0:
            y = x * 2
        else:
            y = x - 1
        return y

    return _calls(tf, f, 3, -3)


@program
def function_early_return(tf):
    @tf.function
    def f(x):
        if x > 10:
            return x
        x = x + 1
        if x > 5 and x < 8:
            return -x
        return x * 2

    return _calls(tf, f, 12, 7, 6, 1)


@program
def function_while(tf):
    @tf.function
    def collatz(x):
        count = 0
        while tf.not_equal(x, 1):
            if tf.equal(x % 2, 0):
                x = x // 2
            else:
                x = 3 * x + 1
            count += 1
        return count

    return _calls(tf, collatz, 7, 1)


@program
def function_for(tf):
    @tf.function
    def f(n):
        total = 0
        for i in tf.range(n):
            if i % 2 > 0:
                continue
            if i > 6:
                break
            total += i
        return total

    return _calls(tf, f, 3, 20)


@program
def function_for_rows(tf):
    @tf.function
    def f(rows):
        total = tf.zeros([2])
        for row in rows:
            total += row
        return total

    return _calls(tf, f, [[1.0, 2.0], [3.0, 4.0]], dtype="float32", shape=[None, 2])


@program
def function_calls_a_method(tf):
    class Model:
        def __init__(self):
            self.v = tf.get_variable("v", [], tf.int32, tf.zeros_initializer(), use_resource=True)

        def step(self, x):
            if x > 0:
                self.v.assign_add(x)
            return self.v.read_value()

        @tf.function
        def run(self, n):
            for i in tf.range(n):
                self.step(i)
            return self.step(n)

    model = Model()
    x = tf.placeholder(tf.int32, [], name="x")
    return Run({"y": model.run(x)}, {x: 3}, setup=[model.v.initializer], steps=2)


@program
def function_left_alone(tf):
    @tf.autograph.experimental.do_not_convert
    def plain(x):
        return x if x > 0 else -x

    def why(function):
        try:
            function(tf.constant(1))
        except Exception as error:
            words = str(error).strip().split("\n")[-1].strip()
            return type(error).__name__ + words[-120:]
        return None

    facts = {
        "off": why(tf.function(lambda x: x if x > 0 else -x, autograph=False)),
        "called": why(tf.function(lambda x: plain(x) + 1)),
        "outside": why(lambda x: x if x > 0 else -x),
    }
    return Run({"x": tf.constant(1)}, facts=facts)


def _elements(tf, dataset):
    """All elements of a dataset of numbers."""
    element = tf.data.make_initializable_iterator(dataset.batch(100))
    return Run({"all": element.get_next()}, setup=[element.initializer])


@program
def dataset_map(tf):
    def f(x):
        if x > 2:
            x = x * 10
        return x

    return _elements(tf, tf.data.Dataset.range(5).map(f))


@program
def dataset_filter(tf):
    def wanted(x):
        return x > 1 and not x > 3

    return _elements(tf, tf.data.Dataset.range(6).filter(wanted))


@program
def dataset_map_calls(tf):
    def shift(x):
        if x > 1:
            return x + 1
        return x

    def f(x):
        total = shift(x)
        for i in tf.range(x):
            total += shift(i)
        return total

    return _elements(tf, tf.data.Dataset.range(5).map(f))


@program
def dataset_flat_map(tf):
    def several(x):
        n = x
        if n > 2:
            n = tf.constant(2, tf.int64)
        return tf.data.Dataset.range(n)

    return _elements(tf, tf.data.Dataset.range(5).flat_map(several))


@program
def dataset_reduce(tf):
    def add(total, x):
        if x > 2:
            total += x
        return total

    dataset = tf.data.Dataset.range(6)
    return Run({"sum": dataset.reduce(tf.constant(0, tf.int64), add)})


@program
def dataset_walked(tf):
    def f(dataset):
        total = tf.constant(0, tf.int64)
        for x in dataset:
            if x > 3:
                total += x
        return total

    return Run({"y": tf.autograph.to_graph(f)(tf.data.Dataset.range(7))})


@program
def dataset_walked_for_effects(tf):
    v = tf.get_variable("v", [], tf.int64, tf.zeros_initializer(), use_resource=True)

    @tf.function
    def f():
        for x in tf.data.Dataset.range(7):
            v.assign_add(x)
        return v.read_value()

    return Run({"y": f()}, setup=[v.initializer], steps=2)


@program
def dataset_walked_break(tf):
    def f(dataset):
        total = tf.constant(0, tf.int64)
        for x in dataset:
            if x > 3:
                break
            total += x
        return total

    return Run({"y": tf.autograph.to_graph(f)(tf.data.Dataset.range(7))})


@program
def iterator_walked(tf):
    @tf.function
    def f():
        total = tf.constant(0, tf.int64)
        for x in iter(tf.data.Dataset.range(5)):
            total += x * x
        return total

    return Run({"y": f()}, steps=2)


@program
def iterator_walked_break(tf):
    @tf.function
    def f():
        count = tf.constant(0)
        for x in iter(tf.data.Dataset.range(9)):
            if x > 4:
                break
            count += 1
        return count

    return Run({"y": f()}, steps=2)


@program
def iterator_next(tf):
    @tf.function
    def f():
        iterator = iter(tf.data.Dataset.range(5).map(lambda x: x + 1))
        return next(iterator), iterator.get_next()

    return Run({"y": f()}, steps=2)


@program
def keras_layer(tf):
    class Clip(tf.keras.layers.Layer):
        def call(self, inputs):
            total = tf.reduce_sum(inputs)
            if total > 1.0:
                inputs = inputs / total
            return inputs

    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = Clip(name="clip")(x)
    return Run({"y": y}, [{x: [[1.0, 3.0]]}, {x: [[0.25, 0.25]]}], steps=2)


@program
def decorators(tf):
    ag = tf.contrib.autograph

    def scale(x):
        if x > 2:
            return x * 10
        return x

    @ag.convert(recursive=True)
    def deep(x):
        return scale(x) + 1

    @ag.convert(recursive=False)
    def shallow(x):
        if x > 2:
            x = x + len([x])
        return x

    return _calls(tf, lambda x: (deep(x), shallow(x)), 3, 1)
