"""Jacobians of functions of arrays, in theory and by differences."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import InternalNames, Run, internal_module, program, raised


@program(rtol=1e-2, atol=1e-3, reason="differences of single precision by steps of 1e-3")
def jacobians_at_once(tf):
    checker = InternalNames(tf, "python.ops.gradient_checker_v2")
    context = internal_module(tf, "graph.eager_mode", "python.eager.context")
    with tf.Graph().as_default(), context.eager_mode():
        x, y = np.float32([[1.0, 2.0], [3.0, 0.5]]), np.float32([1.0, -2.0])
        theory, by_steps = checker.compute_gradient(lambda a, b: tf.sin(a) * b, [x, y])
        doubled = list(
            checker.compute_gradient(lambda a: 2.0 * a, [tf.constant([1.0, 4.0])], delta=0.5)
        )
        error = checker.max_error(theory, by_steps)
        refused = raised(checker.compute_gradient, tf.sin, x)["class"]
    return Run(facts={"theory": theory, "differences": by_steps, "doubled": doubled,
                      "small": bool(error < 1e-2), "refused": refused})


@program(rtol=1e-2, atol=1e-3, reason="differences of single precision by steps of 1e-3")
def jacobians_in_a_graph(tf):
    checker = InternalNames(tf, "python.ops.gradient_checker_v2")
    with tf.Graph().as_default(), tf.Session():
        x = np.float32([[1.0, 2.0]])
        theory, by_steps = checker.compute_gradient(lambda a: tf.nn.l2_loss(a), [x])
    return Run(facts={"theory": theory, "differences": by_steps})
