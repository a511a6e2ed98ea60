"""Learning-rate schedules and clipping."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


def over_steps(tf, build):
    """Rates at several global steps; build(step) gives a dict of rates."""
    step = tf.placeholder(tf.int64, [], name="step")
    return Run(build(step), [{step: s} for s in (0, 1, 5, 10, 25, 100)], steps=6)


@program
def exponential_decays(tf):
    train = tf.train

    def build(step):
        return {
            "exponential": train.exponential_decay(0.1, step, 10, 0.96),
            "staircase": train.exponential_decay(0.1, step, 10, 0.5, staircase=True),
            "natural": train.natural_exp_decay(0.1, step, 10, 0.5),
            "natural_staircase": train.natural_exp_decay(0.1, step, 10, 0.5, staircase=True),
            "inverse": train.inverse_time_decay(0.1, step, 10, 0.5),
            "inverse_staircase": train.inverse_time_decay(0.1, step, 10, 0.5, staircase=True),
        }

    return over_steps(tf, build)


@program
def polynomial_and_piecewise(tf):
    train = tf.train

    def build(step):
        return {
            "polynomial": train.polynomial_decay(0.1, step, 20),
            "power": train.polynomial_decay(0.1, step, 20, 0.01, power=2.0),
            "cycle": train.polynomial_decay(0.1, step, 8, 0.01, power=0.5, cycle=True),
            "piecewise": train.piecewise_constant(step, [5, 10], [1.0, 0.5, 0.1]),
            "piecewise_floats": train.piecewise_constant(
                tf.to_float(step), boundaries=[5.0, 50.0], values=[3.0, 2.0, 1.0], name="steps"),
        }

    return over_steps(tf, build)


@program
def cosine_decays(tf):
    train = tf.train

    def build(step):
        return {
            "cosine": train.cosine_decay(0.1, step, 20),
            "alpha": train.cosine_decay(0.1, step, 20, alpha=0.1),
            "restarts": train.cosine_decay_restarts(0.1, step, 10, t_mul=2.0, m_mul=0.9),
            "linear_cosine": train.linear_cosine_decay(0.1, step, 20, num_periods=1.0),
        }

    return over_steps(tf, build)


@program
def noisy_cosine_decay(tf):
    tf.set_random_seed(1)

    def build(step):
        return {"noisy": tf.train.noisy_linear_cosine_decay(0.1, step, 20)}

    return over_steps(tf, build)


@program
def schedules_of_variables(tf):
    step = tf.train.get_or_create_global_step()
    ref = tf.Variable(7, trainable=False, name="ref")
    tensor = tf.placeholder(tf.float32, [])
    fetches = {
        "exponential": tf.train.exponential_decay(tensor, step, 10, 0.9),
        "int32": tf.train.exponential_decay(0.1, ref, 10, 0.9),
        "piecewise": tf.train.piecewise_constant(ref, [5, 9], [1.0, 0.5, 0.1]),
    }
    facts = {
        "no_step": raised(tf.train.exponential_decay, 0.1, None, 10, 0.9),
        "lengths": raised(tf.train.piecewise_constant, ref, [5, 9], [1.0, 0.5]),
        "types": raised(tf.train.piecewise_constant, ref, [5.5, 9.0], [1.0, 0.5, 0.1]),
    }
    return Run(fetches, {tensor: 0.5}, setup=[tf.global_variables_initializer()],
               train=[tf.assign_add(step, 4)], steps=3, facts=facts)


@program
def clipping(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.clip_by_norm(x, 2.0)
    value = tf.clip_by_value(x, -1.0, 1.5)
    low = tf.constant([-1.0, 0.0, 1.0])
    fetches = {
        "value": value,
        "value_tensors": tf.clip_by_value(x, low, low + 1.0),
        "norm": y,
        "rows": tf.clip_by_norm(x, 1.0, axes=[1]),
        "average": tf.clip_by_average_norm(x, 0.5),
        "global": tf.clip_by_global_norm([x, None, x * 2.0], 1.0)[0][::2],
        "given": tf.clip_by_global_norm([x], 1.0, use_norm=tf.constant(4.0)),
        "ints": tf.clip_by_value([1, 5, 9], 2, 6),
        "gradients": tf.gradients([y, value], x),
        "below": tf.clip_by_norm(x, 1000.0),
    }
    facts = {"shapes": raised(tf.clip_by_value, tf.ones([3]), tf.ones([2]), 1.0),
             "not_list": raised(tf.clip_by_global_norm, x, 1.0)}
    feeds = [{x: [[3.0, -4.0, 0.5], [0.0, 1.0, 0.0]]}, {x: np.zeros([1, 3])}]
    return Run(fetches, feeds, steps=2, facts=facts)


@program
def global_norm_that_is_not_finite(tf):
    x = tf.placeholder(tf.float32, [2])
    clipped, norm = tf.clip_by_global_norm([x], 1.0)
    slices = tf.IndexedSlices(tf.constant([[3.0, 4.0]]), tf.constant([1]), tf.constant([3, 2]))
    sparse, sparse_norm = tf.clip_by_global_norm([slices], 1.0)
    return Run({"clipped": clipped, "norm": norm, "sparse": sparse, "sparse_norm": sparse_norm,
                "by_norm": tf.clip_by_norm(slices, 2.5)}, {x: [np.inf, 1.0]})


@program
def limits_and_factors_that_are_tensors(tf):
    tf.set_random_seed(1)
    train, x = tf.train, tf.placeholder(tf.float32, [])
    step = train.get_or_create_global_step()
    v = tf.Variable(0.5, name="v")
    rates = {
        "cosine": train.cosine_decay(0.1, step, 20, alpha=x),
        "restarts": train.cosine_decay_restarts(0.1, step, 10, t_mul=x + 2.0, m_mul=x, alpha=v),
        "linear": train.linear_cosine_decay(0.1, step, 20, num_periods=x, alpha=v, beta=x),
        "noisy": train.noisy_linear_cosine_decay(
            0.1, step, 20, initial_variance=x * 0.0, num_periods=v, alpha=x, beta=v
        ),
        "polynomial": train.polynomial_decay(0.1, step, 20, end_learning_rate=x, power=v),
        "exponential": train.exponential_decay(v, step, x * 10.0, x, staircase=True),
        "natural": train.natural_exp_decay(x, step, 20, v),
        "inverse": train.inverse_time_decay(0.1, step, x, v),
    }
    return Run(rates, {x: 0.25}, setup=[tf.global_variables_initializer(), step.assign(7)])
