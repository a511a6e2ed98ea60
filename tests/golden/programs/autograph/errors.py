"""Errors in converted code: their texts with lines of the program, and their classes.

TensorFlow shows lines inside of it as well, which are left out here, and copies that it made.
"""

from __future__ import annotations

import os
import re

from tests.golden.registry import Run, eagerly, program

_LINE = re.compile(r" {4}(\S+):(\d+) (\S+)(  \*)?$")
_LIBRARY = re.compile(r"tensorflow_core|(?:src|packages)/stillflow/|^/tmp/tmp\w+\.py$")


class WithMessage(Exception):
    """Exception with the arguments of any exception."""


class WithInit(Exception):
    def __init__(self, message, number):
        super().__init__(message)
        self.number = number


class OfValue(ValueError):
    pass


def told(function, *args):
    """Return the error of a call, without lines of libraries, folders and line numbers."""
    try:
        function(*args)
    except Exception as error:
        kinds = [kind.__name__ for kind in type(error).__mro__[:3]]
        return {"kinds": kinds, "text": _of_program(str(error)),
                "suppresses": error.__suppress_context__, "metadata": _metadata(error)}  # fmt: skip
    raise AssertionError("nothing was raised")


def _of_program(text):
    kept, lines = [], iter(text.split("\n"))
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            if not line.startswith("    relative to "):
                kept.append(line)
            continue
        code = next(lines).strip()
        if not _LIBRARY.search(match[1]):
            kept.append(f"{os.path.basename(match[1])} {match[3]}{match[4] or ''}: {code}")
    return kept


def _metadata(error):
    metadata = getattr(error, "ag_error_metadata", None)
    return metadata and metadata.cause_message


def raises(error):
    raise error


def fails_with(error):
    return raises(error)


@program
def classes(tf):
    found = {}
    for error in (
        KeyError("a\nb"), IndexError("i"), WithMessage("own"), WithInit("own", 1), OfValue("sub"),
        ZeroDivisionError("z"), OSError("os"), NotImplementedError("ni"), AssertionError("no"),
        AttributeError("a"), RuntimeError("two\nlines"), NameError("n"), TypeError("t"),
        tf.errors.InvalidArgumentError(None, None, "bad"),
        tf.errors.OutOfRangeError(None, None, "end"),
    ):  # fmt: skip
        found[type(error).__name__] = told(tf.function(fails_with), error)
    return Run(facts=found)


@program
def places(tf):
    def product(x):
        if tf.reduce_sum(x) > 0:
            y = tf.matmul(x, tf.zeros([5, 5]))
        else:
            y = x
        return y

    def calls(x):
        return product(x)

    def in_loop(x):
        for _ in tf.range(3):
            x = fails_with(ValueError("in a loop"))
        return x

    def undefined(x):
        for _ in tf.range(3):
            z = x
        return z

    def one_branch(x):
        if tf.reduce_sum(x) > 0:
            return None
        return x

    def function_inside(x):
        def inner(y):
            return y + tf.constant("a")

        return inner(x)

    def function_for_rows(x):
        return tf.map_fn(lambda row: row + tf.constant([1.0, 2.0, 3.0]), x)

    def asserts(x):
        assert not 1, "no"
        return x

    def comprehends(x):
        return [row + 1 for row in x]

    inner_function = tf.function(product)

    def calls_function(x):
        return inner_function(x)

    @tf.autograph.experimental.do_not_convert
    def left(x):
        return fails_with(ValueError("as it is"))

    def calls_left(x):
        return left(x)

    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    found = {
        function.__name__: told(tf.function(function), x)
        for function in (product, calls, in_loop, undefined, one_branch, function_inside,
                         function_for_rows, asserts, comprehends, calls_function, calls_left)
    }  # fmt: skip
    found["lambda"] = told(tf.function(lambda x: x + "a"), x)
    found["without"] = told(tf.function(product, autograph=False), x)
    return Run(facts=found)


@program
def elsewhere(tf):
    def product(x):
        return tf.matmul(x, tf.zeros([5, 5]))

    def calls(x):
        return product(x)

    class Layer(tf.keras.layers.Layer):
        def call(self, inputs):
            return product(inputs)

    class Iterating(tf.keras.layers.Layer):
        def call(self, inputs):
            return [1 for _ in inputs]

    def map_of_a_lambda():
        rows.map(lambda row: calls(row))

    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    rows = tf.data.Dataset.from_tensors(x)
    return Run(
        facts={
            "map": told(rows.map, product),
            "map of a lambda": told(map_of_a_lambda),
            "filter": told(rows.filter, calls),
            "layer": told(Layer(), x),
            "iterating layer": told(Iterating(), x)["text"],
            "to_graph": told(tf.autograph.to_graph(calls), x)["text"],
            "convert": told(tf.contrib.autograph.convert()(calls), x),
        }
    )


@program
def at_once(tf):
    def compute(tf):
        @tf.function
        def product(x):
            for _ in tf.range(2):
                x = tf.matmul(x, tf.zeros([5, 5]))
            return x

        return {"function": told(product, tf.constant([[1.0, 2.0], [3.0, 4.0]]))}

    return eagerly(tf, compute)
