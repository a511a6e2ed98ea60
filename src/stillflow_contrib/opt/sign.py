"""Optimizers that look at whether a gradient and its average point the same way."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.gather import gather
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.ops.math.binary import pow
from stillflow.ops.math.cast import cast
from stillflow.ops.math.unary import sign
from stillflow.train.optimizer import Optimizer
from stillflow.train.rule_optimizer import Step, applies_rules
from stillflow.variables.scatter import card
from stillflow.variables.state_ops import assign


@applies_rules
class _SignOptimizer(Optimizer):
    """Base of AddSign and PowerSign (Bello et al., 2017)."""

    def __init__(
        self,
        learning_rate: Any,
        beta: Any,
        sign_decay_fn: Callable[[Any], Any] | None,
        use_locking: bool,
        name: str,
    ) -> None:
        super().__init__(use_locking, name)
        self._lr, self._beta, self._sign_decay_fn = learning_rate, beta, sign_decay_fn
        self._lr_t: Any = None
        self._beta_t: Any = None
        self._sign_decay_t: Any = None

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Operation:
        """Apply gradients; a decay of signs needs the global step."""
        if self._sign_decay_fn is not None:
            self._sign_decay_t = convert_to_tensor(
                self._sign_decay_fn(global_step), name="sign_decay"
            )
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "m", self._name)

    def _prepare(self) -> None:
        self._lr_t = convert_to_tensor(self._lr, name="learning_rate")
        self._beta_t = convert_to_tensor(self._beta, name="beta")
        self._prepare_factor()
        if self._sign_decay_fn is None:
            self._sign_decay_t = convert_to_tensor(1.0, name="sign_decay")

    def _prepare_factor(self) -> None:
        raise NotImplementedError()

    def _cast_factors(self, dtype: Any) -> tuple[Any, ...]:
        """Return the arguments of `_factor`, with the average's decay first or last as in TF."""
        raise NotImplementedError()

    def _factor(self, agreement: Tensor, decay: Tensor, factors: tuple[Any, ...]) -> Tensor:
        """Return the factor of a gradient; `agreement` is 1 where the signs agree, else -1."""
        raise NotImplementedError()

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Operation:
        dtype = var.dtype.base_dtype
        rate = cast(self._lr_t, dtype)
        beta, *factors = self._cast_factors(dtype)
        m = self.get_slot(var, "m")
        average = assign(m, (m * beta) + (grad * (1 - beta)), use_locking=self._use_locking)
        signs = sign(grad.values)
        agreement = gather(sign(average), grad.indices) * signs
        decay = cast(self._sign_decay_t, dtype)
        step = rate * self._factor(agreement, decay, tuple(factors)) * grad.values
        change = card("ScatterSub")(var, grad.indices, step, use_locking=self._use_locking)
        return group(change, average)

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        raise NotImplementedError()  # TF has no such update either


@export("contrib.opt.AddSignOptimizer")
class AddSignOptimizer(_SignOptimizer):
    """`var -= learning_rate * (alpha + sign_decay * sign(g) * sign(m)) * g`.

    Args:
      learning_rate: a float or tensor.
      alpha: added to the signs.
      beta: decay of `m`, the average of gradients.
      sign_decay_fn: `f(global_step)` gives a factor for the signs.
      use_locking: whether updates hold the variable's lock.
      name: of the operations and slots.
    """

    def __init__(
        self,
        learning_rate: Any = 0.1,
        alpha: Any = 1.0,
        beta: Any = 0.9,
        sign_decay_fn: Callable[[Any], Any] | None = None,
        use_locking: bool = False,
        name: str = "AddSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._alpha = alpha
        self._alpha_t: Any = None

    def _prepare_factor(self) -> None:
        self._alpha_t = convert_to_tensor(self._alpha, name="alpha")

    def _step(self, var: Any) -> Step:
        return Step(
            "AddSign",
            ("m",),
            {
                "lr": self._lr_t,
                "alpha": self._alpha_t,
                "sign_decay": self._sign_decay_t,
                "beta": self._beta_t,
            },
        )

    def _cast_factors(self, dtype: Any) -> tuple[Any, ...]:
        alpha, beta = cast(self._alpha_t, dtype), cast(self._beta_t, dtype)
        return beta, alpha

    def _factor(self, agreement: Tensor, decay: Tensor, factors: tuple[Any, ...]) -> Tensor:
        result: Tensor = factors[0] + decay * agreement
        return result


@export("contrib.opt.PowerSignOptimizer")
class PowerSignOptimizer(_SignOptimizer):
    """`var -= learning_rate * base ** (sign_decay * sign(g) * sign(m)) * g`.

    Args:
      learning_rate: a float or tensor.
      base: of the power.
      beta: decay of `m`, the average of gradients.
      sign_decay_fn: `f(global_step)` gives a factor for the signs.
      use_locking: whether updates hold the variable's lock.
      name: of the operations and slots.
    """

    def __init__(
        self,
        learning_rate: Any = 0.1,
        base: float = math.e,
        beta: Any = 0.9,
        sign_decay_fn: Callable[[Any], Any] | None = None,
        use_locking: bool = False,
        name: str = "PowerSignOptimizer",
    ) -> None:
        super().__init__(learning_rate, beta, sign_decay_fn, use_locking, name)
        self._logbase = math.log(base)
        self._logbase_t: Any = None

    def _prepare_factor(self) -> None:
        self._logbase_t = convert_to_tensor(self._logbase, name="logbase")

    def _step(self, var: Any) -> Step:
        return Step(
            "PowerSign",
            ("m",),
            {
                "lr": self._lr_t,
                "logbase": self._logbase_t,
                "sign_decay": self._sign_decay_t,
                "beta": self._beta_t,
            },
        )

    def _cast_factors(self, dtype: Any) -> tuple[Any, ...]:
        return cast(self._beta_t, dtype), cast(self._logbase_t, dtype), cast(math.e, dtype)

    def _factor(self, agreement: Tensor, decay: Tensor, factors: tuple[Any, ...]) -> Tensor:
        logbase, e = factors
        return pow(e, logbase * decay * agreement)
