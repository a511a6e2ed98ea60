"""Expectations by samples."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

SAMPLES = np.sin(np.arange(12, dtype=np.float32)).reshape([6, 2])


def _normals(tf):
    return tf.distributions.Normal(tf.constant([0.5, -1.0]), [1.0, 2.0]), tf.distributions.Normal(
        tf.constant([0.0, 0.0]), [2.0, 2.0])


@program
def importance(tf):
    p, q = _normals(tf)
    carlo = tf.contrib.bayesflow.monte_carlo
    return Run({
        "given": carlo.expectation_importance_sampler(
            lambda z: z - 0.2, p.log_prob, q, tf.constant(SAMPLES)),
        "drawn": carlo.expectation_importance_sampler(tf.square, p.log_prob, q, n=7, seed=3),
        "log": carlo.expectation_importance_sampler_logspace(
            lambda z: -tf.square(z), p.log_prob, q, SAMPLES, name="named"),
    }, facts={"both": raised(carlo.expectation_importance_sampler, tf.square, p.log_prob, q,
                             z=SAMPLES, n=2)["class"],
              "neither": raised(carlo.expectation_importance_sampler_logspace, tf.square,
                                p.log_prob, q)})


@program
def means(tf):
    mean = tf.constant([0.3, 0.7])
    p = tf.distributions.Normal(mean, [1.0, 2.0])
    carlo = tf.contrib.bayesflow.monte_carlo
    samples = tf.constant(SAMPLES) * p.scale + p.loc
    by_samples = carlo.expectation(tf.square, samples)
    by_scores = carlo.expectation(tf.square, tf.constant(SAMPLES), p.log_prob, False,
                                  axis=[0], keep_dims=True, name="scores")
    return Run({"samples": by_samples, "scores": by_scores,
                "gradients": tf.gradients(by_samples, mean) + tf.gradients(by_scores, mean)},
               facts={"function": raised(carlo.expectation, 1, samples),
                      "density": raised(carlo.expectation, tf.square, samples, None, False)})
