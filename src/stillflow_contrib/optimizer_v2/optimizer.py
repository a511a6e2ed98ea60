"""The base of optimizers whose methods are given their state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.distribute.context import get_replica_context, get_strategy
from stillflow.distribute.reduce_op import ReduceOp
from stillflow.graph.api import init_scope, name_scope
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.train.optimizer import (
    Optimizer,
    as_gradient,
    as_train_op,
    deduplicate_indexed_slices,
    gradients_of_function,
)
from stillflow.train.processors import get_processor
from stillflow.train.slot_creator import name_of
from stillflow.train.slots import current_graph, graph_of
from stillflow.variables.resource_variable import BaseResourceVariable
from stillflow_contrib.optimizer_v2.state import OptimizerState


class _WithState:
    """An optimizer as variables' processors see it: they do not know of states."""

    def __init__(self, optimizer: OptimizerV2, state: OptimizerState) -> None:
        self._optimizer, self._state = optimizer, state

    def _apply_dense(self, grad: Tensor, var: Any) -> Tensor | Operation:
        return self._optimizer._apply_dense(grad, var, self._state)

    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Any) -> Tensor | Operation:
        return self._optimizer._apply_sparse_duplicate_indices(grad, var, self._state)

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Tensor | Operation:
        return self._optimizer._resource_apply_dense(grad, handle, self._state)

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Tensor, handle: Any, indices: Tensor
    ) -> Operation:
        return self._optimizer._resource_apply_sparse_duplicate_indices(
            grad, handle, indices, self._state
        )


def _is_dynamic(value: Any) -> bool:
    if callable(value):
        return True
    return get_default_graph().runs_at_once and isinstance(value, BaseResourceVariable)


