"""tf.contrib.nn: softmax over samples of classes, softplus of any softness, transposed series."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

WEIGHTS = np.random.RandomState(1).randn(6, 3).astype("float32")
INPUTS = np.random.RandomState(2).randn(4, 3).astype("float32")
BIASES = np.float32([0.1, -0.2, 0.3, 0.0, 0.5, -0.4])
LABELS = np.int64([[1], [0], [5], [3]])
SAMPLED = (np.int64([4, 2, 0, 3]), np.float32([[0.5], [0.4], [0.3], [0.2]]),
           np.float32([0.9, 0.8, 0.7, 0.6]))  # fmt: skip


def sampled(tf):
    return tuple(tf.constant(each) for each in SAMPLED)


@program
def sparse_labels(tf):
    tf.set_random_seed(3)
    loss = tf.contrib.nn.sampled_sparse_softmax_loss
    weights, biases = tf.Variable(WEIGHTS), tf.Variable(BIASES)
    labels, inputs = tf.constant(LABELS), tf.constant(INPUTS)
    given = loss(weights, biases, labels, inputs, 4, 6, sampled(tf))
    drawn = loss(weights, biases, labels, inputs, 3, 6, remove_accidental_hits=False,
                 partition_strategy="div", name="drawn")  # fmt: skip
    fetches = {"given": given, "drawn": drawn, "grads": tf.gradients(given, [weights, biases])}
    return Run(fetches, setup=[tf.global_variables_initializer()])


@program
def of_the_likeliest(tf):
    tf.set_random_seed(4)
    loss = tf.contrib.nn.rank_sampled_softmax_loss
    parts = [tf.Variable(WEIGHTS[:3]), tf.Variable(WEIGHTS[3:])]
    biases, inputs = tf.constant(BIASES), tf.constant(INPUTS)
    labels = tf.constant(LABELS)

    def of(strategy, values, temperature, hits, name=None, weights=None):
        return loss(weights or parts, biases, labels, inputs, 4, 2, 6, 1, values, temperature,
                    hits, strategy, name)  # fmt: skip

    whole = tf.constant(WEIGHTS)
    given = of("mod", sampled(tf), 2.0, False)
    fetches = {"given": given, "div": of("div", sampled(tf), 0.5, True, "div"),
               "whole": loss(whole, biases, labels, inputs, 4, 3, 6, 1, sampled(tf), 1.0, True,
                             "mod"),
               "grads": [tf.convert_to_tensor(each) for each in tf.gradients(given, parts)],
               }  # fmt: skip
    return Run(fetches, setup=[tf.global_variables_initializer()], facts={
        "drawn": str(of("mod", None, 1.0, True, "drawn").shape),
        "sampled": raised(loss, whole, biases, labels, inputs, 7, 2, 6, 1, None, 1.0, True, "mod"),
        "kept": raised(loss, whole, biases, labels, inputs, 4, 4, 6, 1, None, 1.0, True, "mod"),
        "strategy": raised(loss, whole, biases, labels, inputs, 4, 2, 6, 1, None, 1.0, True, "x"),
    })  # fmt: skip


@program
def softplus(tf):
    softplus = tf.contrib.nn.scaled_softplus
    x = tf.constant([[-5.0, -0.5, 0.0], [0.5, 2.0, 9.0]])
    alpha = tf.constant([0.5, 1.0, 4.0])
    clip = tf.constant(3.0)
    double = tf.constant([1.0, -2.0], tf.float64)
    plain, clipped = softplus(x, alpha), softplus(x, alpha, clip, name="clipped")
    fetches = {"plain": plain, "clipped": clipped, "numbers": softplus(x, 2.0, 1.0),
               "double": softplus(double, 0.7),
               "grads": tf.gradients(plain, [x, alpha]),
               "clipped_grads": tf.gradients(clipped, [x, alpha, clip])}  # fmt: skip
    return Run(fetches, facts={"shape": str(plain.shape)})


@program
def transposed_series(tf):
    x = tf.constant(np.arange(12, dtype="float32").reshape(1, 4, 3))
    filters = tf.constant(np.arange(12, dtype="float32").reshape(2, 2, 3))
    wide = tf.contrib.nn.conv1d_transpose(x, filters, [1, 8, 2], 2)
    return Run({"wide": wide})


@program
def zeros_once(tf):
    zero = tf.contrib.framework.zero_initializer
    v, i = tf.get_variable("v", [2, 3]), tf.get_variable("i", [2], tf.int32)
    r = tf.get_variable("r", [2], use_resource=True)
    made = [zero(v), zero(i, name="ints"), zero(r)]
    text = tf.get_variable("s", initializer=tf.constant("s"))
    return Run({"v": v, "i": i, "r": r.read_value()}, setup=[tf.group(*made)], facts={
        "names": [each.name for each in made], "dtypes": [str(each.dtype) for each in made],
        "text": raised(zero, text), "tensor": raised(zero, tf.zeros([2])),
    })  # fmt: skip


@program
def zeros_twice(tf):
    v = tf.get_variable("v", [2, 3])
    zero = tf.contrib.framework.zero_initializer(v)
    return Run({"v": zero}, setup=[v.initializer], fails=True)


@program
def zeros_twice_of_resources(tf):
    v = tf.get_variable("v", [2, 3], use_resource=True)
    zero = tf.contrib.framework.zero_initializer(v)
    with tf.control_dependencies([zero]):
        read = v.read_value()
    return Run({"v": read}, setup=[v.initializer], fails=True)


@program
def fixed_steps(tf):
    solve = tf.contrib.integrate.odeint_fixed
    matrix = tf.constant([[0.0, 1.0], [-1.0, -0.1]], tf.float64)
    times = np.linspace(0.0, 3.0, 4)
    start = tf.constant([[1.0], [0.5]], tf.float64)
    spring = solve(lambda y, t: tf.matmul(matrix, y), start, times, [0.3, 0.5, 1.0])
    middle = solve(lambda y, t: tf.matmul(matrix, y), start, times, method="midpoint", name="mid")
    turning = solve(lambda y, t: 1j * y, tf.constant(1.0 + 2.0j, tf.complex64), [0.0, 0.5, 1.0])
    grown = solve(lambda y, t: y * tf.cast(t, y.dtype), tf.constant(2.0), tf.constant([0.0, 1.0]))
    return Run({"spring": spring, "middle": middle, "turning": turning, "grown": grown}, facts={
        "shapes": [str(each.shape) for each in (spring, middle, turning, grown)],
        "method": raised(solve, lambda y, t: y, 1.0, [0.0, 1.0], method="euler"),
        "whole": raised(solve, lambda y, t: y, 1, [0.0, 1.0]),
        "times": raised(solve, lambda y, t: y, 1.0, tf.constant([0, 1])),
        "dt": raised(solve, lambda y, t: y, 1.0, [0.0, 1.0], tf.constant([1])),
        "lengths": raised(solve, lambda y, t: y, 1.0, [0.0, 1.0, 2.0], [[0.1, 0.1]]),
    })  # fmt: skip
