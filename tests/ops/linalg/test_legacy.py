from __future__ import annotations

import numpy as np

import stillflow as tf
from stillflow.graph.removed_ops import REMOVED


def test_the_cholesky_gradient_op_agrees_with_the_gradient_built_of_ops() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = np.random.RandomState(0).randn(2, 3, 3)
        matrix = tf.constant(x @ x.transpose(0, 2, 1) + 3 * np.eye(3))
        factor = tf.linalg.cholesky(matrix)
        grad = tf.constant(np.tril(np.random.RandomState(1).randn(2, 3, 3)))
        built = tf.gradients(factor, matrix, grad)[0]
        single = tf.raw_ops.CholeskyGrad(l=factor, grad=grad)
        np.testing.assert_allclose(*session.run([single, built]), atol=1e-12)


def test_old_eigenvalues_stand_above_their_vectors() -> None:
    graph = tf.Graph()
    graph._producer = REMOVED["SelfAdjointEig"][0] - 1
    with graph.as_default(), tf.Session() as session:
        matrix = np.array([[2.0, 1.0], [1.0, 5.0]])
        stacked = session.run(tf.raw_ops.SelfAdjointEig(input=matrix))
        values, vectors = stacked[0], stacked[1:]
        np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-12)
