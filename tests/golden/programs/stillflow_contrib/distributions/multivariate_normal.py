"""tf.contrib.distributions: normal distributions of vectors, and transformed ones."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

LOC = np.float32([[0.5, -1.0, 2.0], [0.0, 1.0, 0.5]])
SCALE = np.float32([[1.0, 0.5, 2.0], [0.3, 1.5, 0.7]])
POINTS = np.float32([[[0.1, 0.2, 0.3], [1, 2, 3]], [[-1, 0, 1], [0.5, 0.5, 0.5]]])


def everything(tf, d, points):
    facts = {"name": d.name, "batch": str(d.batch_shape), "event": str(d.event_shape)}
    fetches = {
        "sample": d.sample(5, seed=3), "one": d.sample(seed=4), "log_prob": d.log_prob(points),
        "prob": d.prob(points), "mean": d.mean(), "mode": d.mode(), "stddev": d.stddev(),
        "variance": d.variance(), "covariance": d.covariance(), "entropy": d.entropy(),
        "batch_shape": d.batch_shape_tensor(), "event_shape": d.event_shape_tensor(),
    }
    return fetches, facts


@program
def of_known_shape(tf):
    tf.set_random_seed(1)
    d = tf.contrib.distributions.MultivariateNormalDiag(tf.constant(LOC), tf.constant(SCALE))
    fetches, facts = everything(tf, d, tf.constant(POINTS))
    return Run(fetches, facts=facts)


@program
def of_a_policy(tf):
    """Means from a network, one deviation for all: as reinforcement learning has it."""
    tf.set_random_seed(2)
    mean = tf.placeholder(tf.float32, [None, 3])
    log_std = tf.Variable([0.1, -0.2, 0.3])
    d = tf.contrib.distributions.MultivariateNormalDiag(mean, tf.exp(log_std))
    action = d.sample(seed=5)
    log_prob = d.log_prob(mean + 0.5)
    grads = tf.gradients(tf.reduce_sum(log_prob), [mean, log_std])
    fetches = {"action": action, "log_prob": log_prob, "entropy": d.entropy(), "grads": grads}
    return Run(fetches, {mean: LOC}, setup=[tf.global_variables_initializer()])


@program
def of_unknown_rank(tf):
    loc = tf.placeholder(tf.float32)
    d = tf.contrib.distributions.MultivariateNormalDiag(loc, tf.placeholder_with_default(
        SCALE[0], None), validate_args=True)
    return Run({"log_prob": d.log_prob(POINTS[0]), "mean": d.mean(), "stddev": d.stddev()},
               {loc: LOC})


@program
def of_scales_in_other_words(tf):
    dist = tf.contrib.distributions
    tf.set_random_seed(3)
    found = {
        "identity": dist.MultivariateNormalDiag(tf.constant(LOC)),
        "scaled": dist.MultivariateNormalDiag(LOC[0], scale_identity_multiplier=[0.5, 2.0]),
        "added": dist.MultivariateNormalDiag(
            scale_diag=SCALE, scale_identity_multiplier=[0.5, 1.0], name="added"),
        "softplus": dist.MultivariateNormalDiagWithSoftplusScale(LOC, SCALE),
    }
    fetches = {}
    for name, d in found.items():
        fetches[f"{name}_log_prob"] = d.log_prob(POINTS)
        fetches[f"{name}_sample"] = d.sample([2, 1], seed=7)
        fetches[f"{name}_stddev"] = d.stddev()
    facts = {
        "shape": raised(dist.MultivariateNormalDiag),
        "sizes": raised(dist.MultivariateNormalDiag, [1.0, 2.0], [1.0, 2.0, 3.0]),
    }
    return Run(fetches, facts=facts)


@program
def divergences(tf):
    dist = tf.contrib.distributions
    a = dist.MultivariateNormalDiag(LOC, SCALE)
    b = dist.MultivariateNormalDiag(LOC * 0.5 + 1, SCALE[:1] * 2)
    return Run({"kl": tf.distributions.kl_divergence(a, b), "cross": a.cross_entropy(b)})


@program
def transformed(tf):
    dist = tf.contrib.distributions
    tf.set_random_seed(4)
    log_normal = dist.TransformedDistribution(
        tf.distributions.Normal(LOC[0], SCALE[0]), dist.bijectors.Exp(), name="LogNormal")
    y = tf.constant([0.5, 1.0, 2.0])
    of_vectors = dist.TransformedDistribution(
        tf.distributions.Normal([0.0, 1.0], [1.0, 2.0]), dist.bijectors.Exp(), event_shape=[3])
    fetches = {
        "log_prob": log_normal.log_prob(y), "prob": log_normal.prob(y), "cdf": log_normal.cdf(y),
        "log_cdf": log_normal.log_cdf(y), "survival": log_normal.survival_function(y),
        "log_survival": log_normal.log_survival_function(y),
        "quantile": log_normal.quantile([0.1, 0.5, 0.9]), "sample": log_normal.sample(4, seed=2),
        "vectors": of_vectors.sample(4, seed=2),
        "of_vectors": of_vectors.log_prob(tf.exp(tf.constant(POINTS[0]))),
    }
    facts = {"entropy": raised(log_normal.entropy), "cdf": raised(of_vectors.cdf, y),
             "shapes": [str(of_vectors.batch_shape), str(of_vectors.event_shape)],
             "taken": raised(dist.TransformedDistribution, tf.distributions.Normal([0.0], [1.0]),
                             batch_shape=[2])}
    return Run(fetches, facts=facts)


@program
def of_triangular_scale(tf):
    tf.set_random_seed(5)
    scale = np.float32([[1.0, 9.0, 9.0], [0.5, 2.0, 9.0], [-0.3, 0.2, 0.8]])
    d = tf.contrib.distributions.MultivariateNormalTriL(LOC, tf.constant(scale))
    fetches, facts = everything(tf, d, tf.constant(POINTS))
    other = tf.contrib.distributions.MultivariateNormalTriL(LOC + 1.0)
    fetches["kl"] = tf.distributions.kl_divergence(d, other)
    return Run(fetches, facts=facts)
