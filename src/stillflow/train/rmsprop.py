"""RMSProp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph.export import export
from stillflow.ops.arrays.fill import ones_like
from stillflow.train.optimizer import Optimizer
from stillflow.train.rule_optimizer import Step, applies_rules, scalars_of, set_hyperparameters
from stillflow.variables.initializers import Ones

# The arguments of the training ops, and the hyperparameters that they get.
_ARGUMENTS = {"lr": "learning_rate", "rho": "decay", "momentum": "momentum", "epsilon": "epsilon"}


@export("train.RMSPropOptimizer")
@applies_rules
class RMSPropOptimizer(Optimizer):
    """Divides gradients by the root of a moving average of their squares.

    Args:
      learning_rate: a float, a tensor or a function of no arguments, as all hyperparameters.
      decay: of the moving averages.
      momentum: of the steps.
      epsilon: added to the average of squares.
      use_locking: whether updates hold the variable's lock.
      centered: whether the average gradient is subtracted: the variance instead of the square
        (Graves, 2013).
      name: of the operations and slots.

    Example:
      >>> w = tf.Variable(4.0, name="w")
      >>> step = tf.train.RMSPropOptimizer(learning_rate=0.01, decay=0.9).minimize(tf.square(w))
      >>> [v.name for v in tf.global_variables()]
      ['w:0', 'w/RMSProp:0', 'w/RMSProp_1:0']
    """

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        set_hyperparameters(
            self, learning_rate=learning_rate, decay=decay, momentum=momentum, epsilon=epsilon
        )
        self._centered = centered

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        for var in var_list:
            dtype, shape = var.dtype.base_dtype, var.get_shape()
            initial: Any = Ones(dtype=dtype) if shape.is_fully_defined() else ones_like(var)
            self._get_or_make_slot_with_initializer(var, initial, shape, dtype, "rms", self._name)
            if self._centered:
                self._zeros_slot(var, "mg", self._name)
            self._zeros_slot(var, "momentum", self._name)

    def _prepare(self) -> None:
        given = {name: getattr(self, f"_{name}") for name in _ARGUMENTS.values()}
        for name, tensor in zip(given, self._tensors(**given), strict=True):
            setattr(self, f"_{name}_tensor", tensor)

    def _step(self, var: Any) -> Step:
        scalars = scalars_of(self, **_ARGUMENTS)
        if self._centered:
            return Step("CenteredRMSProp", ("mg", "rms", "momentum"), scalars)
        return Step("RMSProp", ("rms", "momentum"), scalars)
