"""Moving averages of variables and tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.distribute.context import get_cross_replica_context, get_replica_context
from stillflow.distribute.reduce_op import ReduceOp
from stillflow.graph import dtypes
from stillflow.graph.api import init_scope, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.ops.math.binary import minimum, pow
from stillflow.ops.math.cast import cast
from stillflow.ops.math.division import div, truediv
from stillflow.train import slot_creator
from stillflow.variables.base import VariableV2
from stillflow.variables.collections import (
    global_variables,
    moving_average_variables,
    trainable_variables,
)
from stillflow.variables.initializers import Zeros
from stillflow.variables.state_ops import assign, assign_sub
from stillflow.variables.variable_scope import get_variable, get_variable_scope, variable_scope

_FLOATS = (dtypes.bfloat16, dtypes.float16, dtypes.float32, dtypes.float64)


def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Any:
    """Update a variable to `variable * decay + value * (1 - decay)` when run; return it read then.

    `zero_debias` corrects an average that started with zeros, as in section 3 of Kingma and Ba
    (2015). This makes variables `biased` and `local_step`.
    """
    with name_scope(name, "AssignMovingAvg", [variable, value, decay]) as scope:
        rate = convert_to_tensor(1.0 - decay, name="decay")
        if rate.dtype != variable.dtype.base_dtype:
            rate = cast(rate, variable.dtype.base_dtype)

        def step(var: Any, value: Any) -> Any:
            return assign_sub(var, (var - value) * rate, name=scope)

        def update(strategy: Any, var: Any, value: Any) -> Any:
            if zero_debias:
                return _zero_debias(strategy, var, value, rate)
            return strategy.extended.update(var, step, args=(value,))

        def merge(strategy: Any, var: Any, value: Any) -> Any:
            mean = strategy.extended.reduce_to(ReduceOp.MEAN, value, var)
            return update(strategy, var, mean)

        replica = get_replica_context()
        if replica is None:
            return update(get_cross_replica_context(), variable, value)
        return replica.merge_call(merge, args=(variable, value))


def weighted_moving_average(
    value: Tensor,
    decay: Any,
    weight: Tensor,
    truediv: bool = True,
    collections: Sequence[str] | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the moving average of `value * weight`, divided by that of `weight`.

    Both are of known shape; integers are divided as floats if `truediv`. `collections` are of the
    variables that keep the averages; GLOBAL_VARIABLES by default.
    """
    collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else collections
    with variable_scope(name, "WeightedMovingAvg", [value, weight, decay]) as scope:
        numerator_var, denominator_var = (
            get_variable(
                key,
                shape=tensor.get_shape(),
                dtype=tensor.dtype,
                initializer=Zeros(),
                trainable=False,
                collections=collections,
            )
            for key, tensor in (("value_x_weight", value), ("weight", weight))
        )
        numerator = assign_moving_average(numerator_var, value * weight, decay, zero_debias=False)
        denominator = assign_moving_average(denominator_var, weight, decay, zero_debias=False)
        return _quotient(truediv)(numerator, denominator, name=scope.name)


def _quotient(true: bool) -> Callable[..., Any]:
    return truediv if true else div


def _zero_debias(strategy: Any, unbiased: Any, value: Any, rate: Tensor) -> Any:
    with variable_scope(unbiased.name[: -len(":0")], values=[unbiased, value, rate]):
        with strategy.extended.colocate_vars_with(unbiased):
            biased = get_variable(
                _unused("biased"),
                initializer=Zeros(),
                shape=unbiased.get_shape(),
                dtype=unbiased.dtype,
                trainable=False,
            )
            local_step = get_variable(
                _unused("local_step"),
                shape=[],
                dtype=unbiased.dtype,
                initializer=Zeros(),
                trainable=False,
            )

    def update(var: Any, value: Any, biased: Any, local_step: Any) -> Any:
        new_biased = assign_sub(biased, (biased - value) * rate)
        new_step = local_step.assign_add(1)
        factor = 1 - pow(1.0 - rate, new_step)
        scope = get_default_graph().get_name_scope()
        return assign(var, new_biased / factor, name=scope + "/")

    return strategy.extended.update(unbiased, update, args=(value, biased, local_step))


def _unused(name: str) -> str:
    """`name`, with a number where the current scope has a variable of that name."""
    scope = get_variable_scope()
    if scope.reuse:
        return name
    used = {variable.op.name for variable in scope.global_variables()}
    if f"{scope.name}/{name}" not in used:
        return name
    number = 1
    while f"{scope.name}/{name}_{number}" in used:
        number += 1
    return f"{name}_{number}"


