"""tf.contrib.integrate: differential equations solved with steps of varying length."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


@program
def decay_and_oscillation(tf):
    solve = tf.contrib.integrate.odeint
    matrix = tf.constant([[0.0, 1.0], [-1.0, -0.1]], tf.float64)
    plain, info = solve(
        lambda y, t: tf.matmul(matrix, y), tf.constant([[1.0], [0.5]], tf.float64),
        np.linspace(0.0, 3.0, 4), full_output=True, name="spring",
    )  # fmt: skip
    turning = solve(
        lambda y, t: 1j * y,
        tf.constant(1.0 + 2.0j, tf.complex64),
        [0.0, 0.5, 1.0],
        rtol=1e-4,
        method="dopri5",
        options={"first_step": 0.1, "safety": 0.8},
    )
    y0 = tf.constant(2.0)
    grown = solve(lambda y, t: y * tf.cast(t, y.dtype), y0, tf.constant([0.0, 1.0]))
    facts = {
        "shapes": [str(plain.shape), str(turning.shape), str(grown.shape)],
        "refused": [
            raised(solve, lambda y, t: y, 1.0, [0.0, 1.0], method="euler"),
            raised(solve, lambda y, t: y, 1.0, [0.0, 1.0], options={"first_step": 1.0}),
            raised(solve, lambda y, t: y, 1, [0.0, 1.0]),
            raised(solve, lambda y, t: y, 1.0, tf.constant([0, 1])),
        ],
    }
    return Run({"plain": plain, "info": info, "turning": turning, "grown": grown}, facts=facts)


@program
def refused_at_run_time(tf):
    solve = tf.contrib.integrate.odeint
    backwards = solve(lambda y, t: -y, 1.0, [1.0, 0.0])
    few = solve(lambda y, t: -y, 1.0, [0.0, 9.0], method="dopri5", options={"max_num_steps": 2})
    return [Run({"y": backwards}, fails=True), Run({"y": few}, fails=True)]
