"""tf.contrib.opt: optimizers that scale gradients by roots of matrices."""

from __future__ import annotations

from importlib import import_module

import numpy as np
from tests.golden.registry import Run, program, raised

_MATRIX_FUNCTIONS = "tensorflow.contrib.opt.python.training.matrix_functions"


def train(tf, optimizer, resource=False, steps=3, step=None):
    """Trains a vector, a matrix and a tensor of rank 3."""
    v = tf.get_variable("v", initializer=tf.constant([1.0, -2.0, 0.5]), use_resource=resource)
    w = tf.get_variable(
        "w",
        initializer=tf.constant(np.linspace(-1, 1, 6, dtype=np.float32).reshape(3, 2)),
        use_resource=resource,
    )
    t = tf.get_variable(
        "t",
        initializer=tf.constant(np.cos(np.arange(12, dtype=np.float32)).reshape(2, 3, 2)),
        use_resource=resource,
    )
    x = tf.constant([[1.0, 2.0, -1.0], [0.5, -0.5, 1.5]])
    loss = tf.reduce_sum(tf.square(tf.matmul(x * v, w) - [1.0, -1.0]))
    loss += tf.reduce_sum(tf.square(tf.tensordot(x, t, [[0, 1], [0, 1]]) + v[0]))
    update = optimizer.minimize(loss, step)
    slots = optimizer.get_slot_names()
    return Run(
        {"v": v, "w": w, "t": t},
        setup=[tf.global_variables_initializer()],
        train=update,
        steps=steps,
        facts={"slots": slots, "variables": [each.name for each in tf.global_variables()]},
    )


@program
def ggt(tf):
    return train(tf, tf.contrib.opt.GGTOptimizer(0.05, window=3, svd_eps=0.1), steps=5)


@program
def ggt_resource(tf):
    step = tf.train.get_or_create_global_step()
    optimizer = tf.contrib.opt.GGTOptimizer(
        0.05, 0.5, name="G", window=2, eps=1e-2, svd_eps=0.5, sigma_eps=0.1
    )
    return train(tf, optimizer, resource=True, step=step)


@program
def shampoo(tf):
    return train(tf, tf.contrib.opt.ShampooOptimizer(learning_rate=0.1, epsilon=0.1), steps=4)


@program
def shampoo_resource(tf):
    step = tf.train.get_or_create_global_step()
    optimizer = tf.contrib.opt.ShampooOptimizer(
        step,
        gbar_decay=0.5,
        gbar_weight=0.5,
        mat_gbar_decay=0.9,
        mat_gbar_weight=0.1,
        learning_rate=lambda number: 0.1 / number,
        epsilon=0.1,
        alpha=1.0,
        name="S",
    )
    return train(tf, optimizer, resource=True, step=step)


@program
def shampoo_now_and_then(tf):
    step = tf.train.get_or_create_global_step()
    optimizer = tf.contrib.opt.ShampooOptimizer(
        step,
        learning_rate=0.01,
        svd_interval=3,
        precond_update_interval=2,
        epsilon=0.1,
        gbar_decay=lambda number: 0.1 * number,
        mat_gbar_weight=lambda number: 1.0 / number,
    )
    return train(tf, optimizer, step=step, steps=6)


@program
def shampoo_diagonal(tf):
    optimizer = tf.contrib.opt.ShampooOptimizer(
        max_matrix_size=2, learning_rate=0.1, mat_gbar_decay=0.5
    )
    return train(tf, optimizer)


# The summed products of `v` have a condition of 3,200, and their inverse square root times the
# gradient is at most the square root of its size, 3. TensorFlow is 5e-6 from double precision.
@program(atol=7e-5, reason="rate 0.1 * sqrt(3) * condition 3,200 * 2 ** -23")
def shampoo_iterative(tf):
    optimizer = tf.contrib.opt.ShampooOptimizer(
        learning_rate=0.1, use_iterative_root=True, epsilon=1e-2
    )
    return train(tf, optimizer)


def rows(tf, optimizer, resource):
    table = tf.get_variable(
        "table",
        use_resource=resource,
        initializer=tf.constant(np.linspace(-1, 1, 8, dtype=np.float32).reshape(4, 2)),
    )
    loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, [0, 2, 2]) - 0.5))
    update = optimizer.minimize(loss)
    return Run({"table": table}, setup=[tf.global_variables_initializer()], train=update, steps=3)


@program
def shampoo_rows(tf):
    return rows(tf, tf.contrib.opt.ShampooOptimizer(learning_rate=0.1, max_matrix_size=3), False)


@program
def shampoo_rows_resource(tf):
    return rows(tf, tf.contrib.opt.ShampooOptimizer(learning_rate=0.1, max_matrix_size=3), True)


@program
def shampoo_rows_made_dense(tf):
    return rows(tf, tf.contrib.opt.ShampooOptimizer(learning_rate=0.1), False)


@program(rtol=1e-4, reason="iterations of products of matrices with their rounding")
def roots(tf):
    matrix_functions = import_module(
        "stillflow_contrib.opt.matrix_functions"
        if "stillflow" in tf.__name__
        else _MATRIX_FUNCTIONS
    )
    factor = np.sin(np.arange(9, dtype=np.float32)).reshape(3, 3)
    matrix = tf.constant(factor.dot(factor.T) + np.eye(3, dtype=np.float32))
    one = tf.constant([[4.0]])
    return Run(
        {
            "square": matrix_functions.matrix_square_root(matrix, 3),
            "square_damped": matrix_functions.matrix_square_root(matrix, 3, 5, 0.1),
            "fourth": matrix_functions.matrix_inverse_pth_root(matrix, 3, -0.25),
            "third": matrix_functions.matrix_inverse_pth_root(
                matrix, 3, -1.0 / 3, ridge_epsilon=0.1
            ),
            "of_one": matrix_functions.matrix_inverse_pth_root(one, 1, -0.5),
        },
        facts={"no power": raised(matrix_functions.matrix_inverse_pth_root, matrix, 3, -0.4)},
    )
