from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import stillflow as tf

linalg = tf.linalg
_MATRIX = np.array([[4.0, 1.0], [0.5, 3.0]])

OPERATORS: dict[str, Callable[[], linalg.LinearOperator]] = {
    "diag": lambda: linalg.LinearOperatorDiag([1.0, 2.0, 3.0]),
    "full": lambda: linalg.LinearOperatorFullMatrix(_MATRIX, is_non_singular=True),
    "triangular": lambda: linalg.LinearOperatorLowerTriangular(_MATRIX),
    "householder": lambda: linalg.LinearOperatorHouseholder([1.0, 2.0, 2.0]),
    "identity": lambda: linalg.LinearOperatorIdentity(3, batch_shape=[2]),
    "scaled": lambda: linalg.LinearOperatorScaledIdentity(3, [2.0, 4.0]),
    "toeplitz": lambda: linalg.LinearOperatorToeplitz([4.0, 1.0, 0.5], [4.0, 2.0, 1.0]),
    "circulant": lambda: linalg.LinearOperatorCirculant(
        np.array([6.0, 1.0 + 1.0j, 1.0 - 1.0j], np.complex64)
    ),
    "composition": lambda: linalg.LinearOperatorComposition(
        [linalg.LinearOperatorFullMatrix(_MATRIX), linalg.LinearOperatorFullMatrix(_MATRIX.T)],
        is_non_singular=True,
    ),
    "block_diag": lambda: linalg.LinearOperatorBlockDiag(
        [linalg.LinearOperatorFullMatrix(_MATRIX), linalg.LinearOperatorFullMatrix(_MATRIX.T)]
    ),
    "kronecker": lambda: linalg.LinearOperatorKronecker(
        [linalg.LinearOperatorFullMatrix(_MATRIX), linalg.LinearOperatorFullMatrix(_MATRIX.T)]
    ),
    "low_rank": lambda: linalg.LinearOperatorLowRankUpdate(
        linalg.LinearOperatorDiag([3.0, 4.0, 5.0]), [[1.0], [2.0], [0.5]], [2.0]
    ),
    "adjoint": lambda: linalg.LinearOperatorAdjoint(linalg.LinearOperatorFullMatrix(_MATRIX)),
    "inverse": lambda: linalg.LinearOperatorInversion(linalg.LinearOperatorFullMatrix(_MATRIX)),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator_acts_as_its_dense_matrix(name: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        operator = OPERATORS[name]()
        dense = session.run(operator.to_dense())
        rows = dense.shape[-1]
        x = np.arange(2 * rows).reshape(rows, 2).astype(dense.dtype) + 1
        x = np.broadcast_to(x, (*dense.shape[:-2], rows, 2)).copy()
        results = session.run(
            {
                "matmul": operator.matmul(x),
                "adjoint": operator.matmul(x, adjoint=True),
                "solve": operator.solve(x),
                "det": operator.determinant(),
                "trace": operator.trace(),
                "diag": operator.diag_part(),
                "shape": operator.shape_tensor(),
            }
        )
        expected = {
            "matmul": dense @ x,
            "adjoint": dense.conj().swapaxes(-1, -2) @ x,
            "solve": np.linalg.solve(dense, x),
            "det": np.linalg.det(dense),
            "trace": np.trace(dense, axis1=-2, axis2=-1),
            "diag": np.diagonal(dense, axis1=-2, axis2=-1),
            "shape": dense.shape,
        }
        for what, value in expected.items():
            np.testing.assert_allclose(results[what], value, rtol=1e-4, atol=1e-4, err_msg=what)


def test_products_of_diagonal_operators_stay_diagonal() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        first, second = linalg.LinearOperatorDiag([1.0, 2.0]), linalg.LinearOperatorDiag([3.0, 4.0])
        product = first.matmul(second)
        assert isinstance(product, linalg.LinearOperatorDiag)
        assert isinstance(first.inverse(), linalg.LinearOperatorDiag)
        np.testing.assert_array_equal(session.run(product.diag), [3.0, 8.0])


def test_functions_of_matrices_take_operators() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        operator = linalg.LinearOperatorDiag([1.0, 2.0])
        assert session.run(tf.linalg.det(operator)) == 2.0
        np.testing.assert_array_equal(
            session.run(tf.matmul(operator, [[1.0], [1.0]])), [[1.0], [2.0]]
        )


def test_hints_that_contradict_each_other_are_refused() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="always non-singular"):
        linalg.LinearOperatorFullMatrix(_MATRIX, is_positive_definite=True, is_non_singular=False)


def test_zeros_have_no_inverse() -> None:
    with tf.Graph().as_default(), pytest.raises(tf.errors.InvalidArgumentError):
        linalg.LinearOperatorZeros(2).assert_non_singular()


def test_variables_of_an_operator_are_found() -> None:
    with tf.Graph().as_default():
        diagonal = tf.Variable([1.0, 2.0], name="diagonal")
        operator = linalg.LinearOperatorDiag(diagonal)
        assert operator.variables == (diagonal,)
        assert operator.trainable_variables == (diagonal,)
