"""Optimizers under a strategy: gradients of all replicas become one and change all parts."""

from __future__ import annotations

from typing import Any

from stillflow.distribute.context import get_replica_context, in_cross_replica_context
from stillflow.distribute.reduce_op import ReduceOp
from stillflow.graph.api import control_dependencies, init_scope, name_scope
from stillflow.graph.operation import Operation
from stillflow.train.processors import get_processor
from stillflow.variables.state_ops import assign_add


def apply_in_replica(optimizer: Any, grads_and_vars: Any, global_step: Any, name: Any) -> Any:
    """Ask for an update of all variables, as `apply_gradients()` does in a replica."""
    if in_cross_replica_context():
        raise RuntimeError(
            "Use `_distributed_apply()` instead of `apply_gradients()` in a cross-replica context."
        )
    pairs = [(grad, var) for grad, var in grads_and_vars if grad is not None]
    return get_replica_context().merge_call(
        optimizer._distributed_apply, args=(pairs, global_step, name)
    )


def apply_in_all_replicas(
    optimizer: Any, strategy: Any, grads_and_vars: Any, global_step: Any, name: str | None
) -> Any:
    """Return the operation that updates all replicas' variables by the sums of their gradients."""
    from stillflow.train.optimizer import as_gradient, as_train_op

    extended = strategy.extended
    reduced = extended.batch_reduce_to(ReduceOp.SUM, grads_and_vars)
    variables = [var for _, var in grads_and_vars]
    with init_scope():
        optimizer._create_slots(variables)

    def update(var: Any, grad: Any) -> Any:
        grad = as_gradient(grad)
        processor = get_processor(var)
        with name_scope("update_" + _name_of(var)):
            return processor.update_op(optimizer, grad)

    def finish(optimizer: Any, updates: Any) -> Operation:
        return optimizer._finish(updates, "update")

    with name_scope(name, optimizer._name) as scope:
        optimizer._prepare()
        updates = [
            op
            for grad, var in zip(reduced, variables, strict=True)
            for op in extended.update(var, update, args=(grad,), group=False)
        ]
        finished = extended.update_non_slot(
            extended.non_slot_devices(variables), finish, args=(optimizer, updates), group=False
        )
        if global_step is None:
            return as_train_op(strategy.group(finished, name=scope))
        with control_dependencies(finished):
            counted = extended.update(global_step, assign_add, args=(1,), kwargs={"name": scope})
        return as_train_op(counted)


def _name_of(var: Any) -> str:
    if var.handle.holds_value:
        return str(var.name.split(":")[0])
    return str(var.op.name)
