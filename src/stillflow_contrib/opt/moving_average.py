"""Optimizer that also keeps moving averages of its variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.train.moving_averages import ExponentialMovingAverage
from stillflow.train.optimizer import Optimizer
from stillflow.variables.collections import global_variables
from stillflow.variables.partitioned import PartitionedVariable

if TYPE_CHECKING:
    from stillflow.train.saver import Saver


@export("contrib.opt.MovingAverageOptimizer")
class MovingAverageOptimizer(Optimizer):
    """Optimizer that applies another one, then averages the variables.

    Args:
      opt: the other optimizer.
      average_decay: of the averages.
      num_updates: a counter that shortens the memory of young averages.
      sequential_update: whether averages are updated after the variables, not at the same time.
    """

    def __init__(
        self,
        opt: Optimizer,
        average_decay: Any = 0.9999,
        num_updates: Any = None,
        sequential_update: bool = True,
    ) -> None:
        self._optimizer = opt
        self._ema = ExponentialMovingAverage(average_decay, num_updates=num_updates)
        self._swapped_variable_name_map: dict[str, str] | None = None
        self._sequential_update = sequential_update

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Those of the other optimizer."""
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Operation:
        """Apply gradients and update the averages."""
        train_op = self._optimizer.apply_gradients(
            grads_and_vars, global_step=global_step, name=name
        )
        var_list = [var for grad, var in grads_and_vars if grad is not None]
        if self._sequential_update:
            with get_default_graph().control_dependencies([train_op]):
                average_op = self._ema.apply(var_list)
        else:
            average_op = self._ema.apply(var_list)
        swapped = self._swapped_variable_name_map = {}
        for var in var_list:
            average = self._ema.average(var)
            swapped[var.op.name] = average.op.name
            swapped[average.op.name] = var.op.name
        return group(train_op, average_op, name="train_with_avg")

    def swapping_saver(
        self, var_list: Any = None, name: str = "swapping_saver", **kwargs: Any
    ) -> Saver:
        """Return a `tf.train.Saver` that saves averages under the variables' names and the reverse.

        So a program without moving averages loads them instead of the variables.

        Raises:
          RuntimeError: if `apply_gradients` was not called.
          ValueError: if a variable is saved without its average.
        """
        from stillflow.train.saver import Saver

        return Saver(self._swapped(var_list), name=name, **kwargs)

    def _swapped(self, var_list: Any) -> dict[str, Any]:
        if self._swapped_variable_name_map is None:
            raise RuntimeError(
                "Must call apply_gradients or minimize before creating the swapping_saver"
            )
        if var_list is None:
            var_list = global_variables()
        if not isinstance(var_list, dict):
            from stillflow.train.saveables import op_list_to_dict

            var_list = op_list_to_dict(var_list)
        by_name: dict[str, Any] = {}
        for key, item in var_list.items():
            if isinstance(item, (list, PartitionedVariable)):
                by_name.update({part.op.name: part for part in item})
            else:
                by_name[key] = item
        return {
            key: [self._other(by_name, part.op.name, part) for part in item]
            if isinstance(item, list)
            else self._other(by_name, key, item)
            for key, item in var_list.items()
        }

    def _other(self, by_name: dict[str, Any], name: str, variable: Any) -> Any:
        """Return the average of a variable, the variable of an average, or any other variable."""
        assert self._swapped_variable_name_map is not None
        other = self._swapped_variable_name_map.get(name)
        if other is None:
            return variable
        if other not in by_name:
            raise ValueError(
                f"Variable to swap {other} is not part of variables to save. This breaks "
                "MovingAverageOptimizer."
            )
        return by_name[other]
