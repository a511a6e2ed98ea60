"""Variables that functions make in their first trace, and calls of concrete functions."""

from __future__ import annotations

import re

import numpy as np
from tests.golden.registry import describe_error, eagerly, internal_module, program, raised


def numbers(values):
    return [np.asarray(value.numpy()) for value in values]


@program
def first_values(tf):
    """Values that the function computes: of arguments, variables and random numbers."""

    def compute(tf):
        made, later = [], []

        @tf.function
        def of_all_kinds(x):
            if not made:
                made.append(tf.Variable(lambda: tf.random.normal([2]), name="drawn"))
                made.append(tf.Variable(tf.random.uniform([2]) * x))
                made.append(tf.Variable(tf.random.uniform([2], seed=3), trainable=False))
                made.append(tf.Variable(made[1] * 3.0))
                made.append(tf.Variable(1.5))
                made.append(tf.compat.v1.get_variable("w", [2]))
            return made[0] * x

        @tf.function
        def changed(x, k=1.0):
            if not later:
                later.append(tf.Variable(tf.zeros_like(x) + k))
            later[0].assign_add(x)
            return later[0] * 1.0

        calls = [of_all_kinds(tf.constant(2.0)), of_all_kinds(tf.constant(3.0))]
        ones = tf.ones([2])
        calls += [changed(ones), changed(ones), changed(ones, 2.0)]
        return {
            "calls": numbers(calls), "made": numbers(made),
            "about": [[v.name, str(v.shape), v.trainable] for v in made],
        }  # fmt: skip

    return eagerly(tf, compute)


@program
def concrete_calls(tf):
    def compute(tf):
        double = tf.function(lambda a: a + a)
        number = double.get_concrete_function(tf.TensorSpec([2], tf.float32))

        def told(*args, **kwargs):
            try:
                return {"value": number(*args, **kwargs).numpy()}
            except Exception as error:
                found = describe_error(error)
                return {
                    **found,
                    "message": re.sub(r"__inference_\S*_\d+", "NAME", found["message"]),
                }

        ones = tf.ones([2])
        return {
            "fits": told(ones), "by name": told(a=ones), "another shape": told(tf.ones([3])),
            "another type": told(tf.ones([2], tf.float64)), "whole": told(tf.constant([1, 2])),
            "variable": told(tf.Variable([1.0, 2.0])), "none": told(), "unknown": told(b=ones),
        }  # fmt: skip

    return eagerly(tf, compute)


@program
def tensors_of_a_body_are_no_first_values(tf):
    def compute(tf):
        of_resource = internal_module(
            tf, "variables.resource_variable", "python.ops.resource_variable_ops"
        ).ResourceVariable

        def body():
            return raised(of_resource, tf.constant(2.0))

        found = []
        tf.contrib.eager.defun(lambda: found.append(body()), autograph=False)()
        return found[0]

    return eagerly(tf, compute)
