"""Functions that ask for XLA: operations that TensorFlow's XLA does not compile."""

from __future__ import annotations

from typing import Any

import pytest

import stillflow as tf
from stillflow.graph.eager_mode import eager_mode


def unique(x: Any) -> Any:
    return tf.unique(x)[0]


def test_an_operation_without_kernel_for_xla_is_named_with_its_function() -> None:
    with eager_mode():
        x = tf.constant([1, 2, 2])
        assert tf.function(unique, experimental_compile=False)(x).numpy().tolist() == [1, 2]
        compiled = tf.function(unique, experimental_compile=True)
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError) as raised:
                compiled(x)
    name = compiled.get_concrete_function(tf.TensorSpec([3], tf.int32)).name.decode()
    text = raised.value.message
    assert text.startswith("Function invoked by the following node is not compilable: name: ")
    assert "Unique: unsupported op\n\tStacktrace:\n\t\tNode: __inference_unique_" in text
    assert name.startswith("__inference_unique_")


def test_functions_that_are_called_are_looked_at_once() -> None:
    with eager_mode():
        function: Any = unique
        for _ in range(25):
            function = (lambda inner: tf.function(lambda x: inner(inner(x))))(function)
        outer = tf.function(lambda x: function(x) + 1, experimental_compile=True)
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            outer(tf.constant([1, 2]))
    assert raised.value.message.count(": unsupported op") == 4  # two in each innermost trace


def test_text_is_not_compiled() -> None:
    with eager_mode():
        joined = tf.function(lambda x: tf.strings.join([x, x]), experimental_compile=True)
        with pytest.raises(tf.errors.InvalidArgumentError, match="StringJoin: unsupported op"):
            joined(tf.constant("a"))


def test_other_functions_run() -> None:
    with eager_mode():
        v = tf.Variable(1.0)

        @tf.function(experimental_compile=True)
        def step(x: Any) -> Any:
            for _ in tf.range(3):
                x = x * 2.0
            return v.assign_add(x)

        assert step(tf.constant(1.0)).numpy() == 9.0


def test_graphs_take_them_and_functions_keep_the_attribute() -> None:
    with tf.Graph().as_default() as graph, tf.Session() as session:
        y = tf.function(unique, experimental_compile=True)(tf.constant([1, 1]))
        assert session.run(y).tolist() == [1]
        (definition,) = graph.as_graph_def().library.function
    assert definition.attr["_XlaCompile"].b
