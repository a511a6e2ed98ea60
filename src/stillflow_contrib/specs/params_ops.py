"""Names in expressions of parameters: all of `math`, and random numbers."""

from __future__ import annotations

import math
import random
from math import *  # noqa: F403 - parameters are computed with it

from stillflow.graph.export import export


@export("contrib.specs.Uf")
def Uf(lo: float = 0.0, hi: float = 1.0) -> float:
    """Return a number between two others, all equally likely."""
    return random.uniform(lo, hi)


@export("contrib.specs.Ui")
def Ui(lo: int, hi: int) -> int:
    """Return an integer from `lo` to `hi`, both included, all equally likely."""
    return random.randint(lo, hi)


@export("contrib.specs.Lf")
def Lf(lo: float, hi: float) -> float:
    """Return a number between two positive others, whose logarithm is equally likely everywhere."""
    return math.exp(random.uniform(math.log(lo), math.log(hi)))


@export("contrib.specs.Li")
def Li(lo: float, hi: float) -> int:
    """Return an integer from `lo` to `hi`, both included, drawn as `Lf` draws."""
    return math.floor(Lf(lo, hi + 1 - 1e-5))


@export("contrib.specs.Nt")
def Nt(mu: float, sigma: float, limit: float = 3.0) -> float:
    """Return a number normally distributed.

    Those farther away than `limit` * `sigma` become the bound.
    """
    return min(max(random.gauss(mu, sigma), mu - limit * sigma), mu + limit * sigma)