@export("contrib.optimizer_v2.OptimizerV2")
class OptimizerV2(Optimizer):
    """Base class of optimizers that keep a state for each graph.

    A subclass says its hyperparameters by `_set_hyper`, makes slots in `_create_vars`, and updates
    a variable in `_apply_dense`, `_apply_sparse`, `_resource_apply_dense` and
    `_resource_apply_sparse`, all of which are given the state.

    Args:
      use_locking: whether updates hold the variable's lock.
      name: of the operations and slots.

    Raises:
      ValueError: without a name.
      RuntimeError: if a subclass overrides `_create_slots`.
    """

    def __init__(self, use_locking: bool, name: str) -> None:
        if type(self)._create_slots is not OptimizerV2._create_slots:
            raise RuntimeError(
                "Override _create_vars instead of _create_slots when descending from OptimizerV2 "
                f"(class {type(self).__name__})"
            )
        super().__init__(use_locking, name)
        self._states: dict[Any, OptimizerState] = {}
        self._hyper: dict[str, tuple[bool, Any]] = {}

    def _set_hyper(self, name: str, value: Any) -> None:
        self._hyper[name] = (_is_dynamic(value), value)

    def _set_hypers(self, **values: Any) -> None:
        for name, value in values.items():
            self._set_hyper(name, value)

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: int | None = None,
        name: str | None = None,
        grad_loss: Any = None,
        stop_gradients: Any = None,
        scale_loss_by_num_replicas: bool = False,
    ) -> Operation:
        """Return the operation that changes `var_list` so that `loss` gets smaller.

        Args:
          loss: a tensor, or a function that gives one.
          global_step: a variable to increment afterwards.
          var_list: variables to train; the collection TRAINABLE_VARIABLES by default.
          gate_gradients: `GATE_NONE`, `GATE_OP` or `GATE_GRAPH`.
          aggregation_method: one of `tf.AggregationMethod`.
          name: of the operation; the optimizer's by default.
          grad_loss: the gradient that `loss` receives, ones by default.
          stop_gradients: tensors that gradients do not pass.
          scale_loss_by_num_replicas: whether the loss of a replica is divided by their number.

        Raises:
          ValueError: if no variable has a gradient, or the type of one is not supported.
        """
        grads_and_vars = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            grad_loss=grad_loss,
            stop_gradients=stop_gradients,
            scale_loss_by_num_replicas=scale_loss_by_num_replicas,
        )
        if all(grad is None for grad, _ in grads_and_vars):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not "
                "support gradients, between variables "
                f"{[str(v) for _, v in grads_and_vars]} and loss {loss}."
            )
        return self.apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: int | None = None,
        grad_loss: Any = None,
        stop_gradients: Any = None,
        scale_loss_by_num_replicas: bool = False,
    ) -> list[tuple[Any, Any]]:
        """Return the gradients of `loss`, as (gradient or None, variable).

        Arguments as in `minimize()`.

        Raises:
          ValueError: if there are no variables, or the type of one is not supported.
          RuntimeError: in eager execution, if the loss is no function.
        """
        if callable(loss):
            return gradients_of_function(
                lambda: self._scale_loss(loss(), scale_loss_by_num_replicas), var_list, grad_loss
            )
        if get_default_graph().runs_at_once:
            raise RuntimeError(
                "`loss` passed to Optimizer.compute_gradients should be a function when eager "
                "execution is enabled."
            )
        loss = self._scale_loss(loss, scale_loss_by_num_replicas)
        return self._gradients_of_tensor(
            loss, var_list, gate_gradients, grad_loss, aggregation_method=aggregation_method,
            stop_gradients=stop_gradients,
        )  # fmt: skip

    @staticmethod
    def _scale_loss(loss_value: Any, scale_loss_by_num_replicas: bool) -> Tensor:
        count = get_strategy().num_replicas_in_sync if scale_loss_by_num_replicas else 1
        return loss_value * (1.0 / count) if count > 1 else loss_value

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Operation:
        """Return the operation that changes variables by their gradients.

        Args:
          grads_and_vars: pairs (gradient or None, variable).
          global_step: a variable to increment afterwards.
          name: of the operation; the optimizer's by default.

        Raises:
          TypeError: if a gradient is neither a tensor nor IndexedSlices.
          ValueError: if no variable has a gradient.
        """
        pairs = tuple(grads_and_vars)
        if not pairs:
            raise ValueError("No variables provided.")
        given = tuple((grad, var) for grad, var in pairs if grad is not None)
        if not given:
            raise ValueError(
                f"No gradients provided for any variable: {[str(v) for _, v in pairs]}."
            )
        kwargs = {"global_step": global_step, "name": name}
        context = get_replica_context()
        return context.merge_call(self._distributed_apply, args=(given,), kwargs=kwargs)

    def _distributed_apply(
        self, distribution: Any, grads_and_vars: Any, global_step: Any = None, name: Any = None
    ) -> Operation:
        extended = distribution.extended
        reduced = extended.batch_reduce_to(ReduceOp.SUM, grads_and_vars)
        variables = [var for _, var in grads_and_vars]
        with name_scope(name, self._name) as scope:
            devices = extended.non_slot_devices(variables)
            state = self._state().of_step(self._hyper, distribution, devices)
        with init_scope():
            self._create_vars(variables, state)
        with name_scope(scope):
            self._prepare(state)
            finished = self._update_all(extended, reduced, variables, state)
            if global_step is None:
                return as_train_op(distribution.group(finished, name=scope))
            with get_default_graph().control_dependencies(finished):
                counted = extended.update(
                    global_step,
                    lambda step, name: step.assign_add(1, read_value=False, name=name),
                    args=(scope,),
                )
            return as_train_op(counted)

    def _update_all(
        self, extended: Any, grads: Sequence[Any], variables: Sequence[Any], state: OptimizerState
    ) -> Any:
        """Update all variables, and then the optimizer's other state."""
        with_state = _WithState(self, state)

        def update(var: Any, grad: Any) -> Any:
            grad = as_gradient(grad)
            processor = get_processor(var)
            at_once = get_default_graph().runs_at_once
            with name_scope("update_" + ("" if at_once else name_of(var))):
                return processor.update_op(with_state, grad)

        updates = [
            op
            for grad, var in zip(grads, variables, strict=True)
            for op in extended.update(var, update, args=(grad,), group=False)
        ]
        updated = group(updates)
        with get_default_graph().control_dependencies([updated]):
            finished = extended.update_non_slot(
                state._non_slot_devices, lambda: self._finish(state), group=False
            )
        return (updated,) if finished == (None,) else finished

    # ---- the state of a graph

    def _state(self) -> OptimizerState:
        graph = current_graph()
        if graph not in self._states:
            self._states[graph] = OptimizerState(self, self._hyper)
        return self._states[graph]

    def _get_per_graph_state(self) -> OptimizerState | None:
        return self._states.get(current_graph())

    def get_slot(self, var: Any, name: str) -> Any:
        """Return the slot `name` of a variable; None if there is none."""
        state = self._states.get(graph_of(var))
        return None if state is None else state.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """Return the names of all slots in the default graph, sorted."""
        state = self._get_per_graph_state()
        return [] if state is None else state.get_slot_names()

    def variables(self) -> list[Any]:
        """Return the optimizer's own variables in the default graph, sorted by name."""
        state = self._get_per_graph_state()
        return [] if state is None else state.variables()

    # ---- methods for subclasses

    def _create_vars(self, var_list: Sequence[Any], state: OptimizerState) -> None:
        """Make the slots of all variables that will be trained."""

    def _prepare(self, state: OptimizerState) -> None:
        """Prepare the update of variables."""

    def _apply_dense(self, grad: Tensor, var: Any, state: OptimizerState) -> Any:
        """Return the operation that updates a reference variable."""
        raise NotImplementedError()

    def _resource_apply_dense(self, grad: Tensor, handle: Any, state: OptimizerState) -> Any:
        """Return the operation that updates a resource variable."""
        raise NotImplementedError()

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Tensor, handle: Any, indices: Tensor, state: OptimizerState
    ) -> Operation:
        """Update rows of a resource variable that `indices` may name several times."""
        summed, unique_indices = deduplicate_indexed_slices(grad, indices)
        return self._resource_apply_sparse(summed, handle, unique_indices, state)

    def _resource_apply_sparse(
        self, grad: Tensor, handle: Any, indices: Tensor, state: OptimizerState
    ) -> Any:
        """Update rows of a resource variable; `indices` are all different."""
        raise NotImplementedError()

    def _apply_sparse_duplicate_indices(
        self, grad: IndexedSlices, var: Any, state: OptimizerState
    ) -> Operation:
        """Update rows of a reference variable that the gradient may name several times."""
        summed, unique_indices = deduplicate_indexed_slices(grad.values, grad.indices)
        grad = IndexedSlices(summed, unique_indices, grad.dense_shape)
        return self._apply_sparse(grad, var, state)

    def _apply_sparse(self, grad: IndexedSlices, var: Any, state: OptimizerState) -> Any:
        """Update rows of a reference variable; the indices are all different."""
        raise NotImplementedError()

    def _finish(self, state: OptimizerState) -> Operation | None:
        """Return the operation that completes the step, after all updates.

        None if there is none.
        """
        return None


def _unsupported(name: str) -> Callable[..., Any]:
    def refuse(*unused: Any, **also_unused: Any) -> Any:
        raise NotImplementedError(f"{name}() method unsupported in OptimizerV2")

    return refuse


# The optimizers' own attributes, which states have here.
for _name in (
    "_slot_dict",
    "_get_or_make_slot",
    "_get_or_make_slot_with_initializer",
    "_create_non_slot_variable",
    "_get_non_slot_variable",
    "_non_slot_variables",
):
    setattr(OptimizerV2, _name, _unsupported(_name))
