"""Shampoo: Adagrad with a matrix for each dimension of a variable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Tensor
from stillflow.train.optimizer import Optimizer
from stillflow_contrib.opt.matrix_functions import matrix_inverse_pth_root, matrix_square_root

# Arguments that may be functions of the step, and their names.
PARAMETERS = (
    "gbar_decay",
    "gbar_weight",
    "mat_gbar_decay",
    "mat_gbar_weight",
    "learning_rate",
    "svd_interval",
    "precond_update_interval",
    "alpha",
)


class _Step:
    """Parameters at one step, computed on demand."""

    def __init__(self, given: dict[str, Any], number: Tensor) -> None:
        self._given, self.number = given, number

    def __call__(self, name: str) -> Any:
        value = self._given[name]
        return value(self.number) if callable(value) else value


@export("contrib.opt.ShampooOptimizer")
class ShampooOptimizer(Optimizer):
    """Steps along gradients that a power of summed outer products scales (Gupta et al., 2018).

    For each dimension of a variable the products of the gradient with itself over all other
    dimensions are summed; the gradient is multiplied by each of these matrices to the power `-alpha
    / rank`. "A number or function" may be a function of the step.

    Args:
      global_step: the number of the step, a number, tensor or variable.
      max_matrix_size: dimensions larger than this have sums of squares instead of a matrix.
      gbar_decay: the share of the sum that stays, a number or function.
      gbar_weight: the weight of a gradient, a number or function.
      mat_gbar_decay: the share of the sum that stays, a number or function.
      mat_gbar_weight: the weight of a product, a number or function.
      learning_rate: a number or function.
      svd_interval: after how many steps powers are computed, a number or function.
      precond_update_interval: after how many steps products are added, a number or function.
      epsilon: added to the diagonals of matrices.
      alpha: the power, a number or function.
      use_iterative_root: whether roots are found by iterations of products, not by SVD.
      use_locking: of no effect.
      name: of the operations and slots.
    """

    def __init__(
        self,
        global_step: Any = 0,
        max_matrix_size: int = 768,
        gbar_decay: Any = 0.0,
        gbar_weight: Any = 1.0,
        mat_gbar_decay: Any = 1.0,
        mat_gbar_weight: Any = 1.0,
        learning_rate: Any = 1.0,
        svd_interval: Any = 1,
        precond_update_interval: Any = 1,
        epsilon: float = 1e-4,
        alpha: Any = 0.5,
        use_iterative_root: bool = False,
        use_locking: bool = False,
        name: str = "Shampoo",
    ) -> None:
        given = locals()
        super().__init__(use_locking, name)
        self._parameters = {key: given[key] for key in PARAMETERS}
        self._max_matrix_size, self._epsilon = max_matrix_size, epsilon
        self._use_iterative_root = use_iterative_root
        self._global_step = tf.cast(global_step, tf.float32)

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            with tf.colocate_with(var):
                self._zeros_slot(var, "gbar", self._name)
                for axis, size in enumerate(np.array(var.get_shape())):
                    self._create_slots_of_axis(var, axis, size)

    def _create_slots_of_axis(self, var: Any, axis: int, size: Any) -> None:
        size_t = tf.convert_to_tensor(size)
        if size > self._max_matrix_size:
            first = tf.zeros([size_t])
        else:
            first = tf.zeros_like(tf.eye(size_t))
            if self._parameters["svd_interval"] > 1:
                self._get_or_make_slot(var, tf.eye(size_t), f"H_{axis}", self._name)
        self._get_or_make_slot(var, first, f"Gbar_{axis}", self._name)

    def _apply_dense(self, grad: Tensor, var: Any) -> Tensor:
        return self._apply_gradient(grad, var)

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        return self._apply_gradient(grad, handle)

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Tensor:
        return self._apply_rows(grad.values, grad.indices, var)

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        return self._apply_rows(grad, indices, handle)

    def _apply_rows(self, rows: Tensor, indices: Tensor, var: Any) -> Any:
        is_small = var.get_shape()[0] <= self._max_matrix_size
        if not is_small and self._parameters["gbar_decay"] == 0.0:
            return self._apply_gradient(rows, var, indices)
        where = tf.expand_dims(indices, axis=1)
        dense = tf.scatter_nd(where, rows, tf.shape(var, out_type=indices.dtype))
        return self._apply_gradient(dense, var)

    def _average(self, var: Any, name: str, decay: Any, addend: Any) -> Any:
        """Return a variable's sum, of which `decay` stays, with the addend."""
        given = self._parameters[name]
        if given == 0.0:
            return addend  # the variable is never read
        if given == 1.0:
            return tf.assign_add(var, addend)
        return var.assign_add((decay - 1) * var + addend)

    def _apply_gradient(self, grad: Tensor, var: Any, indices: Tensor | None = None) -> Any:
        """Update a variable, or those of its rows that `indices` name."""
        step = _Step(self._parameters, self._global_step + 1)
        sum_of_grads = self.get_slot(var, "gbar")
        decay, weight = step("gbar_decay"), step("gbar_weight")
        scaled = grad
        if indices is None:
            scaled = self._average(sum_of_grads, "gbar_decay", decay, weight * grad)
        dims = var.get_shape()
        mat_decay, mat_weight = step("mat_gbar_decay"), step("mat_gbar_weight")
        power = -step("alpha") / len(dims)
        intervals = step("svd_interval"), step("precond_update_interval")
        for axis, dim in enumerate(dims):
            if dim <= self._max_matrix_size:
                mat_h = self._matrix(
                    grad, var, axis, mat_decay, mat_weight, power, intervals, step.number
                )
                scaled = tf.tensordot(scaled, mat_h, axes=([0], [0]), name=f"precond_{axis}")
            else:
                diagonal = self._diagonal(grad, var, axis, mat_decay, mat_weight, power, indices)
                # The first axis becomes the last, as after a product with a matrix.
                order = [*range(1, len(dims)), 0]
                scaled = tf.transpose(scaled, perm=order) * diagonal
        rate = step("learning_rate")
        if indices is not None:
            return tf.scatter_add(var, indices, -rate * scaled)
        return tf.assign_sub(var, rate * scaled)

    def _matrix(
        self,
        grad: Tensor,
        var: Any,
        axis: int,
        decay: Any,
        weight: Any,
        power: Any,
        intervals: tuple[Any, Any],
        number: Tensor,
    ) -> Tensor:
        """Return the power of the summed products of an axis, (size, size)."""
        svd_interval, update_interval = intervals
        mat_g = self.get_slot(var, f"Gbar_{axis}")
        size = var.get_shape()[axis]
        others = [i for i in range(len(var.get_shape())) if i != axis]

        def add() -> Any:
            scale = weight * update_interval
            outer = tf.tensordot(grad, grad, axes=(others, others), name=f"grad_outer_{axis}")
            return self._average(mat_g, "mat_gbar_decay", decay, scale * outer)

        updated = tf.cond(tf.mod(number, update_interval) < 1, add, lambda: mat_g)
        updated = updated / float(size.value)
        if self._parameters["svd_interval"] == 1:
            return self._power(updated, size, power)

        kept = self.get_slot(var, f"H_{axis}")
        return tf.cond(
            tf.mod(number, svd_interval) < 1,
            lambda: self._power(updated, size, power, kept),
            lambda: kept,
        )

    def _power(self, matrix: Tensor, size: Any, power: Any, slot: Any = None) -> Tensor:
        """Return a symmetric matrix to a power, which `slot` is set to."""
        with tf.name_scope("matrix_iterative_power"):
            found = self._power_of(matrix, size, power)
            return found if slot is None else tf.assign(slot, found)

    def _power_of(self, matrix: Tensor, size: Any, power: Any) -> Tensor:
        if self._use_iterative_root:
            root = matrix_square_root(matrix, size, 100, self._epsilon)
            return matrix_inverse_pth_root(
                root, size, 2 * power, 100, epsilon=1e-6, ridge_epsilon=0.0
            )
        if size == 1:
            return tf.pow(matrix + self._epsilon, power)
        damping = self._epsilon * tf.eye(tf.cast(size, tf.int32))
        diagonal, left, right = tf.linalg.svd(matrix + damping, full_matrices=True)
        scaled = right * tf.pow(tf.maximum(diagonal, self._epsilon), power)
        return tf.matmul(scaled, tf.transpose(left))

    def _diagonal(
        self,
        grad: Tensor,
        var: Any,
        axis: int,
        decay: Any,
        weight: Any,
        power: Any,
        indices: Tensor | None,
    ) -> Tensor:
        """Return the power of the summed squares of an axis, (size,), or of those rows only."""
        mat_g = self.get_slot(var, f"Gbar_{axis}")
        dims = var.get_shape()
        others = [i for i in range(len(dims)) if i != axis]
        squares = grad * grad
        if others:
            size = 1.0 if indices is not None else float(dims[axis].value)
            squares = tf.reduce_sum(squares, axis=others) / size
        if axis == 0 and indices is not None:
            assert self._parameters["mat_gbar_decay"] == 1.0
            updated = tf.scatter_add(mat_g, indices, weight * squares)
            updated = tf.gather(updated, indices)
        else:
            updated = self._average(mat_g, "mat_gbar_decay", decay, weight * squares)
        return tf.where(tf.greater(updated, 0), tf.pow(updated, power), tf.zeros_like(updated))
