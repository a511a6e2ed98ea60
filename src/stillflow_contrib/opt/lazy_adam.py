"""Adam for sparse gradients that touches only the rows they name."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.gather import gather
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.ops.math.unary import sqrt, square
from stillflow.train.adam import AdamOptimizer
from stillflow.variables.scatter import card


class LazySparseUpdates:
    """Sparse updates of Adam, without those of rows that have no gradient."""

    def _apply_sparse(self: Any, grad: IndexedSlices, var: Any) -> Operation:
        beta1_power, beta2_power, lr, beta1, beta2, epsilon = self._cast_scalars(var)
        rate = lr * sqrt(1 - beta2_power) / (1 - beta1_power)
        update, indices, locking = card("ScatterUpdate"), grad.indices, self._use_locking
        m = self.get_slot(var, "m")
        new_m = beta1 * gather(m, indices) + (1 - beta1) * grad.values
        m_after = update(m, indices, new_m, use_locking=locking)
        v = self.get_slot(var, "v")
        new_v = beta2 * gather(v, indices) + (1 - beta2) * square(grad.values)
        v_after = update(v, indices, new_v, use_locking=locking)
        m_rows, v_rows = gather(m_after, indices), gather(v_after, indices)
        denominator = sqrt(v_rows) + epsilon
        step = rate * m_rows / denominator
        change = card("ScatterSub")(var, indices, step, use_locking=locking)
        return group(change, m_after, v_after)

    def _resource_apply_sparse(self: Any, grad: Tensor, handle: Any, indices: Tensor) -> Operation:
        beta1_power, beta2_power, lr, beta1, beta2, epsilon = self._cast_scalars(handle)
        rate = lr * sqrt(1 - beta2_power) / (1 - beta1_power)
        update = card("ResourceScatterUpdate")
        m = self.get_slot(handle, "m")
        m_rows = beta1 * gather(m, indices) + (1 - beta1) * grad
        m_after = update(m.handle, indices, m_rows)
        v = self.get_slot(handle, "v")
        v_rows = beta2 * gather(v, indices) + (1 - beta2) * square(grad)
        v_after = update(v.handle, indices, v_rows)
        step = rate * m_rows / (sqrt(v_rows) + epsilon)
        change = card("ResourceScatterSub")(handle.handle, indices, step)
        return group(change, m_after, v_after)


@export("contrib.opt.LazyAdamOptimizer")
class LazyAdamOptimizer(LazySparseUpdates, AdamOptimizer):
    """Adam that skips rows without a gradient; arguments as in `tf.train.AdamOptimizer`.

    It is faster than Adam for large embeddings, and not the same algorithm.
    """
