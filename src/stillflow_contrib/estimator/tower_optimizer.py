"""An optimizer that waits for the gradients of all towers of a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation, Tensor
from stillflow.losses.reduction import Reduction
from stillflow.train.optimizer import Optimizer
from stillflow.util.deprecation import deprecated

towers_moved = deprecated(
    "2018-05-31", "Please use `tf.contrib.distribute.MirroredStrategy` instead."
)


def scaled_loss(loss: Any, loss_reduction: str | None, towers: int) -> Any:
    """Return a tower's share of a loss: divided by the number of towers unless losses are sums."""
    if loss is None or towers == 1 or loss_reduction == Reduction.SUM:
        return loss
    return tf.div(loss, 1.0 * towers, name="averaged_loss")


def sum_on_device(
    values: Sequence[Any], device: str, name: str | None = None
) -> Tensor | IndexedSlices:
    """Return the sum of tensors or of slices, on a device.

    Raises:
      ValueError: if slices shall have a name.
    """
    with tf.device(device):
        first = values[0]
        if not isinstance(first, IndexedSlices):
            return tf.add_n(values, name=name)
        if name:
            raise ValueError(
                f"The name {name} is not expected to be given to IndexedSlices {values}"
            )
        rows = tf.concat([each.values for each in values], axis=0)
        indices = tf.concat([each.indices for each in values], axis=0)
        return IndexedSlices(rows, indices, first.dense_shape)


class _PerGraphState:
    """Shared state of a graph's towers while they are built."""

    def __init__(self) -> None:
        self.count = 1
        self.loss_reduction: str | None = None
        self.optimizer_used = False
        self.scopes_of_first: tuple[Any, Any] = (None, None)
        self._current = 0
        # By tower: the gradients and variables of each call of an optimizer.
        self._collected: dict[int, list[Any]] = {}

    @contextmanager
    def tower(self, number: int, var_scope: Any, name_scope: str) -> Iterator[None]:
        """Return a scope in which a tower is built."""
        if number == 0:
            self.scopes_of_first = (var_scope, name_scope)
        self._current = number
        yield

    @property
    def at_last(self) -> bool:
        return self._current == self.count - 1

    def collect(self, grads_and_vars: Any) -> None:
        self._collected.setdefault(self._current, []).append(grads_and_vars)

    def latest(self) -> list[Any]:
        """Return the gradients of this call in all towers."""
        call = len(self._collected[self._current]) - 1
        return [pair for tower in range(self._current + 1) for pair in self._collected[tower][call]]

    @property
    def have_same_calls(self) -> bool:
        return sum(len(calls) for calls in self._collected.values()) % self.count == 0


@export("contrib.estimator.TowerOptimizer")
class TowerOptimizer(Optimizer):
    """Optimizer that applies the sums of the gradients of all towers of `replicate_model_fn`.

    Args:
      optimizer_or_optimizer_fn: an optimizer, or a function that makes it.
    """

    COLLECTION_FOR_GRAPH_STATES = "replicate_model_fn_graph_states"

    @towers_moved
    def __init__(self, optimizer_or_optimizer_fn: Any) -> None:
        self._optimizer_or_optimizer_fn = optimizer_or_optimizer_fn

    @staticmethod
    def has_been_used() -> bool:
        """Return True if an optimizer of this kind was used in the graph."""
        return TowerOptimizer._graph_state().optimizer_used

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """Return a slot of the other optimizer."""
        return self._get_optimizer().get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """Return the names of its slots."""
        return self._get_optimizer().get_slot_names(*args, **kwargs)

    def get_name(self, *args: Any, **kwargs: Any) -> str:
        """Its name."""
        return self._get_optimizer().get_name(*args, **kwargs)

    def variables(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Its variables."""
        return self._get_optimizer().variables(*args, **kwargs)

    def compute_gradients(self, loss: Any, *args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        """Return the gradients of this tower's share of the loss."""
        state = self._graph_state()
        loss = scaled_loss(loss, state.loss_reduction, state.count)
        return self._get_optimizer().compute_gradients(loss, *args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, **kwargs: Any
    ) -> Operation:
        """Apply all towers' gradients in the last tower; do nothing in the others."""
        state = self._graph_state()
        if state.count == 1:
            return self._get_optimizer().apply_gradients(grads_and_vars, global_step, **kwargs)
        state.collect(grads_and_vars)
        if not state.at_last:
            tensors = [
                grad.values if isinstance(grad, IndexedSlices) else grad
                for grad, _ in grads_and_vars
                if grad is not None
            ]
            with tf.control_dependencies(tensors):
                return tf.no_op(name="train_op_placeholder")
        var_scope, name_scope = state.scopes_of_first
        with tf.variable_scope(var_scope), tf.name_scope(name_scope):
            return self._apply_gathered_gradients(global_step, **kwargs)

    def _apply_gathered_gradients(self, global_step: Any, **kwargs: Any) -> Operation:
        optimizer = self._get_optimizer()
        by_variable: dict[Any, list[Any]] = {}
        for grad, var in self._graph_state().latest():
            if grad is not None:
                by_variable.setdefault(var, []).append(grad)
        with tf.name_scope("gradient_aggregating"):
            summed = [(sum_on_device(grads, var.device), var) for var, grads in by_variable.items()]
        return optimizer.apply_gradients(summed, global_step=global_step, **kwargs)

    def _get_optimizer(self) -> Any:
        if callable(self._optimizer_or_optimizer_fn):
            self._optimizer_or_optimizer_fn = self._optimizer_or_optimizer_fn()
        self._graph_state().optimizer_used = True
        return self._optimizer_or_optimizer_fn

    @staticmethod
    def _graph_state() -> _PerGraphState:
        states = get_default_graph().get_collection_ref(TowerOptimizer.COLLECTION_FOR_GRAPH_STATES)
        if not states:
            states.append(_PerGraphState())
        return states[-1]

    @staticmethod
    def _clear_graph_state() -> None:
        get_default_graph().clear_collection(TowerOptimizer.COLLECTION_FOR_GRAPH_STATES)
