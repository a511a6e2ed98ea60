"""Recomputation for gradients, and the variables behind tensors."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.graph.eager_mode import eager_mode
from stillflow.variables.custom_gradient import get_dependent_variables


def test_gradients_are_computed_from_values_computed_anew():
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.constant([1.0, 2.0])
        v = tf.get_variable("v", initializer=3.0, use_resource=True)
        y = tf.recompute_grad(lambda x: tf.exp(x) * v)(x)
        before = sum(op.type == "Exp" for op in graph.get_operations())
        of_x, of_v = tf.gradients(y, [x, v])
        assert sum(op.type == "Exp" for op in graph.get_operations()) == before + 1
        session.run(v.initializer)
        exp = np.exp([1.0, 2.0])
        np.testing.assert_allclose(session.run(of_x), 3 * exp, rtol=1e-6)
        np.testing.assert_allclose(session.run(of_v), exp.sum(), rtol=1e-6)


def test_variables_behind_the_inputs_do_not_count():
    with tf.Graph().as_default():
        outside, inside = (tf.Variable(1.0) for _ in range(2))
        fixed = tf.Variable(1.0, trainable=False)
        x = tf.identity(outside) * 5.0
        y = {"y": x + inside * fixed + tf.ones_like(tf.stop_gradient(outside))}
        assert get_dependent_variables({"x": x}, y) == [inside]


def test_bodies_of_functions_are_differentiated_by_what_they_take_from_outside():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(3.0)
        v = tf.get_variable("v", initializer=4.0, use_resource=True)

        @tf.function
        def gradients():
            return tf.gradients(x * x * v, [x, v])

        session.run(v.initializer)
        assert session.run(gradients()) == [24.0, 9.0]


def test_gradient_functions_may_have_gradients_of_their_own():
    @tf.custom_gradient
    def half(x):
        @tf.custom_gradient
        def grad(dy):
            return dy * 0.5, lambda ddx: ddx * 0.5

        return x * 0.5, grad

    assert half.__name__ == "half"
    x = tf.constant(2.0)
    first = tf.gradients(tf.square(half(x)), x)[0]
    with tf.Session() as session:
        assert session.run([first, *tf.gradients(first, x)]) == [1.0, 0.5]


def test_a_gradient_for_each_argument_is_asked_for_in_eager_execution():
    with eager_mode():
        x = tf.constant(1.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.custom_gradient(lambda value: (value + 0.0, lambda grad: []))(x)
        with pytest.raises(ValueError, match="custom_gradient function expected to return"):
            tape.gradient(y, x)
