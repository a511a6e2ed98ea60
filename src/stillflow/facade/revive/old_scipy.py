"""Statistics that SciPy used to have."""

from __future__ import annotations

from typing import Any

import numpy as np


def itemfreq(a: Any) -> np.ndarray:
    """Return the distinct items of an array, sorted, and how often each is there: `[items, 2]`."""
    return np.array(np.unique(a, return_counts=True)).T


def binom_test(
    x: Any, n: int | None = None, p: float = 0.5, alternative: str = "two-sided"
) -> float:
    """Return the p-value of a test that the probability of success is `p`, in `n` trials.

    `x` is the number of successes, or of successes and failures, `[2]`; `alternative` is
    "two-sided", "greater" or "less".
    """
    from scipy import stats

    successes = np.atleast_1d(x).astype(int)
    if successes.size == 2:
        n = int(successes.sum())
    value: float = stats.binomtest(int(successes[0]), n, p, alternative).pvalue
    return value


def median_absolute_deviation(x: Any, axis: Any = 0, center: Any = np.median, scale: float = 1.4826,
                              nan_policy: str = "propagate") -> Any:  # fmt: skip
    """Return the median of the distances from the median, scaled as a standard deviation."""
    from scipy import stats

    return scale * stats.median_abs_deviation(x, axis=axis, center=center, nan_policy=nan_policy)
