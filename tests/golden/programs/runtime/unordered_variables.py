"""Variables that a run reads and writes without saying which comes first.

TensorFlow's answer depends on what is ready first, now and then on which thread wakes up first: on
record is what most of eleven sessions say.
"""

from __future__ import annotations

import collections

import numpy as np
from tests.golden.registry import Run, program

LABELS = np.array([[0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1]], np.int64)
GUESSES = np.array([[0, 1, 0, 1], [1, 1, 1, 0], [0, 0, 0, 1]], np.int64)


def usual(tf, fetch, update, feeds=({},) * 3):
    """Return the value of `fetch` with `update`, step by step, in most of eleven sessions."""
    seen = collections.Counter()
    for _ in range(11):
        with tf.Session() as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            seen[tuple(session.run([fetch, update], feed)[0] for feed in feeds)] += 1
    return Run(facts={"usual": list(seen.most_common(1)[0][0])})


def network(tf):
    h = tf.ones([16, 32]) * tf.random_uniform([], seed=1)
    for number in range(3):
        weights = tf.constant_initializer(0.01 + 0.001 * number)
        h = tf.layers.dense(h, 32, kernel_initializer=weights, name=f"dense{number}")
    return tf.reduce_mean(tf.square(h - 1.0))


def guesses_of_a_model(tf):
    labels, guesses = (tf.placeholder(tf.int64, [None], name=n) for n in ("labels", "guesses"))
    h = tf.one_hot(guesses, 4)
    for _ in range(3):
        h = tf.matmul(h, tf.Variable(tf.eye(4)))
    feeds = [{labels: a, guesses: b} for a, b in zip(LABELS, GUESSES)]
    return labels, tf.argmax(h, 1), feeds


def weights_that_grow(tf, loss):
    """Return the last bias, and an operation that adds one to it once the loss is there."""
    bias = tf.trainable_variables()[-1]
    growth = [(-tf.ones_like(bias) * (1.0 + 0.0 * loss), bias)]
    return bias, tf.train.GradientDescentOptimizer(1.0).apply_gradients(growth)


@program
def accuracy_beside_its_update(tf):
    labels, guesses, feeds = guesses_of_a_model(tf)
    accuracy, update = tf.metrics.accuracy(labels, guesses)
    return usual(tf, accuracy, update, feeds)


@program
def squared_error_of_what_is_fed_beside_its_update(tf):
    labels, guesses = (tf.placeholder(tf.int64, [None], name=n) for n in ("labels", "guesses"))
    numbers = [tf.cast(each, tf.float32) for each in (labels, guesses)]
    value, update = tf.metrics.mean_squared_error(*numbers)
    feeds = [{labels: a, guesses: b} for a, b in zip(LABELS, GUESSES)]
    return usual(tf, value, update, feeds)


@program
def summary_of_an_average_beside_its_update(tf):
    loss = network(tf) * 0.0 + 1.0
    averages = tf.train.ExponentialMovingAverage(0.5)
    update = averages.apply([loss])
    summary = tf.summary.scalar("loss", averages.average(loss))
    return usual(tf, summary, update)


@program
def average_of_a_loop_beside_its_update(tf):
    x = tf.random_uniform([4, 6, 3], seed=1)
    _, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(3), x, dtype=tf.float32)
    loss = tf.reduce_mean(state) * 0.0 + 1.0
    averages = tf.train.ExponentialMovingAverage(0.5)
    update = averages.apply([loss])
    return usual(tf, averages.average(loss) * 2.0, update)


def rate_beside_a_step(tf, **options):
    loss = network(tf)
    step = tf.get_variable("step", [], tf.int64, tf.zeros_initializer(), trainable=False, **options)
    rate = tf.train.polynomial_decay(1.0, step, 10, 0.0)
    train = tf.train.GradientDescentOptimizer(0.01 * rate).minimize(loss)
    train = tf.group(train, [step.assign(step + 1)])
    return usual(tf, rate, train)


@program
def rate_beside_a_step_as_in_bert(tf):
    return rate_beside_a_step(tf)


@program
def rate_beside_a_step_in_a_resource(tf):
    return rate_beside_a_step(tf, use_resource=True)


@program
def norm_of_weights_made_after_their_update(tf):
    bias, train = weights_that_grow(tf, network(tf))
    return usual(tf, tf.norm(bias), train)


@program
def a_decay_created_after_the_model(tf):
    x = tf.placeholder(tf.float32, [None, 5])
    first, second = (
        tf.get_variable(name, initializer=np.ones(shape, "f"), use_resource=True)
        for name, shape in (("first", (5, 3)), ("second", (3, 1)))
    )
    loss = tf.reduce_mean(tf.square(tf.matmul(tf.matmul(x, first), second)))
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss)
    decays = [v.assign_sub(0.5 * v).op for v in (first, second)]
    return usual(tf, loss, tf.group(train, *decays), [{x: np.ones((4, 5), "f")}])
