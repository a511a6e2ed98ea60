"""Layer-wise adaptive rate scaling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.select import where
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import greater
from stillflow.ops.training.cards import training_op
from stillflow.train.momentum import MomentumOptimizer
from stillflow.train.optimizer import Optimizer
from stillflow.train.rule_optimizer import applies_rules


@export("contrib.opt.LARSOptimizer")
@applies_rules
class LARSOptimizer(Optimizer):
    """Momentum with a rate for each variable, by the ratio of its norm and its gradient's.

    For large batches (You et al., 2017). Sparse gradients are applied by plain momentum.

    Args:
      learning_rate: a float or tensor.
      momentum: at least 0.
      weight_decay: at least 0.
      eeta: the coefficient of the ratio.
      epsilon: added to the denominator.
      name: of the operations and slots.
      skip_list: parts of names of variables whose rate is not scaled.
      use_nesterov: whether the gradient is taken one step ahead.

    Raises:
      ValueError: if `momentum` or `weight_decay` is negative.
    """

    def __init__(
        self,
        learning_rate: Any,
        momentum: float = 0.9,
        weight_decay: float = 0.0001,
        eeta: float = 0.001,
        epsilon: float = 0.0,
        name: str = "LARSOptimizer",
        skip_list: Sequence[str] | None = None,
        use_nesterov: bool = False,
    ) -> None:
        if momentum < 0.0:
            raise ValueError(f"momentum should be positive: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"weight_decay should be positive: {weight_decay}")
        super().__init__(use_locking=False, name=name)
        self._learning_rate, self._momentum = learning_rate, momentum
        self._weight_decay, self._eeta, self._epsilon = weight_decay, eeta, epsilon
        self._skip_list, self._use_nesterov = skip_list, use_nesterov

    _create_slots = MomentumOptimizer._create_slots
    _prepare = MomentumOptimizer._prepare
    _step = MomentumOptimizer._step

    def compute_lr(self, grad: Tensor, var: Any) -> tuple[Any, Tensor]:
        """Return the rate for a variable, and the gradient with weight decay added."""
        from stillflow.linalg.norms import norm

        if self._skip_list is not None and any(part in var.name for part in self._skip_list):
            return self._learning_rate, grad
        w_norm, g_norm = norm(var, ord=2), norm(grad, ord=2)
        large, moving = greater(w_norm, 0), greater(g_norm, 0)
        ratio = self._eeta * w_norm / (g_norm + self._weight_decay * w_norm + self._epsilon)
        trust = where(large, where(moving, ratio, 1.0), 1.0)
        return self._learning_rate * trust, grad + self._weight_decay * var

    def _momentum_update(self, kind: str, grad: Tensor, var: Any) -> Tensor | Operation:
        rate, grad = self.compute_lr(grad, var)
        states = [var, self.get_slot(var, "momentum")]
        if kind:
            states = [state.handle for state in states]
        one = cast(1.0, var.dtype.base_dtype)
        update = training_op(f"{kind}ApplyMomentum")
        return update(
            *states,
            one,
            grad * rate,
            self._momentum,
            use_locking=False,
            use_nesterov=self._use_nesterov,
        )

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        return self._momentum_update("", grad, var)

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        return self._momentum_update("Resource", grad, handle)
