"""Solutions of small problems with constraints, which are known."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import stillflow as tf

constrained = tf.contrib.constrained_optimization

MAKERS: dict[str, Callable[..., Any]] = {
    "multipliers": constrained.AdditiveExternalRegretOptimizer,
    "added": constrained.AdditiveSwapRegretOptimizer,
    "multiplied": constrained.MultiplicativeSwapRegretOptimizer,
}


class _Nearest(constrained.ConstrainedMinimizationProblem):
    """The point nearest to (3, 2) whose coordinates sum to 1 at most; (1, 0) is it."""

    def __init__(self, point: Any, before: Any = None) -> None:
        self._point, self._before = point, before

    @property
    def objective(self) -> Any:
        return tf.reduce_sum(tf.square(self._point - [3.0, 2.0]))

    @property
    def constraints(self) -> Any:
        return tf.reduce_sum(self._point, keepdims=True) - 1.0

    @property
    def pre_train_ops(self) -> Any:
        return self._before


@pytest.mark.parametrize("one", [True, False], ids=["one optimizer", "two optimizers"])
@pytest.mark.parametrize("name", MAKERS)
def test_steps_lead_to_the_known_solution(name: str, one: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        point = tf.Variable([0.0, 0.0])
        ours = [tf.train.GradientDescentOptimizer(0.05) for _ in range(1 if one else 2)]
        train = MAKERS[name](*ours).minimize(_Nearest(point))
        session.run(tf.global_variables_initializer())
        for _ in range(1500):
            session.run(train)
        np.testing.assert_allclose(session.run(point), [1.0, 0.0], atol=0.05)


def test_constraints_are_heeded_after_the_given_steps() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        point = tf.get_variable("point", initializer=tf.zeros([2]))
        count = tf.get_variable("count", initializer=tf.constant(0))
        step = tf.train.get_or_create_global_step()
        optimizer = MAKERS["multipliers"](tf.train.GradientDescentOptimizer(0.05))
        problem = _Nearest(point, [tf.assign_add(count, 1).op])
        train = optimizer.minimize(problem, unconstrained_steps=300, global_step=step)
        session.run(tf.global_variables_initializer())
        for _ in range(300):
            session.run(train)
        np.testing.assert_allclose(session.run(point), [3.0, 2.0], atol=1e-3)
        for _ in range(1200):
            session.run(train)
        np.testing.assert_allclose(session.run(point), [1.0, 0.0], atol=0.05)
        assert session.run([step, count]) == [1500, 1500]


def _least(matrix: np.ndarray, objective: np.ndarray) -> float:
    """Return the least expected objective of pairs of candidates that meet one constraint."""
    shares = np.linspace(0, 1, 2001)
    return min(
        (share * objective[a] + (1 - share) * objective[b])
        for a, b in itertools.combinations(range(len(objective)), 2)
        for share in shares
        if share * matrix[0, a] + (1 - share) * matrix[0, b] <= 1e-9
    )


def test_no_pair_of_candidates_is_better_than_the_best_distribution() -> None:
    state = np.random.RandomState(4)
    objective, matrix = state.uniform(-1, 1, 6), state.uniform(-1, 1, (1, 6))
    best = constrained.find_best_candidate_distribution(objective, matrix)
    assert best.sum() == pytest.approx(1)
    assert (matrix @ best)[0] <= 1e-6
    assert objective @ best == pytest.approx(_least(matrix, objective), abs=2e-3)


def test_constraints_that_nothing_meets_are_violated_least() -> None:
    matrix = np.array([[1.0, 0.2, 0.9], [0.2, 1.0, 0.9]])
    best = constrained.find_best_candidate_distribution(np.array([1.0, 2.0, -5.0]), matrix, 1e-9)
    np.testing.assert_allclose(best, [0.5, 0.5, 0.0], atol=1e-5)