@export("train.ExponentialMovingAverage")
class ExponentialMovingAverage:
    """Moving averages of variables, used instead of them for evaluation.

    Args:
      decay: how much of the old average remains; near 1.
      num_updates: a counter; while it is small the decay is at most `(1 + n) / (10 + n)`.
      zero_debias: whether averages of tensors are corrected for their start from zero.
      name: of operations and of the variables that keep the averages.

    Example:
      >>> w, average = tf.Variable(4.0, name="w"), tf.train.ExponentialMovingAverage(decay=0.99)
      >>> update = average.apply([w])  # run it after each training step
      >>> average.average(w).name, average.average_name(w)
      ('w/ExponentialMovingAverage:0', 'w/ExponentialMovingAverage')
    """

    def __init__(
        self,
        decay: Any,
        num_updates: Any = None,
        zero_debias: bool = False,
        name: str = "ExponentialMovingAverage",
    ) -> None:
        self._decay = decay
        self._num_updates = num_updates
        self._zero_debias = zero_debias
        self._name = name
        self._averages: dict[Any, Any] = {}

    @property
    def name(self) -> str:
        return self._name

    def apply(self, var_list: Sequence[Any] | None = None) -> Operation:
        """Return the operation that updates the averages, which are made the first time.

        Args:
          var_list: variables and tensors; by default the trainable variables.

        Raises:
          TypeError: if one is not of a floating type.
        """
        variables = trainable_variables() if var_list is None else var_list
        fresh = [var for var in variables if self._adds_average(var)]
        debiased = set()
        if self._zero_debias:
            debiased = {v.experimental_ref() for v in fresh if not isinstance(v, VariableV2)}
        with name_scope(self.name) as scope:
            decay = self._current_decay()
            return group(
                *(
                    assign_moving_average(
                        self.average(var), var, decay, var.experimental_ref() in debiased
                    )
                    for var in variables
                ),
                name=scope,
            )

    def _current_decay(self) -> Tensor:
        """Return the decay, which is smaller while the counter of updates is small."""
        decay = convert_to_tensor(self._decay, name="decay")
        if self._num_updates is None:
            return decay
        updates: Any = cast(self._num_updates, dtypes.float32, name="num_updates")
        return minimum(decay, (1.0 + updates) / (10.0 + updates))

    def _adds_average(self, var: Any) -> bool:
        """Make the average of a variable or tensor; False if there is one."""
        if var.dtype.base_dtype not in _FLOATS:
            raise TypeError(f"The variables must be half, float, or double: {var.name}")
        if self.average(var) is not None:
            return False
        with init_scope():
            if isinstance(var, VariableV2):
                average = slot_creator.create_slot(var, var.initialized_value(), self.name)
                get_default_graph().add_to_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, var)
            else:
                is_state = var.op.type in ("Variable", "VariableV2", "VarHandleOp")
                average = slot_creator.create_zeros_slot(
                    var, self.name, colocate_with_primary=is_state
                )
        self._averages[var.experimental_ref()] = average
        return True

    def average(self, var: Any) -> Any:
        """Return the variable that keeps the average of `var`; None if `apply` did not get it."""
        return self._averages.get(var.experimental_ref())

    def average_name(self, var: Any) -> str:
        """Return the name that the average of `var` has, or would get."""
        average = self.average(var)
        if average is not None:
            name: str = slot_creator.name_of(average)
            return name
        return get_default_graph().unique_name(
            f"{slot_creator.name_of(var)}/{self.name}", mark_as_used=False
        )

    def variables_to_restore(
        self, moving_avg_variables: Sequence[Any] | None = None
    ) -> dict[str, Any]:
        """Return `tf.train.Saver`'s argument for loading averages into the variables.

        Args:
          moving_avg_variables: the variables whose average is to be loaded; by default those that
            are trainable or have an average.

        Returns:
          {name in the checkpoint: variable} for all global variables.
        """
        if moving_avg_variables is None:
            moving_avg_variables = trainable_variables() + moving_average_variables()
        restored = {self.average_name(v): v for v in dict.fromkeys(moving_avg_variables)}
        averaged = {v.name for v in restored.values()}
        for v in dict.fromkeys(global_variables()):
            if v.name not in averaged and v.op.name not in restored:
                restored[v.op.name] = v
        return restored
