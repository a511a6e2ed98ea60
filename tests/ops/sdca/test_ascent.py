"""Steps on several examples, whose order is drawn: what they come to."""

from __future__ import annotations

import numpy as np
import pytest

from stillflow.ops.sdca.ascent import drawn, shuffled, train
from stillflow.ops.sdca.examples import DenseColumn, Problem, columns_of
from stillflow.ops.sdca.losses import LOSSES

pytestmark = pytest.mark.usefixtures("either_way")

ROWS = np.float32([[1, 0, 0.5], [0, 1, -1], [1, 1, 0.25], [-1, 0.5, 0]])
LABELS = np.float32([1, 0, 1, 0])
WEIGHTS = np.float32([1, 2, 1, 0.5])
# The same features as a dense and as a sparse column.
DENSE = [(ROWS, np.zeros(3, np.float32))]
SPARSE = [(*np.nonzero(ROWS), ROWS[np.nonzero(ROWS)], np.arange(3), np.zeros(3, np.float32))]


def problem(loss, sparse=(), dense=(), shrinkage=0.0, labels=LABELS):
    columns = columns_of(4, sparse, dense)
    return Problem(LOSSES[loss], labels, WEIGHTS, shrinkage, np.float64(2.0), 1, *columns)


def trained(loss, steps, order, **columns):
    """Return the weights and state after some steps."""
    state, weights = np.zeros((4, 4), np.float32), np.zeros(3, np.float32)
    for _ in range(steps):
        made = problem(loss, **columns)
        (column,) = made.sparse or made.dense
        column.weights = weights
        train(made, order(made, state), state)
        weights = weights + column.deltas
    return weights, state


def all_in_order(made, state):
    return np.arange(4)


def both(made, state):
    return drawn(made, state) if state.any() else shuffled(made)


@pytest.mark.parametrize("loss", LOSSES)
def test_dense_and_sparse_features_train_alike(loss):
    dense, dense_state = trained(loss, 3, all_in_order, dense=DENSE, shrinkage=0.05)
    sparse, sparse_state = trained(loss, 3, all_in_order, sparse=SPARSE, shrinkage=0.05)
    np.testing.assert_allclose(dense, sparse, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(dense_state, sparse_state, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_duality_gap_closes(loss):
    weights, state = trained(loss, 300, all_in_order, dense=DENSE)
    penalty = 2.0 * np.square(weights, dtype=np.float64).sum()
    assert abs(state[:, 1].sum() + state[:, 2].sum() + penalty) < 1e-3


@pytest.mark.parametrize("loss", LOSSES)
def test_every_order_comes_to_the_same_weights(loss):
    expected, _ = trained(loss, 300, all_in_order, dense=DENSE)
    found, _ = trained(loss, 300, both, dense=DENSE)
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_every_example_is_shuffled_in():
    orders = {tuple(shuffled(problem(b"squared_loss", dense=DENSE))) for _ in range(1000)}
    assert {tuple(sorted(each)) for each in orders} == {(0, 1, 2, 3)}
    assert len(orders) == 24  # one of them is missed by 24 * (23 / 24)**1000 = 8e-18 of the runs


def test_examples_far_from_their_optimum_are_drawn_first():
    state = np.zeros((4, 4), np.float32)
    labels = np.float32([0, 0, 5, 0])  # all others are where they should be
    firsts = {int(drawn(problem(b"squared_loss", dense=DENSE, labels=labels), state)[0])
              for _ in range(20)}  # fmt: skip
    assert firsts == {2}


def test_no_examples():
    empty = [DenseColumn(np.zeros((0, 3), np.float32), *np.zeros((2, 3), np.float32))]
    none = np.zeros(0, np.float32)
    made = Problem(LOSSES[b"squared_loss"], none, none, 0.0, np.float64(1), 1, [], empty)
    state = np.zeros((0, 4), np.float32)
    train(made, drawn(made, state), state)
    assert not empty[0].deltas.any()
