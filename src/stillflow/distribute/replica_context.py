"""The replica that operations are made for: `tf.distribute.ReplicaContext`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stillflow import nest
from stillflow.distribute import context
from stillflow.distribute import devices as device_names
from stillflow.distribute.reduce_op import ReduceOp, as_reduce_op
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.summary_state import state
from stillflow.ops.constants import constant
from stillflow.ops.math.comparison import equal
from stillflow.variables.custom_gradient import custom_gradient

if TYPE_CHECKING:
    from stillflow.distribute.strategy import StrategyV2


@export("contrib.distribute.require_replica_context")
def require_replica_context(replica_ctx: ReplicaContext) -> None:
    """Raise RuntimeError outside of a replica."""
    mode = context.current()
    if mode.replica is replica_ctx:
        return
    if mode.replica is None:
        raise RuntimeError("Need to be inside `call_for_each_replica()`")
    if mode.strategy is replica_ctx.strategy:
        raise RuntimeError("Mismatching ReplicaContext.")
    raise RuntimeError(
        f"Mismatching tf.distribute.Strategy objects: {mode.strategy} is not "
        f"{replica_ctx.strategy}."
    )


@export("distribute.ReplicaContext", "contrib.distribute.ReplicaContext")
class ReplicaContext:
    """The replica that operations are made for.

    Args:
      strategy: its strategy.
      replica_id_in_sync_group: which one it is, an integer or a tensor.
    """

    def __init__(self, strategy: StrategyV2, replica_id_in_sync_group: Any) -> None:
        self._strategy = strategy
        self._replica_id = replica_id_in_sync_group

    def __enter__(self) -> ReplicaContext:
        context.push(context.replica_mode(self))
        self._recorded = state.in_replica
        state.in_replica = lambda: equal(self._replica_id, constant(0))
        return self

    def __exit__(self, *details: object) -> None:
        state.in_replica = self._recorded
        context.pop()

    @property
    def strategy(self) -> StrategyV2:
        return self._strategy

    @property
    def num_replicas_in_sync(self) -> int:
        return self._strategy.num_replicas_in_sync

    @property
    def replica_id_in_sync_group(self) -> Tensor | int:
        require_replica_context(self)
        return self._replica_id

    @property
    def devices(self) -> tuple[str]:
        """The devices of its operations."""
        require_replica_context(self)
        return (device_names.current(),)

    def merge_call(self, merge_fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        """Build `merge_fn(strategy, *args, **kwargs)` once, for all replicas together.

        Args:
          merge_fn: gets what each replica gives as one value with a part for each.
          args, kwargs: of `merge_fn`.

        Returns:
          The result of `merge_fn`, of values with parts the replica's own.
        """
        require_replica_context(self)
        return self._merge_call(merge_fn, args, kwargs or {})

    def _merge_call(self, merge_fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        context.push(context.cross_replica_mode(self._strategy))
        try:
            return merge_fn(self._strategy, *args, **kwargs)
        finally:
            context.pop()

    def _reduced(self, reduce_op: ReduceOp, *values: Any) -> tuple[Any, Callable[..., Any]]:
        """Return values of all replicas, reduced, and the function of their gradients."""
        reduce = functools.partial(_reduce_in_place, reduce_op)
        return self.merge_call(reduce, values), lambda *grads: self.all_reduce(reduce_op, grads)

    def all_reduce(self, reduce_op: Any, value: Any) -> Any:
        """One value of those of all replicas, in each of them; gradients go the same way.

        Args:
          reduce_op: a `ReduceOp`.
          value: tensors in some structure.
        """
        how = as_reduce_op(reduce_op)
        reduced = custom_gradient(lambda *values: self._reduced(how, *values))
        return nest.pack_sequence_as(value, reduced(*nest.flatten(value)))


def _reduce_in_place(reduce_op: ReduceOp, strategy: StrategyV2, *values: Any) -> Any:
    """Reduce values to where they are."""
    places = (value.device if isinstance(value, Tensor) else value for value in values)
    pairs = list(zip(values, places, strict=True))
    return strategy.extended.batch_reduce_to(reduce_op, pairs)
