"""Adam whose powers of the decays follow from the global step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.operation import Operation
from stillflow.ops.control_flow.identity_and_group import group, identity
from stillflow.ops.math.binary import pow
from stillflow.ops.math.cast import cast
from stillflow.train.adam import AdamOptimizer
from stillflow_contrib.opt.lazy_adam import LazySparseUpdates


@export("contrib.opt.AdamGSOptimizer")
class AdamGSOptimizer(AdamOptimizer):
    """Adam optimizer without own variables except the slots.

    Args:
      global_step: the variable that counts steps; it has to be passed to `minimize()` as well.
      learning_rate, beta1, beta2, epsilon, use_locking, name: as in `tf.train.AdamOptimizer`.
    """

    def __init__(
        self,
        global_step: Any = 0,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)
        self._global_step = global_step
        self._global_step_on_worker: Any = None

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        return (
            pow(self._beta1_t, self._global_step_on_worker),
            pow(self._beta2_t, self._global_step_on_worker),
        )

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _prepare(self) -> None:
        super()._prepare()
        self._global_step_on_worker = cast(identity(self._global_step) + 1, dtypes.float32)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Operation:
        return group(*update_ops, name=name_scope)


@export("contrib.opt.LazyAdamGSOptimizer")
class LazyAdamGSOptimizer(LazySparseUpdates, AdamGSOptimizer):
    """`LazyAdamOptimizer` by the global step; arguments as in `AdamGSOptimizer`."""
