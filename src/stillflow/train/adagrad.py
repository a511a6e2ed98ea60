"""Adagrad."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph.export import export
from stillflow.ops.arrays.fill import fill_op
from stillflow.ops.arrays.shape import shape
from stillflow.ops.math.cast import cast
from stillflow.train.optimizer import Optimizer
from stillflow.train.rule_optimizer import Step, applies_rules
from stillflow.variables.initializers import Constant


@export("train.AdagradOptimizer")
@applies_rules
class AdagradOptimizer(Optimizer):
    """Divides gradients by the root of the sum of all squares so far (Duchi et al., 2011).

    Args:
      learning_rate: a float, a tensor or a function of no arguments.
      initial_accumulator_value: the initial sums.
      use_locking: whether updates hold the variable's lock.
      name: of the operations and slots.

    Raises:
      ValueError: if `initial_accumulator_value` is not positive.

    Example:
      >>> w = tf.Variable(4.0, name="w")
      >>> step = tf.train.AdagradOptimizer(learning_rate=0.1).minimize(tf.square(w))
      >>> [v.name for v in tf.global_variables()]
      ['w:0', 'w/Adagrad:0']
    """

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(
                f"initial_accumulator_value must be positive: {initial_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._learning_rate = learning_rate
        self._initial_accumulator_value = initial_accumulator_value
        self._learning_rate_tensor: Any = None

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            dtype, known = var.dtype.base_dtype, var.get_shape()
            initial: Any = self._init_constant_op(var, dtype)
            if known.is_fully_defined():
                initial = Constant(self._initial_accumulator_value, dtype=dtype)
            self._get_or_make_slot_with_initializer(
                var, initial, known, dtype, "accumulator", self._name
            )

    def _init_constant_op(self, v: Any, dtype: Any) -> Callable[[], Any]:
        """Return the initializer of a slot whose shape is known when it runs."""

        def initial() -> Any:
            return cast(fill_op(shape(v), self._initial_accumulator_value), dtype)

        return initial

    def _prepare(self) -> None:
        (self._learning_rate_tensor,) = self._tensors(learning_rate=self._learning_rate)

    def _step(self, var: Any) -> Step:
        return Step("Adagrad", ("accumulator",), {"lr": self._learning_rate_tensor})
