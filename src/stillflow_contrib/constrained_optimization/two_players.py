"""Games of two players: one minimizes a loss over the model, the other weighs the constraints."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow_contrib.constrained_optimization.optimizer import ConstrainedOptimizer

if TYPE_CHECKING:
    from stillflow.train.optimizer import Optimizer


class TwoPlayerOptimizer(ConstrainedOptimizer):
    """Optimizer with the constraints' weights in a bounded state variable.

    Args:
      optimizer: of the model's variables.
      constraint_optimizer: of the state; by default `optimizer` updates both at once.
    """

    _state_name: str

    def __init__(self, optimizer: Any, constraint_optimizer: Any = None) -> None:
        super().__init__(optimizer=optimizer)
        self._constraint_optimizer = constraint_optimizer

    @property
    def constraint_optimizer(self) -> Optimizer | None:
        """The optimizer of the state; None if it is that of the model's variables."""
        return self._constraint_optimizer

    @abc.abstractmethod
    def _initial_state(self, num_constraints: int) -> Any:
        """Return the first value of the state."""

    @abc.abstractmethod
    def _loss_and_gradient(self, state: Any, objective: Any, constraints: Any, proxies: Any) -> Any:
        """Return the first player's loss, and the second player's gradient of ascent."""

    @abc.abstractmethod
    def _projection_op(self, state: Any, name: str | None = None) -> Any:
        """Assign the nearest state in bounds."""

    def _constraint_grad_and_var(self, state: Any, gradient: Any) -> tuple[Any, Any]:
        """Return the gradient to apply: the optimizer descends, the second player ascends."""
        return -gradient, state

    def _minimize_constrained(
        self, minimization_problem: Any, global_step: Any = None, name: str | None = None,
        **settings: Any,
    ) -> Any:  # fmt: skip
        objective, constraints, proxies = _tensors(minimization_problem)
        count = minimization_problem.num_constraints
        constraints = tf.reshape(constraints, shape=(count,))
        proxies = tf.reshape(proxies, shape=(count,))
        # Made by a function, so that control dependencies around do not reach the first value.
        state = tf.compat.v2.Variable(
            lambda: self._initial_state(count), trainable=False, name=self._state_name
        )
        loss, gradient = self._loss_and_gradient(state, objective, constraints, proxies)
        pairs = self.optimizer.compute_gradients(loss, **settings)
        updates = self._updates(pairs, self._constraint_grad_and_var(state, gradient))
        with tf.control_dependencies(updates):
            if global_step is None:
                return self._projection_op(state, name=name)
            projected = self._projection_op(state, name="project")
            with tf.colocate_with(global_step):
                counted = tf.assign_add(global_step, 1, name="global_step_increment")
            return tf.group(projected, counted, name=name)

    def _updates(self, pairs: list[Any], of_state: Any) -> list[Any]:
        """Return updates of the model and of the state, both by gradients at the same point."""
        if self.constraint_optimizer is None:
            return [self.optimizer.apply_gradients([*pairs, of_state], name="update")]
        gradients = [gradient for gradient, _ in (*pairs, of_state) if gradient is not None]
        with tf.control_dependencies(gradients):
            return [
                self.optimizer.apply_gradients(pairs, name="update"),
                self.constraint_optimizer.apply_gradients(
                    [of_state], name="optimizer_state_update"
                ),
            ]


def _tensors(problem: Any) -> tuple[Any, Any, Any]:
    """Return a problem's objective, constraints and their differentiable substitutes."""
    objective, constraints = problem.objective, problem.constraints
    proxies = problem.proxy_constraints
    if proxies is None:
        proxies = constraints
    if len({each.dtype.base_dtype for each in (objective, constraints, proxies)}) > 1:
        raise ValueError("objective, constraints and proxy_constraints must have the same dtype")
    return objective, constraints, proxies
