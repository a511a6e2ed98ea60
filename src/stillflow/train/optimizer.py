"""The base of optimizers: from a loss to the operation that trains one step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow import nest
from stillflow.distribute.context import get_strategy, has_strategy
from stillflow.distribute.reduce_op import ReduceOp, get_loss_reduction
from stillflow.eager.backprop import GradientTape
from stillflow.graph import dtypes
from stillflow.graph.api import get_collection, get_collection_ref, init_scope, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export, redefinable
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.indexed_slices import IndexedSlices, convert_to_tensor_or_indexed_slices
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.shape import shape
from stillflow.ops.arrays.unique import unique
from stillflow.ops.control_flow.identity_and_group import group, tuple_
from stillflow.ops.gradients.gradients import gradients
from stillflow.ops.math.segment import unsorted_segment_sum
from stillflow.ops.variables.resource import assign_add_variable_op
from stillflow.train.distributed_apply import apply_in_all_replicas, apply_in_replica
from stillflow.train.processors import get_processor
from stillflow.train.slot_creator import name_of
from stillflow.train.slots import Slots
from stillflow.variables.collections import trainable_variables
from stillflow.variables.resource_variable import BaseResourceVariable
from stillflow.variables.state_ops import assign_add


def deduplicate_indexed_slices(values: Any, indices: Any) -> tuple[Tensor, Tensor]:
    """Add up the slices that have one index: (sums, indices without repetition)."""
    unique_indices, positions = unique(indices)
    count = shape(unique_indices)[0]
    return unsorted_segment_sum(values, positions, count), unique_indices


@export("train.Optimizer")
class Optimizer(Slots):
    """Base class of optimizers; use a subclass such as `tf.train.AdamOptimizer`.

    `minimize()` is `compute_gradients()` followed by `apply_gradients()`; programs that change
    gradients in between call the two.

    A subclass makes slots in `_create_slots`, tensors of its hyperparameters in `_prepare`, and
    updates a variable in `_apply_dense`, `_apply_sparse` (reference variables) and
    `_resource_apply_dense`, `_resource_apply_sparse` (resource variables).

    Args:
      use_locking: lock variables while they are updated.
      name: of the scope of its operations, and start of the names of its slots.

    Raises:
      ValueError: if there is no name.

    Example:
      >>> w, sgd = tf.Variable(3.0, name="w"), tf.train.GradientDescentOptimizer(0.1)
      >>> (gradient, _), = sgd.compute_gradients(tf.square(w))
      >>> sgd.apply_gradients([(gradient / 2, w)]).name, isinstance(sgd, tf.train.Optimizer)
      ('GradientDescent', True)
    """

    GATE_NONE = 0
    GATE_OP = 1
    GATE_GRAPH = 2

    def __init__(self, use_locking: bool, name: str) -> None:
        if not name:
            raise ValueError("Must specify the optimizer name")
        super().__init__()
        self._use_locking = use_locking
        self._name = name

    def get_name(self) -> str:
        return self._name

    @redefinable
    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
    ) -> Operation:
        """Return the operation that changes `var_list` so that `loss` gets smaller.

        Args:
          loss: a tensor, or a function that gives one.
          global_step: a variable to increment afterwards.
          var_list: variables to train; the collection TRAINABLE_VARIABLES by default.
          gate_gradients: `GATE_NONE`, `GATE_OP` or `GATE_GRAPH`.
          aggregation_method: one of `tf.AggregationMethod`.
          colocate_gradients_with_ops: place gradients with the operations they belong to.
          name: of the operation; the optimizer's by default.
          grad_loss: the gradient that `loss` receives, ones by default.

        Raises:
          ValueError: if no variable has a gradient, or the type of one is not supported.
        """
        grads_and_vars = self.compute_gradients(
            loss,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        if all(grad is None for grad, _ in grads_and_vars):
            raise ValueError(
                "No gradients provided for any variable, check your graph for ops that do not "
                "support gradients, between variables "
                f"{[str(v) for _, v in grads_and_vars]} and loss {loss}."
            )
        return self.apply_gradients(grads_and_vars, global_step=global_step, name=name)

    @redefinable
    def compute_gradients(
        self,
        loss: Any,
        var_list: Any = None,
        gate_gradients: int = GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """Return the gradients of `loss`; arguments as in `minimize()`.

        Returns:
          A list of (gradient or None, variable).

        Raises:
          ValueError: if there are no variables, or the type of one is not supported.
        """
        if callable(loss):
            return gradients_of_function(loss, var_list, grad_loss)
        if get_default_graph().runs_at_once:
            raise RuntimeError(
                "`loss` passed to Optimizer.compute_gradients should be a function when eager "
                "execution is enabled."
            )
        return self._gradients_of_tensor(
            _scaled(loss), var_list, gate_gradients, grad_loss,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )  # fmt: skip

    def _gradients_of_tensor(
        self, loss: Any, var_list: Any, gate_gradients: int, grad_loss: Any, **how: Any
    ) -> list[tuple[Any, Any]]:
        """Return the gradients of a tensor; `how` is for `tf.gradients`."""
        if gate_gradients not in (self.GATE_NONE, self.GATE_OP, self.GATE_GRAPH):
            raise ValueError(
                "gate_gradients must be one of: Optimizer.GATE_NONE, Optimizer.GATE_OP, "
                f"Optimizer.GATE_GRAPH.  Not {gate_gradients}"
            )
        self._assert_valid_dtypes([loss])
        if grad_loss is not None:
            self._assert_valid_dtypes([grad_loss])
        if var_list is None:
            var_list = trainable_variables() + get_collection(
                GraphKeys.TRAINABLE_RESOURCE_VARIABLES
            )
        else:
            var_list = nest.flatten(var_list)
        var_list = var_list + get_collection(GraphKeys._STREAMING_MODEL_PORTS)
        targets = [get_processor(v).target() for v in var_list]
        if not var_list:
            raise ValueError("No variables to optimize.")
        grads = gradients(
            loss,
            targets,
            grad_ys=grad_loss,
            gate_gradients=gate_gradients == self.GATE_OP,
            **how,
        )
        if gate_gradients == self.GATE_GRAPH:
            grads = tuple_(grads)
        grads_and_vars = list(zip(grads, var_list, strict=True))
        self._assert_valid_dtypes(
            [v for g, v in grads_and_vars if g is not None and v.dtype != dtypes.resource]
        )
        return grads_and_vars

    @redefinable
    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Operation:
        """Return the operation that changes variables by their gradients.

        Args:
          grads_and_vars: pairs (gradient or None, variable), as `compute_gradients()` gives.
          global_step: a variable to increment afterwards.
          name: of the operation; the optimizer's by default.

        Raises:
          TypeError: if a gradient is neither a tensor nor IndexedSlices.
          ValueError: if no variable has a gradient.
          RuntimeError: in the scope of a strategy, outside of its replicas.
        """
        if has_strategy():
            return apply_in_replica(self, grads_and_vars, global_step, name)
        pairs = [(_converted(g), v) for g, v in tuple(grads_and_vars)]
        if not pairs:
            raise ValueError("No variables provided.")
        processed = [(g, v, get_processor(v)) for g, v in pairs]
        var_list = [v for g, v in pairs if g is not None]
        if not var_list:
            raise ValueError(
                f"No gradients provided for any variable: {[str(v) for _, v in pairs]}."
            )
        with init_scope():
            self._create_slots(var_list)
        graph = get_default_graph()
        update_ops: list[Any] = []
        with name_scope(name, self._name) as scope:
            self._prepare()
            for grad, var, processor in processed:
                if grad is None:
                    continue
                with name_scope("update_" + name_of(var)), graph.colocate_with(var):
                    update_ops.append(processor.update_op(self, grad))
            if global_step is None:
                apply_updates = self._finish(update_ops, scope)
            else:
                with graph.control_dependencies([self._finish(update_ops, "update")]):
                    apply_updates = _increment(global_step, scope)
        return as_train_op(apply_updates)

    def _distributed_apply(
        self, distribution: Any, grads_and_vars: Any, global_step: Any = None, name: Any = None
    ) -> Any:
        """Build the update of all replicas of a strategy together for `apply_gradients()`."""
        return apply_in_all_replicas(self, distribution, grads_and_vars, global_step, name)

    def _assert_valid_dtypes(self, tensors: Sequence[Any]) -> None:
        valid = self._valid_dtypes()
        for tensor in tensors:
            dtype = tensor.dtype.base_dtype
            if dtype not in valid:
                raise ValueError(
                    f"Invalid type {dtype!r} for {tensor.name}, expected: {list(valid)}."
                )

    # ---- methods for subclasses

    def _valid_dtypes(self) -> set[Any]:
        """Return the types of losses, variables and gradients that are supported."""
        return {dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64}

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        """Make the slots of all variables that will be trained."""

    @redefinable
    def _prepare(self) -> None:
        """Make tensors of hyperparameters, before variables are updated."""

    @redefinable
    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        """Return the operation that updates a reference variable."""
        raise NotImplementedError()

    @redefinable
    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        """Return the operation that updates a resource variable."""
        raise NotImplementedError()

    @redefinable
    def _resource_apply_sparse_duplicate_indices(
        self, grad: Tensor, handle: Any, indices: Tensor
    ) -> Any:
        """Update rows of a resource variable that `indices` may name several times."""
        summed, unique_indices = deduplicate_indexed_slices(grad, indices)
        return self._resource_apply_sparse(summed, handle, unique_indices)

    @redefinable
    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        """Update rows of a resource variable; `indices` are all different."""
        raise NotImplementedError()

    @redefinable
    def _apply_sparse_duplicate_indices(self, grad: IndexedSlices, var: Any) -> Tensor | Operation:
        """Update rows of a reference variable that the gradient may name several times."""
        summed, unique_indices = deduplicate_indexed_slices(grad.values, grad.indices)
        return self._apply_sparse(IndexedSlices(summed, unique_indices, grad.dense_shape), var)

    @redefinable
    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        """Update rows of a reference variable; the indices are all different."""
        raise NotImplementedError()

    @redefinable
    def _finish(self, update_ops: list[Any], name_scope: str) -> Operation:
        """Return the operation that completes the step; may add to `update_ops`."""
        return group(*update_ops, name=name_scope)

    def _call_if_callable(self, param: Any) -> Any:
        """Hyperparameters may be functions of no arguments."""
        return param() if callable(param) else param

    def _tensors(self, **parameters: Any) -> list[Tensor]:
        """Hyperparameters as tensors, by the names of their nodes; functions are called first."""
        values = {name: self._call_if_callable(value) for name, value in parameters.items()}
        return [convert_to_tensor(value, name=name) for name, value in values.items()]


def _converted(grad: Any) -> Tensor | IndexedSlices | None:
    return None if grad is None else as_gradient(grad)


def as_gradient(grad: Any) -> Tensor | IndexedSlices:
    """Return a gradient as a tensor or IndexedSlices; TypeError if it is neither."""
    try:
        converted = convert_to_tensor_or_indexed_slices(grad)
    except TypeError:
        raise TypeError(
            f"Gradient must be convertible to a Tensor or IndexedSlices, or None: {grad}"
        ) from None
    if not isinstance(converted, (Tensor, IndexedSlices)):
        raise TypeError(f"Gradient must be a Tensor, IndexedSlices, or None: {converted}")
    return converted


def as_train_op(apply_updates: Any) -> Any:
    """Return the operation that applies gradients, which is in the collection TRAIN_OP."""
    if get_default_graph().runs_at_once:
        return apply_updates
    if isinstance(apply_updates, Tensor):
        apply_updates = apply_updates.op
    train_ops = get_collection_ref(GraphKeys.TRAIN_OP)
    if apply_updates not in train_ops:
        train_ops.append(apply_updates)
    return apply_updates


def _scaled(loss: Any) -> Tensor:
    """Return a replica's share of a loss, where losses of replicas are added and it is a mean."""
    get_default_graph()._is_loss_scaled_by_optimizer = False
    if get_loss_reduction() == ReduceOp.MEAN:
        count = get_strategy().num_replicas_in_sync
        if count > 1:
            loss = loss * (1.0 / count)
            get_default_graph()._is_loss_scaled_by_optimizer = True
    return loss


