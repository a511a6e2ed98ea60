"""Problem of minimization under constraints."""

from __future__ import annotations

import abc
import math
from typing import Any

from stillflow.graph.export import export


@export("contrib.constrained_optimization.ConstrainedMinimizationProblem")
class ConstrainedMinimizationProblem(abc.ABC):
    """An objective to minimize while no constraint is positive. Subclasses give these tensors."""

    @property
    @abc.abstractmethod
    def objective(self) -> Any:
        """The objective to minimize, a scalar."""

    @property
    @abc.abstractmethod
    def constraints(self) -> Any:
        """The constraints, feasible if not positive, of any fully known shape."""

    @property
    def proxy_constraints(self) -> None:
        """Differentiable substitutes of `constraints`, of their shape; None for themselves.

        Constraints without useful gradients, such as counts, have smooth ones stand in for them.
        """
        return None

    @property
    def pre_train_ops(self) -> None:
        """Operations that run before each training step, a list, or None."""
        return None

    @property
    def num_constraints(self) -> int:
        """The number of constraints.

        Raises:
          ValueError: if a shape is not fully known, or that of the proxies is another.
        """
        shape = self.constraints.get_shape()
        proxies = self.proxy_constraints
        proxy_shape = shape if proxies is None else proxies.get_shape()
        if not (shape.is_fully_defined() and proxy_shape.is_fully_defined()):
            raise ValueError("constraints and proxy_constraints must have fully-known shapes")
        if shape != proxy_shape:
            raise ValueError("constraints and proxy_constraints must have the same shape")
        return math.prod(shape.as_list())
