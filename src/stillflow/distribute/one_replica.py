"""Base of strategies with a single replica, whose values are plain."""

from __future__ import annotations

from typing import Any

from stillflow.distribute.strategy import StrategyExtended
from stillflow.graph.operation import Tensor
from stillflow.ops.control_flow.identity_and_group import identity


class OneReplicaExtended(StrategyExtended):
    """Extension of a strategy with one replica for libraries."""

    _num_replicas_in_sync = 1

    def read_var(self, v: Any) -> Tensor:
        return identity(v)

    def value_container(self, value: Any) -> Any:
        return value

    def _local_results(self, value: Any) -> tuple[Any, ...]:
        return (value,)

    def _reduce_to(self, reduce_op: Any, value: Any, destinations: Any) -> Any:
        del reduce_op, destinations  # of one value
        return value

    def _broadcast_to(self, tensor: Any, destinations: Any) -> Any:
        del destinations
        return tensor

    def _update(self, var: Any, fn: Any, args: Any, kwargs: Any, group: bool) -> Any:
        return self._update_non_slot(var, fn, (var, *args), kwargs, group)