def _increment(global_step: Any, name: str) -> Any:
    with get_default_graph().colocate_with(global_step):
        if isinstance(global_step, BaseResourceVariable):
            one = convert_to_tensor(1, dtype=global_step.dtype)
            return assign_add_variable_op(global_step.handle, one, name=name)
        return assign_add(global_step, 1, name=name)


def gradients_of_function(
    loss: Callable[[], Any], var_list: Any, grad_loss: Any
) -> list[tuple[Any, Any]]:
    """Return gradients of `loss()`; by default by the trainable variables that it reads.

    `grad_loss` is the gradient that the loss receives, ones if None.
    """
    graph = get_default_graph()
    if not graph.runs_at_once and not graph.building_function:
        return _gradients_in_graph(loss, var_list, grad_loss)
    with GradientTape() as tape:
        if var_list is not None:
            tape.watch(var_list)
        value = _scaled(loss())
    if var_list is None:
        var_list = tape.watched_variables()
    with graph.control_dependencies([value]):
        grads = tape.gradient(value, var_list, grad_loss)
    return list(zip(grads, var_list, strict=True))


def _gradients_in_graph(
    loss: Callable[[], Any], var_list: Any, grad_loss: Any
) -> list[tuple[Any, Any]]:
    """Return gradients in a graph, where tapes do not know reference variables."""
    graph = get_default_graph()
    before = len(graph.get_operations())
    value = _scaled(loss())
    if var_list is None:
        read = {
            tensor.op
            for op in graph.get_operations()[before:]
            for tensor in op._inputs
            if tensor.dtype == dtypes.resource or tensor.dtype._is_ref_dtype
        }
        var_list = [v for v in trainable_variables() if v.op in read]
    else:
        var_list = nest.flatten(var_list)
    with graph.control_dependencies([value]):
        grads = gradients(value, var_list, grad_ys=grad_loss)
    return list(zip(grads, var_list, strict=True))
