"""Equations solved with an operator that is known by its products."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program

RANDOM = np.random.RandomState(7)
WIDE = RANDOM.uniform(size=[5, 4])
GRAM = WIDE.T.dot(WIDE) + np.eye(4)


def _operator(tf, matrix, static=True):
    if static:
        return tf.contrib.solvers.util.create_operator(tf.constant(matrix))
    fed = tf.placeholder_with_default(matrix, [None, None])
    return tf.contrib.solvers.util.create_operator(fed)


@program
def operators(tf):
    util = tf.contrib.solvers.util
    matrix = tf.constant(WIDE)
    operator, same = util.create_operator(matrix), util.identity_operator(matrix)
    x, y = tf.constant(WIDE[:1].T), tf.constant(WIDE[:, :1])
    return Run(
        {
            "apply": operator.apply(x),
            "adjoint": operator.apply_adjoint(y),
            "same": same.apply(x),
            "shape": _operator(tf, WIDE, static=False).shape,
            "dot": util.dot(x, x),
            "complex": util.dot(tf.constant([1 + 2j, 3j]), tf.constant([2j, 1 - 1j])),
            "squared": util.l2norm_squared(x),
            "norm": util.l2norm(x),
            "normal": util.l2normalize(x),
        },
        facts={"shape": operator.shape, "fields": operator._fields, "dtype": operator.dtype.name},
    )


def _state(found):
    return dict(found._asdict())


@program
def least_squares(tf):
    solve = tf.contrib.solvers.least_squares.cgls
    found = solve(_operator(tf, WIDE), tf.constant(WIDE[:, 1] + 1), tol=1e-3)
    few = solve(_operator(tf, WIDE.astype(np.float32), static=False),
                tf.constant(WIDE[:, 0].astype(np.float32)), max_iter=2, name="few")
    return Run({"found": _state(found), "few": _state(few)}, facts={"type": type(found).__name__})


@program
def conjugate_gradient(tf):
    solve = tf.contrib.solvers.linear_equations.conjugate_gradient
    rhs = tf.constant(WIDE[0])
    operator = _operator(tf, GRAM)
    jacobi = _operator(tf, np.diag(1 / np.diag(GRAM)))
    return Run({
        "found": _state(solve(operator, rhs, tol=1e-8, max_iter=30)),
        "helped": _state(solve(operator, rhs, preconditioner=jacobi, x=tf.constant(WIDE[1]))),
        "few": _state(solve(_operator(tf, GRAM, static=False), rhs, max_iter=1, name="few")),
    })


def _bidiagonal(name, static=True, **settings):
    def bidiagonal(tf):
        lanczos = tf.contrib.solvers.lanczos
        start = tf.constant(WIDE[:, 0])
        found = lanczos.lanczos_bidiag(
            _operator(tf, WIDE, static), 3, starting_vector=start, **settings)
        left = lanczos.bidiag_matmul(found.u, found.alpha, found.beta)
        right = lanczos.bidiag_matmul(found.v, found.alpha, found.beta, adjoint_b=True)
        return Run({"found": _state(found), "left": left, "right": right},
                   facts={"type": type(found).__name__})

    bidiagonal.__name__, bidiagonal.__module__ = name, __name__
    return program(bidiagonal)


orthogonal = _bidiagonal("orthogonal")
not_orthogonal = _bidiagonal("not_orthogonal", orthogonalize=False, static=False)


@program
def random_start(tf):
    tf.set_random_seed(5)
    found = tf.contrib.solvers.lanczos.lanczos_bidiag(_operator(tf, WIDE.astype(np.float32)), 2)
    return Run({"found": _state(found)})
