"""Plain gradient descent."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.math.cast import cast
from stillflow.train.optimizer import Optimizer
from stillflow.train.rule_optimizer import Step, applies_rules
from stillflow.variables.scatter import card


@export("train.GradientDescentOptimizer")
@applies_rules
class GradientDescentOptimizer(Optimizer):
    """`var -= learning_rate * gradient`.

    Args:
      learning_rate: a float, a tensor or a function of no arguments.
      use_locking: whether updates hold the variable's lock.
      name: of the operations.

    Example:
      >>> w = tf.Variable(3.0)
      >>> step = tf.train.GradientDescentOptimizer(0.25).minimize(tf.square(w))
      >>> with tf.Session() as sess: print(*[sess.run(x) for x in (w.initializer, step, w)])
      None None 1.5
    """

    def __init__(
        self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent"
    ) -> None:
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._learning_rate_tensor: Any = None

    def _prepare(self) -> None:
        (self._learning_rate_tensor,) = self._tensors(learning_rate=self._learning_rate)

    def _step(self, var: Any) -> Step:
        return Step("GradientDescent", (), {"alpha": self._learning_rate_tensor})

    # Repeated indices need no care: subtracting twice is right.

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Tensor, handle: Any, indices: Tensor
    ) -> Operation:
        return card("ResourceScatterAdd")(handle.handle, indices, -grad * self._learning_rate)

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Any) -> Tensor:
        rate = cast(self._learning_rate_tensor, var.dtype.base_dtype)
        delta = IndexedSlices(grad.values * rate, grad.indices, grad.dense_shape)
        return var.scatter_sub(delta, use_locking=self._use_locking)
