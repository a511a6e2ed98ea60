"""An optimizer that keeps the norm of variables below a bound."""

from __future__ import annotations

import contextlib
from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.gather import gather
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.ops.math.clip import clip_by_norm
from stillflow.platform import tf_logging as logging
from stillflow.train.optimizer import Optimizer
from stillflow.train.wrapping_optimizer import WrappingOptimizer


@export("contrib.opt.VariableClippingOptimizer")
class VariableClippingOptimizer(WrappingOptimizer):
    """Optimizer that applies another one, then clips variables.

    Args:
      opt: the other optimizer.
      vars_to_clip_dims: {variable: dimensions over which the norm is taken}.
      max_norm: the bound.
      use_locking: whether updates hold the variable's lock.
      colocate_clip_ops_with_vars: whether norms are computed where the variable is.
      name: of the operations.
    """

    def __init__(
        self,
        opt: Optimizer,
        vars_to_clip_dims: dict[Any, list[int]],
        max_norm: Any,
        use_locking: bool = False,
        colocate_clip_ops_with_vars: bool = False,
        name: str = "VariableClipping",
    ) -> None:
        super().__init__(opt, use_locking, name)
        self._vars_to_clip_dims = {var: dims[:] for var, dims in vars_to_clip_dims.items()}
        self._max_norm = max_norm
        self._colocate_clip_ops_with_vars = colocate_clip_ops_with_vars

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Operation:
        """Apply gradients, then clip the variables that have a limit."""
        with name_scope(name, self._name) as scope:
            update_op = self._opt.apply_gradients(grads_and_vars, global_step=global_step)
            clips = []
            with get_default_graph().control_dependencies([update_op]):
                for grad, var in grads_and_vars:
                    if grad is None or var not in self._vars_to_clip_dims:
                        continue
                    with name_scope("clip_" + var.op.name):
                        clip = self._clip_dense if isinstance(grad, Tensor) else self._clip_sparse
                        clips.append(clip(grad, var))
            return group(update_op, *clips, name=scope)

    def _clip_dense(self, grad: Any, var: Any) -> Any:
        del grad
        with self._maybe_colocate_with(var):
            value = var.read_value()
            clipped = clip_by_norm(value, self._max_norm, self._vars_to_clip_dims[var])
            delta = value - clipped
        with get_default_graph().colocate_with(var):
            return var.assign_sub(delta, use_locking=self._use_locking)

    def _clip_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        dims = self._vars_to_clip_dims[var]
        if 0 in dims:
            logging.warning(
                "Clipping norm across dims %s for %s is inefficient when including sparse "
                "dimension 0.",
                dims,
                var.op.name,
            )
            return self._clip_dense(grad, var)
        graph = get_default_graph()
        with graph.colocate_with(var):
            rows = gather(var, grad.indices)
        with self._maybe_colocate_with(var):
            clipped = clip_by_norm(rows, self._max_norm, dims)
            delta = IndexedSlices(rows - clipped, grad.indices, grad.dense_shape)
        with graph.colocate_with(var):
            return var.scatter_sub(delta, use_locking=self._use_locking)

    def _maybe_colocate_with(self, var: Any) -> Any:
        if self._colocate_clip_ops_with_vars:
            return get_default_graph().colocate_with(var)
        return contextlib.nullcontext()
