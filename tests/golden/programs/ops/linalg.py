"""tf.linalg: decompositions, solvers, diagonals, with gradients."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

A = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 2.0]], np.float32)
BATCH = np.stack([A, A + np.diag([1.0, 2.0, 3.0]).astype(np.float32)])
RIGHT = np.array([[1.0, 2.0], [0.0, -1.0], [3.0, 0.5]], np.float32)
LAST_DIGITS = "factorisations of different LAPACKs differ in the last digits"


@program(rtol=1e-4, atol=1e-5, reason=LAST_DIGITS)
def determinants_and_inverses(tf):
    a = tf.placeholder(tf.float32, [None, 3, 3])
    fetches = {
        "determinant": tf.matrix_determinant(a),
        "linalg_det": tf.linalg.det(a[0]),
        "slogdet": tf.linalg.slogdet(a),
        "logdet": tf.linalg.logdet(a),
        "inverse": tf.matrix_inverse(a),
        "adjoint": tf.linalg.inv(a, adjoint=True),
        "gradients": tf.gradients(tf.matrix_inverse(a), a),
        "determinant_gradient": tf.gradients(tf.matrix_determinant(a), a),
        "logdet_gradient": tf.gradients(tf.linalg.logdet(a), a),
    }
    return [Run(fetches, {a: BATCH}),
            Run({"inverse": tf.matrix_inverse(a)}, {a: np.ones([1, 3, 3])}, fails=True)]


@program(rtol=1e-4, atol=1e-5, reason=LAST_DIGITS)
def cholesky(tf):
    a = tf.placeholder(tf.float32, [None, 3, 3])
    b = tf.constant(np.stack([RIGHT, RIGHT]))
    factor = tf.cholesky(a)
    fetches = {
        "factor": factor,
        "solve": tf.cholesky_solve(factor, b),
        "gradient": tf.gradients(factor * factor * factor, a),
        "double": tf.cholesky(tf.constant(A.astype(np.float64))),
    }
    facts = {"rank": raised(tf.cholesky, tf.ones([3])), "square": raised(
        tf.cholesky, tf.ones([2, 3]))}
    return [Run(fetches, {a: BATCH}, facts=facts),
            Run({"factor": factor}, {a: -BATCH}, fails=True)]


@program(rtol=1e-4, atol=1e-5, reason=LAST_DIGITS)
def solvers(tf):
    a, b = tf.placeholder(tf.float32, [3, 3]), tf.placeholder(tf.float32, [3, None])
    lower = tf.matrix_band_part(a, -1, 0)
    solved = tf.matrix_solve(a, b)
    triangular = tf.matrix_triangular_solve(lower, b)
    fetches = {
        "solve": solved,
        "adjoint": tf.matrix_solve(a, b, adjoint=True),
        "triangular": triangular,
        "upper": tf.linalg.triangular_solve(tf.transpose(lower), b, lower=False),
        "triangular_adjoint": tf.matrix_triangular_solve(lower, b, adjoint=True),
        "least_squares": tf.matrix_solve_ls(a[:, :2], b, l2_regularizer=0.1),
        "least_squares_slow": tf.matrix_solve_ls(a[:, :2], b, fast=False),
        "gradients": tf.gradients(solved * solved, [a, b]),
        "triangular_gradients": tf.gradients(triangular * triangular, [a, b]),
    }
    return Run(fetches, {a: A, b: RIGHT})


@program(rtol=1e-4, atol=1e-5, reason=LAST_DIGITS)
def solvers_of_unknown_rank(tf):
    unknown = tf.placeholder(tf.float32)
    a, right = tf.placeholder(tf.float32, [None, 3, 3]), tf.placeholder(tf.float32, [2, None, 2])
    fetches = {
        "matrix": tf.linalg.solve(unknown, right),
        "right": tf.linalg.solve(a, unknown),
        "both": tf.linalg.solve(unknown, unknown),
        "triangular": tf.linalg.triangular_solve(unknown, right),
    }
    return Run(fetches, {unknown: BATCH, a: BATCH, right: np.stack([RIGHT, RIGHT])})


@program(rtol=1e-3, atol=1e-4, reason=LAST_DIGITS)
def eigenvalues(tf):
    a = tf.placeholder(tf.float32, [None, 3, 3])
    values, vectors = tf.self_adjoint_eig(a)
    rebuilt = tf.matmul(vectors * values[:, tf.newaxis, :], vectors, transpose_b=True)
    fetches = {
        "values": values,
        "only_values": tf.self_adjoint_eigvals(a),
        "rebuilt": rebuilt,
        "magnitudes": tf.abs(vectors),
        "gradient": tf.gradients(values * values, a),
        "vector_gradient": tf.gradients(tf.square(vectors) * tf.range(3.0), a),
    }
    return Run(fetches, {a: BATCH})


@program(rtol=1e-3, atol=1e-4, reason=LAST_DIGITS)
def singular_values(tf):
    a = tf.placeholder(tf.float32, [3, 2])
    s, u, v = tf.svd(a)
    rebuilt = tf.matmul(u * s, v, transpose_b=True)
    fetches = {
        "s": s,
        "only_values": tf.svd(a, compute_uv=False),
        "rebuilt": rebuilt,
        "full": tf.shape(tf.svd(a, full_matrices=True)[1]),
        "gradient": tf.gradients(s * s, a),
        "pinv": tf.linalg.pinv(a),
        "magnitudes": [tf.abs(u), tf.abs(v)],
    }
    return Run(fetches, {a: RIGHT})


@program(rtol=1e-3, atol=1e-4, reason=LAST_DIGITS)
def qr_and_lu(tf):
    a = tf.placeholder(tf.float32, [None, 3, 3])
    q, r = tf.qr(a)
    lu, permutation = tf.linalg.lu(a)
    fetches = {"rebuilt": tf.matmul(q, r), "r": tf.abs(r), "lu": lu, "permutation": permutation,
               "gradient": tf.gradients(tf.matmul(q, r) * r * r, a),
               "full": tf.shape(tf.linalg.qr(tf.constant(RIGHT), full_matrices=True).q)}
    return Run(fetches, {a: BATCH})


@program
def diagonals(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    m = tf.placeholder(tf.float32, [None, 3, 3])
    fetches = {
        "diag": tf.diag([1, 2, 3]),
        "diag_part": tf.diag_part(tf.constant(A)),
        "diag_matrix": tf.diag(tf.constant([[1.0, 2.0], [3.0, 4.0]])),
        "matrix_diag": tf.matrix_diag(x),
        "matrix_diag_part": tf.matrix_diag_part(m),
        "matrix_set_diag": tf.matrix_set_diag(m, x),
        "tensor_diag": tf.linalg.tensor_diag([1.0, 2.0]),
        "trace": tf.trace(m),
        "band": tf.matrix_band_part(m, 1, 0),
        "lower": tf.matrix_band_part(m, -1, 0),
        "upper": tf.linalg.band_part(m, 0, -1),
        "gradients": tf.gradients(
            [tf.matrix_set_diag(m, x) * m, tf.matrix_diag(x) * m, tf.matrix_band_part(m, 0, 1) * m,
             tf.matrix_diag_part(m) * x], [x, m]),
        "diag_gradient": tf.gradients(tf.diag(x[0]) * m[0], x),
    }
    return Run(fetches, {x: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], m: BATCH})


@program
def diagonals_of_rectangles(tf):
    wide = tf.constant(np.arange(6, dtype=np.float32).reshape(2, 3))
    fetches = {"part": tf.matrix_diag_part(wide), "set": tf.matrix_set_diag(wide, [10.0, 20.0]),
               "eye": tf.eye(2, 3), "transposed": tf.matrix_transpose(wide),
               "matvec": tf.linalg.matvec(wide, [1.0, 2.0, 3.0]),
               "cross": tf.linalg.cross([1.0, 0.0, 0.0], [0.0, 1.0, 0.0]),
               "norm": tf.linalg.norm(wide, axis=[0, 1])}
    facts = {"square": raised(tf.diag_part, wide),
             "set": raised(tf.matrix_set_diag, wide, [1.0, 2.0, 3.0])}
    return Run(fetches, facts=facts)


@program(rtol=1e-4, atol=1e-5, reason=LAST_DIGITS)
def linear_operators(tf):
    operator = tf.linalg.LinearOperatorLowerTriangular(tf.constant(A))
    diagonal = tf.linalg.LinearOperatorDiag([1.0, 2.0, 4.0])
    fetches = {
        "dense": operator.to_dense(),
        "matmul": operator.matmul(RIGHT),
        "solve": operator.solve(RIGHT),
        "determinant": [operator.determinant(), diagonal.log_abs_determinant()],
        "matvec": diagonal.matvec([1.0, 2.0, 3.0]),
    }
    return Run(fetches, facts={"shape": str(operator.shape)})


@program(rtol=1e-4, atol=1e-5, reason=LAST_DIGITS)
def exponential_and_roots_of_matrices(tf):
    a = tf.constant(A / 4.0)
    return Run({"expm": tf.linalg.expm(a), "sqrtm": tf.matrix_square_root(tf.constant(A)),
                "logm": tf.real(tf.linalg.logm(tf.cast(a, tf.complex64)))})


@program
def functions_of_matrices_without_eigenvectors(tf):
    blocks = np.float64([[[1, 1], [0, 1]], [[4, 1], [0, 4]], [[2, 1], [0, 3]]])
    wide = np.float64([[4, 1, 0], [0, 4, 1], [0, 0, 4]])
    return Run({
        "roots": tf.linalg.sqrtm(tf.constant(blocks)), "root": tf.linalg.sqrtm(tf.constant(wide)),
        "of complex": tf.linalg.sqrtm(tf.constant(blocks * 1j)),
        "logarithms": tf.linalg.logm(tf.constant(blocks + 0j)),
        "logarithm": tf.linalg.logm(tf.constant(wide + 0j)),
        "negative": tf.linalg.sqrtm(tf.constant([[-1.0, 0.0], [0.0, -4.0]])),
    })
