"""AdaMax: Adam by the largest gradient."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.gather import gather
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.ops.math.binary import maximum
from stillflow.ops.math.unary import abs
from stillflow.train.adam import AdamOptimizer
from stillflow.train.rule_optimizer import Step
from stillflow.variables.scatter import card


@export("contrib.opt.AdaMaxOptimizer")
class AdaMaxOptimizer(AdamOptimizer):
    """Section 7.1 of Kingma and Ba (2015); arguments as in `tf.train.AdamOptimizer`."""

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdaMax",
    ) -> None:
        super().__init__(learning_rate, beta1, beta2, epsilon, use_locking, name)

    def _get_beta_accumulators(self) -> Any:
        """Return the variable that holds `beta1` to the power of the step's number."""
        return self._get_non_slot_variable("beta1_power", graph=get_default_graph())

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        first = min(var_list, key=operator.attrgetter("name"))
        self._create_non_slot_variable(self._beta1, "beta1_power", first)
        for var, slot in itertools.product(var_list, "mv"):
            self._zeros_slot(var, slot, self._name)

    def _step(self, var: Any) -> Step:
        return Step(
            "AdaMax",
            ("m", "v"),
            {
                "beta1_power": self._get_beta_accumulators(),
                "lr": self._lr_t,
                "beta1": self._beta1_t,
                "beta2": self._beta2_t,
                "epsilon": self._epsilon_t,
            },
        )

    def _update_rows(
        self,
        grad: Tensor,
        var: Any,
        indices: Tensor,
        scatter_add: Callable[..., Any],
        scatter_update: Callable[..., Any],
    ) -> Operation:
        beta1_power, lr, beta1, beta2, epsilon = self._cast_scalars(var)
        graph = get_default_graph()
        m = self.get_slot(var, "m")
        m_rows = gather(m, indices) * beta1 + grad * (1 - beta1)
        with graph.control_dependencies([m_rows]):
            m_after = scatter_update(m, indices, m_rows)
        v = self.get_slot(var, "v")
        v_rows = maximum(gather(v, indices) * beta2, abs(grad))
        with graph.control_dependencies([v_rows]):
            v_after = scatter_update(v, indices, v_rows)
        step = -lr / (1 - beta1_power) * (m_rows / (v_rows + epsilon))
        with graph.control_dependencies([step]):
            change = scatter_add(var, indices, step)
        return group(change, m_after, v_after)

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Operation:
        def scatter(name: str) -> Callable[..., Any]:
            return lambda ref, indices, updates: card(name)(
                ref, indices, updates, use_locking=self._use_locking
            )

        return self._update_rows(
            grad.values, var, grad.indices, scatter("ScatterAdd"), scatter("ScatterUpdate")
        )

    def _resource_scatter_update(self, x: Any, i: Tensor, v: Tensor) -> Tensor:
        updated = card("ResourceScatterUpdate")(x.handle, i, v)
        with get_default_graph().control_dependencies([updated]):
            result: Tensor = x.value()
        return result

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Operation:
        return self._update_rows(
            grad, handle, indices, self._resource_scatter_add, self._resource_scatter_update
        )

    def _finish(self, update_ops: list[Any], name_scope: str) -> Operation:
        graph = get_default_graph()
        with graph.control_dependencies(update_ops):
            beta1_power = self._get_beta_accumulators()
            with graph.colocate_with(beta1_power):
                update = beta1_power.assign(
                    beta1_power * self._beta1_t, use_locking=self._use_locking
                )
        return group(*update_ops, update, name=name_scope)
