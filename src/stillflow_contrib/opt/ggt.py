"""GGT: full-matrix Adagrad over a window of gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation, Tensor
from stillflow_contrib.optimizer_v2.optimizer import OptimizerV2
from stillflow_contrib.optimizer_v2.state import OptimizerState


@export("contrib.opt.GGTOptimizer")
class GGTOptimizer(OptimizerV2):
    """Scales steps by the inverse root of the products of recent gradients (Agarwal et al., 2018).

    The averages of all variables' gradients at the last `window` steps are the columns of a
    matrix; the step is the average times the inverse root of that matrix by its transpose.

    Args:
      learning_rate: a float, a tensor or a function of no arguments, as all hyperparameters.
      beta1: decay of the average of gradients.
      use_locking: of no effect.
      name: of the operations and slots.
      window: how many averages are kept.
      eps: where roots of singular values are smaller than this, the step keeps to the columns.
      svd_eps: added to the diagonal before singular values are found.
      sigma_eps: added to their roots.
    """

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        use_locking: bool = False,
        name: str = "GGT",
        window: Any = 10,
        eps: Any = 1e-4,
        svd_eps: Any = 1e-6,
        sigma_eps: Any = 1e-2,
    ) -> None:
        super().__init__(use_locking, name)
        self._set_hypers(lr=learning_rate, beta1=beta1, window=window)
        self._set_hypers(eps=eps, svd_eps=svd_eps, sigma_eps=sigma_eps)
        self._places: dict[str, tuple[int, int]] = {}
        self._variables: list[Any] = []

    def _create_vars(self, var_list: Sequence[Any], state: OptimizerState) -> None:
        sizes = {var.name: int(np.prod(var.get_shape().as_list())) for var in var_list}
        total = 0
        for name in sorted(sizes):
            self._places[name] = (total, total + sizes[name])
            total += sizes[name]
        dtype = var_list[0].dtype.base_dtype
        state.create_non_slot(initial_value=tf.cast(0.0, dtype=dtype), name="global_step")
        rows = state.get_hyper("window")
        for name, shape in (("grad_buffer", [rows, total]), ("moment1", (total,))):
            state.create_non_slot(initial_value=tf.zeros(shape, dtype=dtype), name=name)
        state.create_non_slot(initial_value=tf.zeros((total,), dtype=dtype), name="flat_grad")

    def _get_non_slot(self, name: str, state: OptimizerState | None = None) -> Any:
        found: Any = self._get_per_graph_state() if state is None else state
        return found.get_non_slot(name)

    def _get_global_step(self, state: OptimizerState | None = None) -> Any:
        return self._get_non_slot("global_step", state)

    def _get_moment1(self, state: OptimizerState | None = None) -> Any:
        return self._get_non_slot("moment1", state)

    def _get_grad_buffer(self, state: OptimizerState | None = None) -> Any:
        return self._get_non_slot("grad_buffer", state)

    def _get_flat_grad(self, state: OptimizerState | None = None) -> Any:
        return self._get_non_slot("flat_grad", state)

    def _prepare(self, state: OptimizerState) -> None:
        self._variables = []

    def _apply_sparse(self, grad: IndexedSlices, var: Any, state: OptimizerState) -> Any:
        raise NotImplementedError("Sparse gradient updates are not supported.")

    def _resource_apply_sparse(
        self, grad: Tensor, handle: Any, indices: Tensor, state: OptimizerState
    ) -> Any:
        raise NotImplementedError("Sparse gradient updates are not supported.")

    def _apply_dense(self, grad: Tensor, var: Any, state: OptimizerState) -> Tensor:
        self._variables.append(var)
        flat = self._get_flat_grad(state)
        values = tf.reshape(grad, [-1])
        return tf.scatter_update(flat, tf.range(*self._places[var.name]), values)

    def _resource_apply_dense(self, grad: Tensor, handle: Any, state: OptimizerState) -> Tensor:
        return self._apply_dense(grad, handle, state)

    def _finish(self, state: OptimizerState) -> Operation:
        dtype = self._variables[0].dtype.base_dtype
        step = tf.assign_add(self._get_global_step(state), 1.0)
        beta1 = state.get_hyper("beta1", dtype=dtype)
        average = self._get_moment1(state)
        flat = self._get_flat_grad(state)
        average = average.assign(beta1 * average + (1.0 - beta1) * flat)
        window = state.get_hyper("window")
        row = tf.floormod(tf.cast(step - 1.0, tf.int32), window)
        buffer = tf.scatter_update(self._get_grad_buffer(state), row, average)
        change, rate = self._change(step, average, buffer, flat, state)
        updates = []
        for var in self._variables:
            begin, end = self._places[var.name]
            part = tf.reshape(change[begin:end], var.get_shape())
            updates.append(tf.assign_sub(var, rate * part))
        return tf.group(updates)

    def _change(
        self, step: Any, average: Any, buffer: Any, flat: Any, state: OptimizerState
    ) -> tuple[Tensor, Any]:
        """Return the change of all variables in one vector, (total, 1); and the rate."""
        dtype = self._variables[0].dtype.base_dtype
        window = state.get_hyper("window")
        eps, svd_eps, sigma_eps, rate = (
            state.get_hyper(name, dtype=dtype) for name in ("eps", "svd_eps", "sigma_eps", "lr")
        )
        kept = tf.minimum(
            tf.convert_to_tensor(step), tf.convert_to_tensor(tf.cast(window, dtype=dtype))
        )
        kept_root = tf.sqrt(kept)
        column = tf.expand_dims(average, -1)
        m = tf.transpose(tf.divide(buffer, kept_root))
        products = tf.matmul(m, m, transpose_a=True)
        damping = tf.cast(tf.eye(window), dtype=dtype) * svd_eps
        sigma, u, _ = tf.linalg.svd(products + damping)
        root = tf.sqrt(sigma)
        smallest = tf.reduce_min(root)
        one = tf.cast(1.0, dtype=dtype)
        inverse = tf.divide(one, tf.pow(root + sigma_eps, 3))
        nothing = tf.expand_dims(tf.zeros(flat.get_shape(), dtype=dtype), -1)
        head = _through(m, u, inverse, column)
        ones = tf.cast(1.0, dtype=dtype)
        tail = column - _through(m, u, tf.divide(ones, sigma), column)
        tail = tf.divide(tail, smallest)
        change = tf.cond(smallest > eps, lambda: tf.add(head, tail), lambda: tf.add(nothing, head))
        return change, rate


def _through(m: Tensor, u: Tensor, diagonal: Tensor, column: Tensor) -> Tensor:
    """`m u diag(diagonal) u' m' column`."""
    scales = tf.diag(diagonal)
    inner = tf.matmul(u, tf.matmul(m, column, transpose_a=True), transpose_a=True)
    return tf.matmul(m, tf.matmul(u, tf.matmul(scales, inner)))
