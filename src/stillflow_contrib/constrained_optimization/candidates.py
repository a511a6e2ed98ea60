"""The best of several solutions, or the best distribution over them."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.graph.export import export


def _sizes(objective_vector: Any, constraints_matrix: Any) -> tuple[int, int]:
    """Return the number of constraints and of candidates."""
    constraints, candidates = np.shape(constraints_matrix)
    if (candidates,) != np.shape(objective_vector):
        raise ValueError(
            "objective_vector must have shape (n,), and constraints_matrix (m, n), where n is the "
            "number of candidates, and m is the number of constraints"
        )
    return constraints, candidates


def _best_distribution(
    objective_vector: Any, constraints_matrix: Any, maximum_violation: float = 0.0
) -> Array | None:
    """Return the best distribution that violates no constraint by more; None if there is none."""
    constraints, candidates = _sizes(objective_vector, constraints_matrix)
    import scipy.optimize

    result = scipy.optimize.linprog(
        objective_vector,
        A_ub=constraints_matrix,
        b_ub=np.full(constraints, maximum_violation),
        A_eq=np.ones((1, candidates)),
        b_eq=np.ones(1),
        bounds=(0, None),
    )
    return result.x if result.success else None


@export("contrib.constrained_optimization.find_best_candidate_distribution")
def find_best_candidate_distribution(
    objective_vector: Any, constraints_matrix: Any, epsilon: float = 0.0
) -> np.ndarray:
    """Return the distribution over candidates with the least expected objective under constraints.

    If no distribution satisfies all constraints in expectation, bisection finds the least violation
    that one can do with. SciPy has to be installed.

    Args:
      objective_vector: the objective of each candidate, `[candidates]`.
      constraints_matrix: the constraints of each, not positive if they hold,
        `[constraints, candidates]`.
      epsilon: how closely the least violation is found.

    Returns:
      Probabilities, `[candidates]`; at most one more than there are constraints is not zero.

    Raises:
      ValueError: for shapes that do not fit, or a negative `epsilon`.
      ImportError: without SciPy.
    """
    if epsilon < 0.0:
        raise ValueError("epsilon must be nonnegative")
    best = _best_distribution(objective_vector, constraints_matrix)
    if best is not None:
        return best
    # No distribution does with `lower`; one of a single candidate does with `upper`.
    lower, upper = 0.0, np.min(np.amax(constraints_matrix, axis=0))
    best = _best_distribution(objective_vector, constraints_matrix, upper)
    assert best is not None
    middle = 0.5 * (lower + upper)
    while middle - lower > epsilon and upper - middle > epsilon:
        found = _best_distribution(objective_vector, constraints_matrix, middle)
        if found is None:
            lower = middle
        else:
            best, upper = found, middle
        middle = 0.5 * (lower + upper)
    return best


def _ranks(values: Any) -> np.ndarray:
    """Return each value's rank: one plus the number of smaller values."""
    return 1 + np.searchsorted(np.sort(values), values)


@export("contrib.constrained_optimization.find_best_candidate_index")
def find_best_candidate_index(
    objective_vector: Any, constraints_matrix: Any, rank_objectives: bool = False
) -> int | None:
    """Return the candidate whose worst rank over all constraints' violations is best.

    Args:
      objective_vector: the objective of each candidate, `[candidates]`; it decides between equals.
      constraints_matrix: the constraints of each, not positive if they hold,
        `[constraints, candidates]`.
      rank_objectives: whether the objective ranks too.

    Returns:
      The candidate's index, the last one of several that are equal; None of no candidates.

    Raises:
      ValueError: for shapes that do not fit.
    """
    _, candidates = _sizes(objective_vector, constraints_matrix)
    worst = _ranks(objective_vector) if rank_objectives else np.zeros(candidates, np.int64)
    for constraint in constraints_matrix:
        worst = np.maximum(worst, _ranks(np.maximum(0.0, constraint)))
    order = [(worst[n], objective_vector[n], -n) for n in range(candidates)]
    return -min(order)[2] if order else None
