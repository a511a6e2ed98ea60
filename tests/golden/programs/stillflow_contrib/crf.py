"""Conditional random fields: scores, likelihoods, decoding."""

from __future__ import annotations

import numpy as np
from tests.golden.programs.ops.nn.convolution import wave
from tests.golden.registry import Run, program


def likelihood(tf, time, dtype="int32"):
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [2, time, 3])
    tags = tf.placeholder(dtype, [2, time])
    n = tf.placeholder(dtype, [2])
    value, transitions = tf.contrib.crf.crf_log_likelihood(x, tags, n)
    wrt = [x] if time == 1 else [x, transitions]
    gradients = tf.gradients(tf.reduce_sum(value), wrt)
    decoded = tf.contrib.crf.crf_decode(x, transitions, n)
    steps = time or 4
    lengths = [steps, max(steps - 2, 1)]
    given = (np.arange(2 * steps) % 3).reshape(2, steps)
    fetches = {"value": value, "gradients": gradients, "decoded": list(decoded),
               "norm": tf.contrib.crf.crf_log_norm(x, n, transitions)}
    return Run(fetches, {x: wave(2, steps, 3), tags: given, n: lengths},
               setup=[tf.global_variables_initializer()])


@program
def likelihood_of_any_length(tf):
    return likelihood(tf, None)


@program
def likelihood_of_known_length(tf):
    return likelihood(tf, 4, "int64")


@program
def likelihood_of_one_element(tf):
    return likelihood(tf, 1)


@program
def several_tags(tf):
    x = tf.placeholder(tf.float32, [2, None, 3])
    allowed = tf.placeholder(tf.bool, [2, None, 3])
    transitions = tf.constant(wave(3, 3))
    score = tf.contrib.crf.crf_multitag_sequence_score(
        x, allowed, tf.constant([4, 2]), transitions)
    mask = np.arange(24).reshape(2, 4, 3) % 2 == 0
    return Run({"score": score}, {x: wave(2, 4, 3), allowed: mask})


@program
def viterbi(tf):
    tags, score = tf.contrib.crf.viterbi_decode(wave(5, 3), wave(3, 3))
    return Run(facts={"tags": [int(t) for t in tags], "score": float(score)})
