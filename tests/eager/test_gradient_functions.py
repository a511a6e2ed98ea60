"""Functions that give the gradients of Python functions."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.eager.gradient_functions import (
    gradients_function,
    implicit_grad,
    implicit_val_and_grad,
    make_vjp,
    val_and_grad_function,
)

pytestmark = pytest.mark.usefixtures("eager")


def test_gradients_by_all_or_some_arguments():
    def f(x, y):
        return x * x * y

    assert [g.numpy() for g in gradients_function(f)(3.0, 4.0)] == [24.0, 9.0]
    assert [g.numpy() for g in gradients_function(f, params=["y"])(3.0, 4.0)] == [9.0]
    assert [g.numpy() for g in gradients_function(f, params=[0])(3.0, 4.0)] == [24.0]


def test_one_tensor_for_two_arguments_counts_twice():
    x = tf.constant(3.0)
    assert [g.numpy() for g in gradients_function(lambda a, b: a * b)(x, x)] == [3.0, 3.0]


def test_the_value_comes_with_its_gradients():
    value, (grad,) = val_and_grad_function(lambda x: x * x)(3.0, dy=2.0)
    assert (value.numpy(), grad.numpy()) == (9.0, 12.0)
    with pytest.raises(ValueError, match="cannot receive keyword arguments"):
        val_and_grad_function(lambda x: x)(x=1.0)


def test_variables_that_are_read_are_differentiated_by():
    v, w = tf.Variable(2.0), tf.Variable(3.0, trainable=False)
    value, pairs = implicit_val_and_grad(lambda x: x * v * v * w)(1.0)
    assert value.numpy() == 12.0
    assert [(g.numpy(), variable is v) for g, variable in pairs] == [(12.0, True)]
    with pytest.raises(ValueError, match="No trainable variables were accessed"):
        implicit_grad(lambda x: x)(1.0)


def test_a_function_that_gives_nothing_is_refused():
    def nothing(x):
        return None

    with pytest.raises(ValueError, match="forget to return a value from nothing"):
        gradients_function(nothing)(1.0)


def test_products_with_a_vector_can_be_had_again():
    _, vjp = make_vjp(lambda x: x * x)(tf.constant([1.0, 2.0]))
    found = [vjp(dy=tf.constant([d, 1.0]))[0].numpy().tolist() for d in (1.0, 10.0)]
    assert found == [[2.0, 4.0], [20.0, 4.0]]
