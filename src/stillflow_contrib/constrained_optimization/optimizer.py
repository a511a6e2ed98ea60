"""Base of optimizers of problems with constraints, or at first without them."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Operation
from stillflow.train.optimizer import Optimizer


def _after(operations: Any, build: Callable[[], Any]) -> Any:
    """Return the result of `build`, built to run after the operations."""
    if not operations:
        return build()
    with tf.control_dependencies(operations):
        return build()


@export("contrib.constrained_optimization.ConstrainedOptimizer")
class ConstrainedOptimizer(abc.ABC):
    """Minimizes a `ConstrainedMinimizationProblem` by an optimizer of `tf.train`.

    Subclasses give `_minimize_constrained`, which is called with the problem and the named
    arguments of `minimize_constrained`, and leaves `pre_train_ops` alone.

    Args:
      optimizer: of the model's variables.
    """

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = optimizer

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer of the model's variables."""
        return self._optimizer

    @abc.abstractmethod
    def _minimize_constrained(self, minimization_problem: Any, **settings: Any) -> Any:
        """Return the operation of one step."""

    def minimize_constrained(
        self, minimization_problem: Any, global_step: Any = None, var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP, aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False, name: str | None = None, grad_loss: Any = None,
    ) -> Any:  # fmt: skip
        """Build a step that heeds the constraints.

        Args:
          minimization_problem: a `ConstrainedMinimizationProblem`.
          global_step, var_list, ...: as of `tf.train.Optimizer.minimize`.

        Returns:
          The operation of the step.
        """
        return _after(
            minimization_problem.pre_train_ops,
            lambda: self._minimize_constrained(
                minimization_problem, global_step=global_step, var_list=var_list,
                gate_gradients=gate_gradients, aggregation_method=aggregation_method,
                colocate_gradients_with_ops=colocate_gradients_with_ops, name=name,
                grad_loss=grad_loss,
            ),
        )  # fmt: skip

    def minimize_unconstrained(
        self, minimization_problem: Any, global_step: Any = None, var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP, aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False, name: str | None = None, grad_loss: Any = None,
    ) -> Operation:  # fmt: skip
        """Build a step that minimizes the objective alone.

        Args:
          minimization_problem, global_step, ...: as of `minimize_constrained`.

        Returns:
          The operation of the step.
        """
        return _after(
            minimization_problem.pre_train_ops,
            lambda: self.optimizer.minimize(
                minimization_problem.objective, global_step=global_step, var_list=var_list,
                gate_gradients=gate_gradients, aggregation_method=aggregation_method,
                colocate_gradients_with_ops=colocate_gradients_with_ops, name=name,
                grad_loss=grad_loss,
            ),
        )  # fmt: skip

    def minimize(
        self, minimization_problem: Any, unconstrained_steps: int | None = None,
        global_step: Any = None, var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP, aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False, name: str | None = None, grad_loss: Any = None,
    ) -> Any:  # fmt: skip
        """Build a step that heeds the constraints once `global_step` has got far enough.

        Args:
          unconstrained_steps: how many steps minimize the objective alone.
          minimization_problem, global_step, ...: as of `minimize_constrained`.

        Returns:
          The operation of the step; a tensor, if there are unconstrained steps.

        Raises:
          ValueError: if there are unconstrained steps but no global step.
        """
        settings = {
            "minimization_problem": minimization_problem, "global_step": global_step,
            "var_list": var_list, "gate_gradients": gate_gradients,
            "aggregation_method": aggregation_method,
            "colocate_gradients_with_ops": colocate_gradients_with_ops, "name": name,
            "grad_loss": grad_loss,
        }  # fmt: skip
        if unconstrained_steps is None:
            return self.minimize_constrained(**settings)
        if global_step is None:
            raise ValueError("global_step cannot be None if unconstrained_steps is provided")
        steps = tf.convert_to_tensor(unconstrained_steps)
        return tf.cond(
            tf.cast(global_step, steps.dtype) < steps,
            true_fn=lambda: self.minimize_unconstrained(**settings),
            false_fn=lambda: self.minimize_constrained(**settings),
        )
