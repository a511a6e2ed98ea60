"""Adam with Nesterov's momentum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.gather import gather
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.ops.math.unary import sqrt
from stillflow.train.adam import AdamOptimizer
from stillflow.train.rule_optimizer import Step
from stillflow.variables.state_ops import assign


@export("contrib.opt.NadamOptimizer")
class NadamOptimizer(AdamOptimizer):
    """Adam that looks ahead (Dozat, 2016); arguments as in `tf.train.AdamOptimizer`."""

    def _step(self, var: Any) -> Step:
        step = super()._step(var)
        step.flags["use_nesterov"] = True
        return step

    def _apply_sparse_shared(
        self, grad: Tensor, var: Any, indices: Tensor, scatter_add: Callable[..., Any]
    ) -> Operation:
        beta1_power, beta2_power, lr, beta1, beta2, epsilon = self._cast_scalars(var)
        rate = lr * sqrt(1 - beta2_power) / (1 - beta1_power)
        graph = get_default_graph()
        m = self.get_slot(var, "m")
        scaled = grad * (1 - beta1)
        decayed = assign(m, m * beta1, use_locking=self._use_locking)
        with graph.control_dependencies([decayed]):
            new_m = scatter_add(m, indices, scaled)
            ahead = scaled + beta1 * gather(new_m, indices)
        v = self.get_slot(var, "v")
        scaled_square = (grad * grad) * (1 - beta2)
        decayed = assign(v, v * beta2, use_locking=self._use_locking)
        with graph.control_dependencies([decayed]):
            new_v = scatter_add(v, indices, scaled_square)
        root = sqrt(gather(new_v, indices))
        update = scatter_add(var, indices, -rate * ahead / (root + epsilon))
        return group(update, ahead, new_v)
